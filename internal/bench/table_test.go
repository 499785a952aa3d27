package main

import (
	"strings"
	"testing"
	"time"
)

func TestMissedBarSaysByHowMuch(t *testing.T) {
	for want, got := range map[string]string{
		"≤ 10 µs: met":                            atMost(10, 10, "10 µs"),
		"≤ 10 µs: **missed by 20 %**":             atMost(12, 10, "10 µs"),
		"≤ 10 µs: **missed, 2.5 × as much**":      atMost(25, 10, "10 µs"),
		"≥ 2,000/s: **missed by 25 %**":           atLeast(1500, 2000, "2,000/s"),
		"≥ 2,000/s: met":                          atLeast(2001, 2000, "2,000/s"),
		"–":                                       atLeast(1, 0, "nothing"),
		"p50 2.00 ms, p99 3.00 ms, worst 3.00 ms": samples{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}.wide(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBenchmarksOfProvidersAreUnderstood(t *testing.T) {
	rows, err := chunkRows("anthropic", `goos: linux
BenchmarkChunk/recording=thinking.sse/reader=ours-2   	 1000	 9 ns/op	 400 B/chunk	 2.6 allocs/chunk	 2500 ns/chunk	 140.8 wire-B/chunk
BenchmarkChunk/recording=thinking.sse/reader=sdk-2    	 1000	 9 ns/op	 400 B/chunk	 24 allocs/chunk	 12000 ns/chunk	 140.8 wire-B/chunk
BenchmarkSocket/recording=qwen/reasoning/reader=ours 	 10	  9 ns/op	 400 B/chunk	 11.5 allocs/chunk	 7000 ns/chunk	 300 wire-B/chunk
BenchmarkSocket/recording=qwen/reasoning/reader=sdk 	 10	  9 ns/op	 400 B/chunk	 50 allocs/chunk	 20000 ns/chunk	 300 wire-B/chunk
PASS
`)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.what+" | "+r.ours+" | "+r.limit+" | "+r.bar)
	}
	want := `anthropic: thinking.sse, 141 B a chunk, from memory | 2.50 µs, 3 allocations | SDK's decoder: 12 µs, 24 allocations | ≤ 6 µs: met; ≤ 15 allocations: met
anthropic: qwen/reasoning, 300 B a chunk, from a local socket, with the request | 7.00 µs, 12 allocations | SDK's decoder: 20 µs, 50 allocations | ≤ 6 µs: **missed by 17 %**; ≤ 15 allocations: met`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, out := range []string{
		"FAIL",
		"BenchmarkChunk/recording=a/reader=ours 1 2 ns/chunk 3 allocs/chunk 4 wire-B/chunk", // nothing beside it
		"BenchmarkChunk/recording=a/reader=ours 1 2 ns/op",                                  // not per chunk
	} {
		if _, err := chunkRows("gemini", out); err == nil {
			t.Errorf("%q was not understood, and nobody said so", out)
		}
	}
}

func TestBenchmarkOfTheChainIsUnderstood(t *testing.T) {
	rows, err := chainRows(`BenchmarkWholeChain/messages=20/chain=bare-2   	 50	 9 ns/op	 210.5 allocs/call	 100000 ns/call
BenchmarkWholeChain/messages=20/chain=whole-2  	 50	 9 ns/op	 300.5 allocs/call	 150000 ns/call
`)
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	r := rows[0]
	got := r.ours + " | " + r.limit + " | " + r.bar
	if want := "50 µs CPU, 90 allocations | 100 µs CPU, 210 allocations | ≤ 200 µs: met; ≤ 200 allocations: met"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, out := range []string{"FAIL", "BenchmarkWholeChain/messages=20/chain=whole 1 2 ns/call 3 allocs/call", "BenchmarkWholeChain/messages=20/chain=whole 1 2 ns/op"} {
		if _, err := chainRows(out); err == nil {
			t.Errorf("%q was not understood, and nobody said so", out)
		}
	}
}

// A frame may be cut anywhere between two reads; tokens are counted once, with the time that they carry.
func TestTokensAreReadOutOfFrames(t *testing.T) {
	now := time.UnixMicro(1794713665916000)
	frames := shapes["langgraph"].append(nil, "1794713665915000 ", 1)
	frames = append(frames, "event: messages\ndata: [{\"content\":\"\"}]\nid: 2\n\n"...)
	frames = shapes["langgraph"].append(frames, "1794713665915500 ", 3)
	var w watched
	w.take(frames, onLangGraph.mark, now, true)
	if w.frames != 3 || w.tokens != 2 || w.lags.at(0) != 500*time.Microsecond || w.to-w.from != 500 {
		t.Errorf("%d frames, %d tokens, %v, %d µs apart", w.frames, w.tokens, w.lags, w.to-w.from)
	}
}
