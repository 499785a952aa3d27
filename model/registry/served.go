package registry

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// served is a provider's model with what the settings say about it.
type served struct {
	inner    model.Model
	entry    Entry
	thinking map[string]json.RawMessage // merged into requests that ask for thinking
	slots    chan struct{}              // nil: no limit
}

var (
	_ model.Model     = (*served)(nil)
	_ model.Describer = (*served)(nil)
)

func newServed(inner model.Model, e Entry, thinking map[string]json.RawMessage) *served {
	s := &served{inner: inner, entry: e, thinking: thinking}
	if e.MaxConcurrent > 0 {
		s.slots = make(chan struct{}, e.MaxConcurrent)
	}
	return s
}

// Describe says what the settings say, and what the provider's package knows where they are silent.
func (s *served) Describe() model.Info { return s.entry.Info }

// Cost prices a usage.
func (s *served) Cost(u item.Usage) int64 { return s.entry.Price.Cost(u) }

// Stream waits for its turn, asks the model, and tells what it costs.
func (s *served) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if s.slots != nil {
			select {
			case s.slots <- struct{}{}:
				defer func() { <-s.slots }()
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
		for part, err := range s.inner.Stream(ctx, s.fit(req)) {
			err = s.named(err)
			if u, ok := part.(model.Usage); ok && u.CostMicros == 0 {
				u.CostMicros = s.Cost(u.Usage)
				part = u
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// named says in an error which model it is about, by the names that people know it by.
func (s *served) named(err error) error {
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Model != "" {
		return err
	}
	e := *failed
	if e.Model = s.entry.Name; s.entry.Info.Model != e.Model {
		e.Model += " (" + s.entry.Info.Model + ")"
	}
	return &e
}

// fit makes a request of one that the model understands.
func (s *served) fit(req model.Request) model.Request {
	if !s.entry.ReasoningEffort {
		req.Thinking.Effort = ""
	}
	if !s.entry.Temperature {
		req.Temp = nil
	}
	if req.Thinking.On && len(s.thinking) > 0 {
		extra := maps.Clone(s.thinking)
		maps.Copy(extra, req.Extra) // the request's word wins
		req.Extra = extra
	}
	return req
}
