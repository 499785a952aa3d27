package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss is the memory that this process holds.
func rss() int64 { return rssOf(os.Getpid()) }

func rssOf(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// heap is what is alive after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// samples are latencies.
type samples []time.Duration

func (s samples) at(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func (s samples) String() string {
	return fmt.Sprintf("p50 %s, p99 %s", short(s.at(0.5)), short(s.at(0.99)))
}

// wide is String with the worst.
func (s samples) wide() string { return fmt.Sprintf("%v, worst %s", s, short(s.at(1))) }

// short prints a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", float64(d)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func perSecond(n int, d time.Duration) string { return thousands(int(float64(n)/d.Seconds())) + "/s" }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// times is a ratio.
func times(ours, limit time.Duration) string {
	if limit <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ×", float64(ours)/float64(limit))
}

// atMost prints what is aimed at and, where it is missed, by how much.
func atMost(got, limit float64, aim string) string {
	return judged("≤ "+aim, got <= limit, got/limit-1)
}

// atLeast is atMost for what should be much.
func atLeast(got, limit float64, aim string) string {
	if limit == 0 {
		return "–"
	}
	return judged("≥ "+aim, got >= limit, 1-got/limit)
}

func judged(aim string, met bool, by float64) string {
	switch {
	case met:
		return aim + ": met"
	case by >= 1:
		return fmt.Sprintf("%s: **missed, %.1f × as much**", aim, by+1)
	}
	return fmt.Sprintf("%s: **missed by %.0f %%**", aim, by*100)
}
