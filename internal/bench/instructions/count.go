package instructions

import "errors"

// ErrUnsupported says that instructions cannot be counted here.
var ErrUnsupported = errors.New("instructions cannot be counted here")

// environment makes a Go program behave the same each time: one processor, no collector, no preemption, and only those
// instructions that every CPU has.
var environment = []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1,cpu.all=off"}
