package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// chunks runs the benchmarks of the providers, which live beside their fixtures, and puts ours beside the SDK's decoder.
func chunks(ctx context.Context, b *bench) ([]row, error) {
	long := "1s"
	if b.quick {
		long = "0.1s"
	}
	var rows []row
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^(BenchmarkChunk|BenchmarkSocket)$", "-benchtime", long, "./model/"+provider)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", provider, err, out)
		}
		more, err := chunkRows(provider, string(out))
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// chunkCost is what a benchmark says of one chunk: processor time, allocations, and how long it is on the wire.
type chunkCost struct{ ns, allocs, size float64 }

func (c chunkCost) String() string {
	return fmt.Sprintf("%s, %.0f allocations", short(time.Duration(c.ns)), c.allocs)
}

var benchLine = regexp.MustCompile(`(?m)^Benchmark(Chunk|Socket)/recording=(\S+)/reader=(ours|sdk)(?:-\d+)?\s+\d+\s+(.*)$`)

func chunkRows(provider, out string) ([]row, error) {
	type key struct{ from, recording string }
	var order []key
	ours, sdk := map[key]chunkCost{}, map[key]chunkCost{}
	for _, m := range benchLine.FindAllStringSubmatch(out, -1) {
		cost, err := costOf(m[4])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m[0], err)
		}
		k := key{m[1], m[2]}
		if m[3] == "sdk" {
			sdk[k] = cost
			continue
		}
		order = append(order, k)
		ours[k] = cost
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no benchmark of %s was found in %q", provider, out)
	}
	var rows []row
	for _, k := range order {
		mine, theirs := ours[k], sdk[k]
		if theirs == (chunkCost{}) {
			return nil, fmt.Errorf("%s: %s has nothing of the SDK beside it", provider, k.recording)
		}
		from := "memory"
		if k.from == "Socket" {
			from = "a local socket, with the request"
		}
		what := fmt.Sprintf("%s: %s, %.0f B a chunk, from %s", provider, k.recording, mine.size, from)
		aim := atMost(mine.ns, 6000, "6 µs") + "; " + atMost(mine.allocs, 15, "15 allocations")
		rows = append(rows, row{what, mine.String(), "SDK's decoder: " + theirs.String(), aim})
	}
	return rows, nil
}

// costOf reads the columns of a benchmark's line.
func costOf(columns string) (c chunkCost, err error) {
	fields := strings.Fields(columns)
	said := map[string]float64{}
	for i := 0; i+1 < len(fields); i += 2 {
		if said[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return c, err
		}
	}
	for unit, to := range map[string]*float64{"ns/chunk": &c.ns, "allocs/chunk": &c.allocs, "wire-B/chunk": &c.size} {
		n, ok := said[unit]
		if !ok {
			return c, fmt.Errorf("it does not say %s", unit)
		}
		*to = n
	}
	return c, nil
}
