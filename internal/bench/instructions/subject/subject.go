// Package subject is the code whose instructions are counted: what an event costs on its way from a model to a reader, in parts
// and as a whole.
//
// Each subject prepares itself, does its work once or twice so that whatever is made once is there, and then does it again between
// the marks of package instructions.
package subject

import (
	"fmt"
	"sync"

	"github.com/tributary-ai/tributary/internal/bench/instructions"
)

const (
	// NameVariable says which subject the test of this package runs.
	NameVariable = "SUBJECT"
	// DirVariable names the folder for what it writes to disk. Whoever starts the process removes it: the process is ended in the
	// middle of its work.
	DirVariable = "SUBJECT_DIR"
)

// Subject is a piece of code under measurement.
type Subject struct {
	Name string
	// Events is how many events one piece of work is for.
	Events int
	// prepare returns the work.
	prepare func() (func() error, error)
}

// All lists the subjects.
var All = []Subject{
	{"event/encode", repeats, encode},
	{"event/decode", repeats, decode},
	{"transcript/fold", repeats, fold},
	{"sse/append", repeats, frame},
	{"langgraph/project", repeats, langgraphDelta},
	{"protocol2/project", repeats, protocol2Delta},
	{"task/project", repeats, taskDelta},
	{"openai/chunk", few, chunk},
	{"graph/step", steps, step},
	{"journal/many", repeats, func() (func() error, error) { return follow(repeats) }},
	{"journal/one", 1, func() (func() error, error) { return follow(1) }},
	{"sqlite/many", repeats, func() (func() error, error) { return store(repeats) }},
	{"sqlite/one", 1, func() (func() error, error) { return store(1) }},
	{"server/langgraph", few, func() (func() error, error) { return serve("langgraph") }},
	{"server/task", few, func() (func() error, error) { return serve("task") }},
}

// spin are subjects that tell whether counting works.
var spin = map[string]int{"spin/10": 10, "spin/13": 13}

// Run does the work of a subject; its last round is between the marks.
func Run(name string) error {
	for _, s := range append(All, spins()...) {
		if s.Name != name {
			continue
		}
		work, err := s.prepare()
		if err != nil {
			return err
		}
		for range 3 {
			if err := work(); err != nil {
				return err
			}
		}
		instructions.Begin()
		err = work()
		instructions.End()
		return err
	}
	return fmt.Errorf("there is no subject %q", name)
}

func spins() (all []Subject) {
	for name, n := range spin {
		all = append(all, Subject{name, 1, func() (func() error, error) {
			return func() error { between(n); return nil }, nil
		}})
	}
	return all
}

// between lets two goroutines take turns n times.
func between(n int) {
	ping, pong := make(chan int), make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range ping {
			pong <- i + 1
		}
	})
	for i := range n {
		ping <- i
		<-pong
	}
	close(ping)
	wg.Wait()
}
