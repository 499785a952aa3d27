package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/event"
)

// InterruptOption says more about a question.
type InterruptOption func(*Interruption)

// Interruption is a question that has not been answered. A node that gets one as an error returns it, and runs
// again from its beginning when the answer is there.
type Interruption struct {
	Interrupts []Interrupt // none if a breakpoint of a subgraph was reached
	own        bool        // asked by the node itself, not by a graph below it
}

func (i *Interruption) Error() string {
	if len(i.Interrupts) == 0 {
		return "stopped at a breakpoint"
	}
	return "waiting for an answer to interrupt " + i.Interrupts[0].ID
}

// Kind says what sort of answer is wanted.
func Kind(kind event.Ask) InterruptOption {
	return func(i *Interruption) { i.Interrupts[0].Ask = kind }
}

// Options are answers to offer.
func Options(answers ...string) InterruptOption {
	return func(i *Interruption) { i.Interrupts[0].Options = answers }
}

// Ask asks a person and returns the answer. Until there is one it returns an error, which the node must
// return; the run ends interrupted, and the run that brings the answer executes the node again, from the
// beginning: the n-th call then gets the n-th answer.
func Ask[T any](s *Scope, question any, opts ...InterruptOption) (T, error) {
	var answer T
	raw, err := s.ask(question, opts)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, fmt.Errorf("answer to the interrupt of node %q: %w", s.task.Node, err)
	}
	return answer, nil
}

func (s *Scope) ask(question any, opts []InterruptOption) (json.RawMessage, error) {
	s.mu.Lock()
	n := s.asked
	s.asked++
	s.mu.Unlock()
	if n < len(s.answers) {
		return s.answers[n], nil
	}
	value, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("question of node %q: %w", s.task.Node, err)
	}
	stop := &Interruption{own: true, Interrupts: []Interrupt{{
		ID: interruptID(s.task.ID, n), Value: value, NS: s.engine.ns,
	}}}
	for _, o := range opts {
		o(stop)
	}
	return nil, stop
}

// Asks reports whether a node that returns err waits for an answer.
func Asks(err error) bool { return len(interruptions(err)) > 0 }

// interruptions finds the questions in a node's error. There are several where a node ran several child graphs.
func interruptions(err error) []*Interruption {
	switch e := err.(type) {
	case nil:
		return nil
	case *Interruption:
		return []*Interruption{e}
	case interface{ Unwrap() []error }:
		var out []*Interruption
		for _, one := range e.Unwrap() {
			out = append(out, interruptions(one)...)
		}
		return out
	}
	return interruptions(errors.Unwrap(err))
}

// levels returns the namespaces from the root to ns: "", "a:1", "a:1|b:2".
func levels(ns string) []string {
	out := []string{""}
	for i, r := range ns {
		if r == '|' {
			out = append(out, ns[:i])
		}
	}
	if ns != "" {
		out = append(out, ns)
	}
	return out
}

func joinNS(ns, part string) string {
	if ns == "" {
		return part
	}
	return ns + "|" + part
}

// nodesOf returns the node names of a namespace.
func nodesOf(ns string) []string {
	if ns == "" {
		return nil
	}
	var out []string
	for part := range strings.SplitSeq(ns, "|") {
		node, _, _ := strings.Cut(part, ":")
		out = append(out, node)
	}
	return out
}
