package run_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// scale is a store that notes how much the writer was given at once of one run.
type scale struct {
	*faultyStore
	heaviest atomic.Int64
}

func (s *scale) below(f *faultyStore) { s.faultyStore = f }

func (s *scale) Append(ctx context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	for _, g := range groups {
		n := len(g.Chunk.Data)
		for _, save := range g.Saves {
			if c, ok := save.(graph.Commit); ok { // one that was not prepared
				for _, b := range c.Blobs {
					n += len(b.Data)
				}
			}
		}
		s.heaviest.Store(max(s.heaviest.Load(), int64(n))) // the writer is one
	}
	return s.faultyStore.Append(ctx, groups, sync)
}

// However a run with a long answer ends, nobody's tokens wait for all of it: the writer is never given more of it at once than a
// queue holds, although the whole text is in the events that end it and in the state.
func TestTheEndOfALongAnswerHoldsUpNobody(t *testing.T) {
	const part, parts, most = 20_000, 100, 300_000
	broken := errors.New("the model broke off")
	for name, c := range map[string]struct {
		fails error
		want  run.Status
	}{"success": {nil, run.Success}, "a failure": {broken, run.Failed}} {
		t.Run(name, func(t *testing.T) {
			text := page(1, parts*part)
			s := &scale{}
			messages := graph.Messages("messages")
			g := graph.New("g", messages)
			g.Node("work", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg-1", Execution: s.Execution()})
				for i := 0; err == nil && i < len(text); i += part {
					err = w.Text(ctx, 0, text[i:i+part])
				}
				if err = errors.Join(err, c.fails); err != nil {
					return graph.Command{}, err
				}
				m, err := w.End(ctx, item.FinishStop, "")
				return graph.Update(messages.Add(m)), err
			})
			g.Edge(graph.Start, "work")
			g.Edge("work", graph.End)
			w := openThieved(t, t.TempDir(), single(g), s)
			defer w.stop(time.Second)
			thread := newThread()
			r := w.start(thread)
			if r = w.wait(r.ID); r.Status != c.want {
				t.Fatalf("the run ended %s, want %s: %v", r.Status, c.want, r.Error)
			}
			mustStay(t, w, thread, w.events(r.ID))
			if got := messagesOf(t, w, thread, "")["msg-1"].Text(); got != text {
				t.Errorf("the thread has %d bytes of the answer's %d", len(got), len(text))
			}
			if got := s.heaviest.Load(); got > most {
				t.Errorf("the writer was given %d bytes at once, want at most %d", got, most)
			}
		})
	}
}
