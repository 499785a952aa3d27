// Command bench measures what tributary promises, beside a limit measured in the same run: a bare slice in memory
// for the journal, a bare SSE server for the wires. It prints one table and, with -write, writes it to
// docs/benchmarks.md with the machine's name.
//
//	go run ./internal/bench [-write FILE] [-only PATTERN] [-quick] [-profile DIR]
//
// The servers are processes of their own (this program, started again), so that what they cost is not mixed with what
// their readers cost. With -profile, what the measured server did is kept as pprof files.
//
// Machines are noisy: read ratios and CPU per event before times. Nothing here is asserted; what must not get
// worse is counted in tests (allocations, see the alloc_test.go files), not timed.
package main

import (
	"context"
	"errors"
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
	// given are figures of others that were not measured in this run, for comparison.
	given string
	// other names what stands in the place of the bare limit, where that is something else.
	other string
}

// bench is what sections share.
type bench struct {
	quick    bool
	dir      string // for data, on the disk that is measured
	profiles string // where profiles of the servers go; none if empty
}

// scale shortens a measurement for -quick.
func (b *bench) scale(d time.Duration) time.Duration {
	if b.quick {
		return d / 5
	}
	return d
}

// count is scale for things that are counted.
func (b *bench) count(n int) int {
	if b.quick {
		return max(n/10, 1)
	}
	return n
}

const (
	givenStreams = "LangGraph's JS server, in memory, about 990 bytes an event: 1 stream 1,130–2,250 events/s; 50 streams 1,500–1,840/s; 200 streams 1,120/s; " +
		"0.40–0.85 ms CPU per event at 1 stream, 0.53–0.59 at 50, 1.0–1.1 at 200; 3.2 GB at 200 streams"
	givenPaced  = "LangGraph's JS server, 200 × 20/s: p50 1 ms, p99 16–20 ms per token, but runs start 8–15 s late (p50)"
	givenFirst  = "LangGraph's JS server: first event 20–126 ms idle, p50 3.5 s (worst 15.7 s) with 200 streams; end 500 ms after the last event"
	givenFanOut = "CPU seconds per million deliveries of about 150 bytes: nchan 9.8, mercure 10.8 without history and 13.0 with"
	givenResume = "nchan 31,000 events/s and 17–25 CPU s per million, mercure 47,000 and 20"
	givenCreate = "Duragraph (Go, Postgres, NATS) 133–206 run creations/s"
	givenIdle   = "LangGraph's JS server: 165 MB idle"
)

var sections = []section{
	{"journal: append → visible", latencies, "", ""},
	{"journal: durable events per second", throughput, "", ""},
	{"journal: 1000 idle followers", idleFollowers, "", ""},
	{"graph: cost of a step", graphSteps, "", ""},
	{"checkpoints: what a conversation costs on disk", checkpointBytes, "", ""},
	{"library: 10,000 one-character chunks through Chat", chatChunks, "", ""},
	{"http: run creation", creation, givenCreate, ""},
	{"http: streams without pause", unpacedStreams, givenStreams, ""},
	{"http: paced streams, from a token's making to its reader", pacedStreams, givenPaced, ""},
	{"http: first event and end", firstAndLast, givenFirst, ""},
	{"http: 200 starts at once", starts, "", ""},
	{"http: one run, 1000 readers", fanOut, givenFanOut, ""},
	{"http: resume of 5000 events", resume, givenResume, ""},
	{"langgraph: the conformance server, read by the client that measured LangGraph's", conformanceLoad, "", "LangGraph's JS server, given"},
	{"process: start, memory, size", program, givenIdle, ""},
	{"process: going on after a crash", crashed, "", "the listening server, same run"},
	{"documents: indexing and searching", documents, "", ""},
	{"memory: a run's start", remembering, "", ""},
	{"models: one chunk, from bytes to part", chunks, "", ""},
	{"teams: experts at the pace of models, from a token's making to its reader", expertTeams, "", "as many ordinary runs, same run"},
	{"agents: middleware", middlewares, "", ""},
	{"research: what the workflow costs, without models and tools", researching, "", ""},
	{"agents: the start of a run with many skills and agents", knowledge, "", ""},
	{"sandbox: one command, from the call to its result", sandboxed, "", "the bare interpreter, same run"},
	{"page: what an answer costs the browser while it is written", pageUnderLoad, "", ""},
}

func main() {
	write := flag.String("write", "", "write the table to this file")
	only := flag.String("only", "", "measure only sections whose name matches")
	quick := flag.Bool("quick", false, "short measurements, to see that everything works")
	profiles := flag.String("profile", "", "keep profiles of the servers in this folder")
	kind := flag.String("serve", "", "internal: be the server of this kind")
	data := flag.String("data", "", "internal: the data folder of that server")
	flag.Parse()
	err := errors.New("arguments are not understood; see -help")
	switch {
	case flag.NArg() > 0:
	case *kind == researchKind:
		err = researchProcess(*data, *profiles)
	case *kind != "":
		err = serve(*kind, *data)
	default:
		err = measure(&bench{quick: *quick, profiles: *profiles}, *write, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(b *bench, write, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o755); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	var doc strings.Builder
	fmt.Fprintf(&doc, "# Benchmarks\n\nWritten by `make bench` on %s, commit %s.\n\nMachine: %s; load average before the first measurement %s. Clients run on the same machine.\n",
		time.Now().UTC().Format("2006-01-02 15:04 MST"), commit(), machine(), loadAverage())
	if b.quick {
		doc.WriteString("\nMeasured with -quick: too short to be quoted.\n")
	}
	for _, s := range sections {
		if !pattern.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", s.name)
		rows, err := s.run(context.Background(), b)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		table := format(s, rows)
		fmt.Print(table)
		doc.WriteString(table)
		runtime.GC()
	}
	if write != "" {
		return os.WriteFile(write, []byte(doc.String()), 0o644)
	}
	return nil
}

func format(s section, rows []row) string {
	var b strings.Builder
	other := s.other
	if other == "" {
		other = "bare limit, same run"
	}
	fmt.Fprintf(&b, "\n## %s\n\n| what | tributary | %s | aim |\n|---|---|---|---|\n", s.name, other)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.ours, r.limit, r.bar)
	}
	if s.given != "" {
		fmt.Fprintf(&b, "\nGiven for comparison, not measured in this run (same kind of machine): %s.\n", s.given)
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
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(raw), " ")
	return one
}
