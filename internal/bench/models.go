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
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^(BenchmarkChunk|BenchmarkSocket)$", "-benchmem", "-benchtime", long, "./model/"+provider)
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

// chunkCost is what a benchmark says of one chunk.
type chunkCost struct{ ns, allocs float64 }

func (c chunkCost) String() string {
	if c.ns == 0 {
		return "–"
	}
	return fmt.Sprintf("%s, %.0f allocations", short(time.Duration(c.ns)), c.allocs)
}

var (
	benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	reader    = regexp.MustCompile(`/(?:by|reader)=(us|ours|sdk)$`)
)

func chunkRows(provider, out string) ([]row, error) {
	var names []string
	ours, sdk := map[string]chunkCost{}, map[string]chunkCost{}
	for _, m := range benchLine.FindAllStringSubmatch(out, -1) {
		cost, err := costOf(m[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m[0], err)
		}
		name := reader.ReplaceAllString(m[1], "")
		if strings.HasSuffix(m[1], "=sdk") {
			sdk[name] = cost
			continue
		}
		names = append(names, name)
		ours[name] = cost
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no benchmark of %s was found in %q", provider, out)
	}
	var rows []row
	for _, name := range names {
		what, aim := "from bytes in memory", atMost(ours[name].ns, 6000, "6 µs")+"; "+atMost(ours[name].allocs, 15, "15 allocations")
		if name == "Socket" {
			what = "from a local socket, with the request"
			if provider != "openai" {
				aim = "–" // the replaying server is in the same process
			}
		}
		if _, recording, ok := strings.Cut(name, "="); ok {
			what = recording + ", " + what
		}
		rows = append(rows, row{provider + ": " + what, ours[name].String(), "SDK's decoder: " + sdk[name].String(), aim})
	}
	return rows, nil
}

// costOf reads the columns of a benchmark's line. What is said per chunk goes before what is said per operation.
func costOf(columns string) (c chunkCost, err error) {
	fields := strings.Fields(columns)
	said := map[string]float64{}
	for i := 0; i+1 < len(fields); i += 2 {
		if said[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return c, err
		}
	}
	c = chunkCost{said["ns/op"], said["allocs/op"]}
	if n, ok := said["ns/chunk"]; ok {
		c = chunkCost{n, said["allocs/chunk"]}
	}
	return c, nil
}
