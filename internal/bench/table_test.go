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
BenchmarkChunk/recording=thinking.sse/reader=ours-2   	 1000	      2500 ns/op	     400 B/op	      10 allocs/op
BenchmarkChunk/recording=thinking.sse/reader=sdk-2    	 1000	     12000 ns/op	    4000 B/op	      24 allocs/op
BenchmarkChunk/stream=qwen/by=us-2 	 10	  99 ns/op	 11.5 allocs/chunk	 7000 ns/chunk	 5 B/op	 900 allocs/op
PASS
`)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.what+" | "+r.ours+" | "+r.limit+" | "+r.bar)
	}
	want := `anthropic: thinking.sse, from bytes in memory | 2.50 µs, 10 allocations | SDK's decoder: 12 µs, 24 allocations | ≤ 6 µs: met; ≤ 15 allocations: met
anthropic: qwen, from bytes in memory | 7.00 µs, 12 allocations | SDK's decoder: – | ≤ 6 µs: **missed by 17 %**; ≤ 15 allocations: met`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := chunkRows("gemini", "FAIL"); err == nil {
		t.Error("nothing was found, and nobody said so")
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
