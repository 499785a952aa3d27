// Package instructions counts the machine instructions of a piece of code, and holds it to what was recorded.
//
// Seconds tell little on a shared machine, and counters in hardware are hidden in most virtual ones. So a process is stepped
// through the code, one instruction at a time, and the steps are counted: slow, but the same today and tomorrow, so that a
// fifth more is news and not noise. It needs nothing installed; it needs Linux on amd64, and that tracing a child is allowed.
//
// # What is counted
//
// A program under test ([Begin] and [End] mark the code) runs on one processor of Go's scheduler, without garbage collection
// and preemption, and with the optional features of the CPU switched off, which differ between machines. All its threads but the
// one that reached Begin are frozen, so goroutines that take turns are counted and nothing else is. A system call counts
// as one instruction. The collector's work is not counted; package cost counts what it has to collect.
//
// The recorded counts are in testdata/instructions.txt. A new Go version or a change that is worth it moves them:
//
//	go test ./internal/bench/instructions -update
package instructions
