package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// pageUnderLoad has the tests of the page measure what it costs Chromium: 100 words a second into answers of three lengths. A
// machine without Chromium has no such figures.
func pageUnderLoad(ctx context.Context, _ *bench) ([]row, error) {
	if _, err := exec.LookPath("chromium"); err != nil {
		return []row{{"not measured: no chromium in PATH", "–", "–", "–"}}, nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "./ui", "-run", "TestMeasureThePage", "-count", "1", "-v")
	cmd.Env = append(os.Environ(), "PAGE_BENCH=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure the page: %w: %s", err, out)
	}
	_, line, ok := bytes.Cut(out, []byte("PAGE "))
	if !ok {
		return nil, fmt.Errorf("measure the page: no figures in %s", out)
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	var f map[string]float64
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, fmt.Errorf("measure the page: %w", err)
	}
	return pageRows(f), nil
}

func pageRows(f map[string]float64) []row {
	var rows []row
	for _, c := range []struct{ key, what string }{{"10kB", "into an answer of 10 kB"}, {"100kB", "into an answer of 100 kB"}, {"1MB", "into an answer of 1 MB"}} {
		rows = append(rows, row{
			"100 words/s " + c.what + ": main thread of the page",
			fmt.Sprintf("%.1f %% of a core, of it script %.1f, layout %.1f; longest task %.0f ms, %.0f over 50 ms; heap %.0f MB",
				f[c.key+"_core_percent"], f[c.key+"_script_percent"], f[c.key+"_layout_percent"], f[c.key+"_longest_ms"], f[c.key+"_long_tasks"], f[c.key+"_heap_mb"]),
			"–", atMost(f[c.key+"_core_percent"], 30, "30 %") + "; no task over 50 ms: " + map[bool]string{true: "met", false: "**missed**"}[f[c.key+"_long_tasks"] == 0],
		})
	}
	return rows
}
