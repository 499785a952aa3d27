package scripted

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/model"
)

// Model answers with scripts. Set the fields before the first call.
type Model struct {
	// Provider and Name are what Describe says; "scripted" where they are empty.
	Provider string
	Name     string
	// Record keeps every request for [Model.Requests]. It is off by default because long-lived servers use
	// this model too.
	Record bool

	plan func(model.Request) Script

	mu       sync.Mutex // guards what follows
	calls    int
	requests []model.Request
}

var (
	_ model.Model     = (*Model)(nil)
	_ model.Describer = (*Model)(nil)
)

// New returns a model that asks plan for the script of each call. Plan may be called concurrently, and on the
// goroutine that reads the stream.
func New(plan func(model.Request) Script) *Model { return &Model{plan: plan} }

// Always returns a model that gives the same answer to everything.
func Always(s Script) *Model { return New(func(model.Request) Script { return s }) }

// Sequence returns a model that gives one script after another. A call beyond the last one fails, and says so.
func Sequence(scripts ...Script) *Model {
	scripts = slices.Clone(scripts)
	var mu sync.Mutex
	next := 0
	return New(func(model.Request) Script {
		mu.Lock()
		defer mu.Unlock()
		next++
		if next > len(scripts) {
			return Fail(&model.Error{
				Class: model.BadRequest, Provider: "scripted",
				Message: fmt.Sprintf("this is call %d, and the sequence has scripts for %d", next, len(scripts)),
			})
		}
		return scripts[next-1]
	})
}

// Stream plays the script for a request. A call begins when its parts are first asked for, and each reading of
// the iterator is a call of its own.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		m.mu.Lock()
		m.calls++
		if m.Record {
			m.requests = append(m.requests, snapshot(req))
		}
		m.mu.Unlock()
		newPlayer(ctx, req, m.Describe().Model, yield).play(m.plan(req))
	}
}

// snapshot protects a recorded request from a caller that goes on appending to its slices.
func snapshot(req model.Request) model.Request {
	req.Messages = slices.Clone(req.Messages)
	req.Tools = slices.Clone(req.Tools)
	return req
}

// Describe says who the model pretends to be.
func (m *Model) Describe() model.Info {
	return model.Info{
		Provider: cmp.Or(m.Provider, "scripted"), Model: cmp.Or(m.Name, "scripted"),
		ContextWindow: 128_000, Thinking: true, Vision: true,
	}
}

// Calls tells how many calls have begun.
func (m *Model) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// Requests are the requests so far, in the order in which the calls began; empty unless Record is set.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}
