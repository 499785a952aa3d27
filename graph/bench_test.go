package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// go test -run - -bench Step -benchmem ./graph
//
// One step of a node that counts up, in memory alone and with everything recorded.
func BenchmarkStep(b *testing.B) {
	n := graph.LastValue[int]("n")
	g := graph.New("loop", n).Node("up", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(n.Set(n.Get(s) + 1)), nil
	}).Edge(graph.Start, "up")
	g.Branch("up", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if n.Get(s)%1000 == 0 {
			return nil, nil
		}
		return graph.To("up"), nil
	}, "up", graph.End)
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%t", recorded), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i += 1000 {
				x := graph.Execution{Thread: "t", Run: "r", Input: json.RawMessage(`{"n":0}`), RecursionLimit: 1000}
				if recorded {
					mem := graph.NewMemory()
					x.Checkpoints, x.Recorder = mem, mem
				}
				if _, err := g.Run(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Bytes stored for a conversation of 200 turns, over the bytes of its messages.
func TestCheckpointsCostLittleMoreThanTheMessages(t *testing.T) {
	g := graph.New("chat", messages).Node("agent", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		n := len(messages.Get(s))
		return graph.Update(messages.Add(item.AssistantText(fmt.Sprintf("ai-%d", n), "An answer of a few sentences, as people get them from assistants. It goes on for a while, and then it ends."))), nil
	}).Edge(graph.Start, "agent")
	s := begin(t, g)
	spy := &commits{Recorder: s.mem}
	var r graph.Result
	for i := range 200 {
		r = s.run(graph.Execution{Recorder: spy, Input: json.RawMessage(fmt.Sprintf(`{"messages":[{"type":"human","id":"h%d","content":"A question of medium length about something or other?"}]}`, i))})
	}
	stored := 0
	for _, c := range spy.all {
		for _, b := range c.Blobs {
			stored += len(b.Data)
		}
		for _, o := range c.Done {
			for _, w := range o.Writes {
				stored += len(w.Value)
			}
		}
	}
	ratio := float64(stored) / float64(len(r.Values["messages"]))
	t.Logf("%d bytes stored for %d bytes of messages: %.2f", stored, len(r.Values["messages"]), ratio)
	if ratio > 1.1 {
		t.Errorf("values of checkpoints take %.2f times the bytes of the messages", ratio)
	}
}
