package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/model"
)

// endless says a kilobyte at a time and never ends.
type endless struct{ part func(kilobyte string) model.Part }

func (e endless) Stream(context.Context, model.Request) iter.Seq2[model.Part, error] {
	kilobyte := strings.Repeat("x", 1<<10)
	return func(yield func(model.Part, error) bool) {
		for yield(e.part(kilobyte), nil) {
		}
	}
}

func (endless) Describe() model.Info { return model.Info{Provider: "acme", Model: "endless"} }

// What a model can say is taken as it comes. Beyond that an answer is taken slowly, up to its limit, and the wait counts as nobody's silence.
func TestAnAnswerLongerThanModelsSayIsTakenSlowly(t *testing.T) {
	for name, part := range map[string]func(string) model.Part{
		"text":      func(s string) model.Part { return model.Text{Text: s} },
		"thoughts":  func(s string) model.Part { return model.Reasoning{Text: s} },
		"arguments": func(s string) model.Part { return model.ToolCall{ID: "c", Name: "look", Arguments: s} },
	} {
		for limit, want := range map[int]time.Duration{512 << 10: 0, 1 << 20: time.Second, 2 << 20: 3 * time.Second} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					policy := agent.Policy{Tries: 1, Idle: 100 * time.Millisecond, Limits: model.Limits{TextBytes: limit, ArgumentBytes: limit}}
					_, _, err := call(t, endless{part}, model.Request{}, agent.CallOptions{Policy: policy})
					if told := (*model.LimitError)(nil); !errors.As(err, &told) {
						t.Fatalf("the answer ended with %v, not at its limit", err)
					}
					// The last step may be shorter than a timer is worth.
					if took := time.Since(began); took > want || took < want-10*time.Millisecond {
						t.Errorf("%d bytes took %v, want %v", limit, took, want)
					}
				})
			})
		}
	}
}

func TestWhoStopsALongAnswerDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		m := endless{func(s string) model.Part { return model.Text{Text: strings.Repeat(s, 1500)} }}
		_, err := newWorld().attempt(ctx, caller(m, model.Request{}, agent.CallOptions{Policy: agent.Policy{Tries: 1}}), map[string]any{})
		if took := time.Since(began); err == nil || took != time.Second {
			t.Errorf("it ended after %v with %v, want the context's end after a second", took, err)
		}
	})
}
