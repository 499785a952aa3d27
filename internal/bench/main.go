// Command bench measures what tributary promises, beside a limit measured in the same run: a bare slice in memory
// for the journal, a bare SSE server for the wires. It prints one table and, with -write, writes it to
// docs/benchmarks.md with the machine's name.
//
//	go run ./internal/bench [-write FILE] [-only PATTERN] [-quick]
//
// Machines are noisy: read ratios and CPU per event before times. Nothing here is asserted; what must not get
// worse is counted in tests (allocations), not timed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// row is a line of the table.
type row struct {
	what  string
	ours  string
	limit string // the bare thing, in the same run
	bar   string // what the design asks for
}

// section is a group of measurements.
type section struct {
	name string
	run  func(ctx context.Context, b *bench) ([]row, error)
}

// bench is what sections share.
type bench struct {
	quick bool
	dir   string // for data, on the disk that is measured
}

// scale shortens a measurement for -quick.
func (b *bench) scale(d time.Duration) time.Duration {
	if b.quick {
		return d / 5
	}
	return d
}

var sections = []section{
	{"journal: append → visible", latencies},
	{"journal: durable events per second", throughput},
	{"graph: cost of a step", graphSteps},
	{"checkpoints: what a conversation costs on disk", checkpointBytes},
	{"library: 10,000 one-character chunks through Chat", chatChunks},
	{"journal: 1000 idle followers", idleFollowers},
}

func main() {
	write := flag.String("write", "", "write the table to this file")
	only := flag.String("only", "", "measure only sections whose name matches")
	quick := flag.Bool("quick", false, "short measurements, to see that everything works")
	flag.Parse()
	if err := measure(*write, *only, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(write, only string, quick bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{quick: quick, dir: dir}
	var doc strings.Builder
	fmt.Fprintf(&doc, "# Benchmarks\n\nWritten by `make bench` on %s, commit %s.\n\nMachine: %s.\n\nRatios and CPU per event say more than times: the machine is shared and noisy.\n",
		time.Now().UTC().Format("2006-01-02"), commit(), machine())
	for _, s := range sections {
		if !pattern.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", s.name)
		rows, err := s.run(context.Background(), b)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		table := format(s.name, rows)
		fmt.Print(table)
		doc.WriteString(table)
		runtime.GC()
	}
	if write != "" {
		return os.WriteFile(write, []byte(doc.String()), 0o644)
	}
	return nil
}

func format(name string, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n| what | tributary | bare limit, same run | aim |\n|---|---|---|---|\n", name)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.ours, r.limit, r.bar)
	}
	return b.String()
}

// machine names what was measured on.
func machine() string {
	cpu := "unknown processor"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%s, %d cores, Linux %s, %s", cpu, runtime.NumCPU(), strings.TrimSpace(string(kernel)), runtime.Version())
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
