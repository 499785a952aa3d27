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

// middlewares runs the benchmark of the whole chain, which lives beside the middlewares, and puts it beside the bare loop.
func middlewares(ctx context.Context, b *bench) ([]row, error) {
	long := "1s"
	if b.quick {
		long = "0.1s"
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkWholeChain$", "-benchtime", long, "./agent/middleware")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return chainRows(string(out))
}

var chainLine = regexp.MustCompile(`(?m)^BenchmarkWholeChain/messages=(\d+)/chain=(bare|whole)(?:-\d+)?\s+\d+\s+(.*)$`)

func chainRows(out string) ([]row, error) {
	type cost struct{ ns, allocs float64 }
	said := map[string]map[string]cost{"bare": {}, "whole": {}}
	var order []string
	for _, m := range chainLine.FindAllStringSubmatch(out, -1) {
		units := map[string]float64{}
		fields := strings.Fields(m[3])
		for i := 0; i+1 < len(fields); i += 2 {
			n, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m[0], err)
			}
			units[fields[i+1]] = n
		}
		if units["ns/call"] == 0 || units["allocs/call"] == 0 {
			return nil, fmt.Errorf("%q does not say what a call costs", m[0])
		}
		said[m[2]][m[1]] = cost{units["ns/call"], units["allocs/call"]}
		if m[2] == "whole" {
			order = append(order, m[1])
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no benchmark of the chain was found in %q", out)
	}
	var rows []row
	for _, messages := range order {
		bare, ok := said["bare"][messages]
		if !ok {
			return nil, fmt.Errorf("the chain at %s messages has no bare loop beside it", messages)
		}
		whole := said["whole"][messages]
		ns, allocs := max(whole.ns-bare.ns, 0), max(whole.allocs-bare.allocs, 0)
		aim := "–"
		if messages == "20" {
			aim = atMost(ns, 200_000, "200 µs") + "; " + atMost(allocs, 200, "200 allocations")
		}
		rows = append(rows, row{
			"all middlewares around a model call, beyond the bare loop, behind " + messages + " messages",
			fmt.Sprintf("%s CPU, %.0f allocations", short(time.Duration(ns)), allocs),
			fmt.Sprintf("%s CPU, %.0f allocations", short(time.Duration(bare.ns)), bare.allocs), aim,
		})
	}
	return rows, nil
}
