package cost

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Chunks measures f, which reads an answer of n chunks and size bytes, and reports what one chunk costs: processor time
// of this process, in user space and in the kernel, and allocations. Time on the clock would count what other programs
// do, and waiting.
func Chunks(b *testing.B, n, size int, f func()) {
	b.Helper()
	f() // connections are made, buffers grow
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := cpu()
	for b.Loop() {
		f()
	}
	spent := cpu() - start
	runtime.ReadMemStats(&after)
	chunks := float64(b.N) * float64(n)
	b.ReportMetric(float64(spent.Nanoseconds())/chunks, "ns/chunk")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/chunks, "allocs/chunk")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/chunks, "B/chunk")
	b.ReportMetric(float64(size)/float64(n), "wire-B/chunk")
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
