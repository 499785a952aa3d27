package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// Runs with large inputs begin one after the other: the next one when a model has been asked, or at the end. Others pass.
func TestLargeInputsBeginOneAfterTheOther(t *testing.T) {
	defer run.LargeInputs(512 << 10)()
	large := json.RawMessage(`{"messages":[{"role":"user","content":"` + strings.Repeat("x", 300<<10) + `"}]}`)
	for name, asks := range map[string]bool{"until a model has been asked": true, "until the end": false} {
		t.Run(name, func(t *testing.T) {
			var inside, most, asked atomic.Int64
			all := make(chan struct{}) // of them have asked, and none has ended
			pass := newGate()
			w := open(t, t.TempDir(), single(oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				if string(s.Context()) == `{"small":true}` {
					return graph.Command{}, nil
				}
				most.Store(max(most.Load(), inside.Add(1)))
				pass.began <- "large"
				select {
				case <-pass.pass:
				case <-ctx.Done():
					return graph.Command{}, ctx.Err()
				}
				inside.Add(-1)
				if !asks {
					return graph.Command{}, nil
				}
				if err := s.Show(ctx, event.ContextPrepared{Turn: "msg_1"}, []byte("{}")); err != nil {
					return graph.Command{}, err
				}
				if asked.Add(1) == 3 {
					close(all)
				}
				select {
				case <-all:
					return graph.Command{}, nil
				case <-ctx.Done():
					return graph.Command{}, ctx.Err()
				}
			})))
			defer w.stop(time.Second)
			var ids []string
			for range 3 {
				ids = append(ids, w.start(newThread(), func(r *run.Request) { r.Input = large }).ID)
			}
			<-pass.began
			small := w.start(newThread(), func(r *run.Request) { r.Context = json.RawMessage(`{"small":true}`) })
			if r := w.wait(small.ID); r.Status != run.Success {
				t.Errorf("a small one beside them: %s, %v", r.Status, r.Error)
			}
			close(pass.pass)
			for _, id := range ids {
				if r := w.wait(id); r.Status != run.Success {
					t.Errorf("a large one: %s, %v", r.Status, r.Error)
				}
			}
			if most.Load() != 1 {
				t.Errorf("%d large ones began at once, want 1", most.Load())
			}
		})
	}
}
