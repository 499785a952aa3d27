package protocol2_test

import (
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/item"
)

func TestDeltaCostsNoMoreThanItDid(t *testing.T) {
	const turn, execution = "msg_26e60487e53d4429ad00724a", "268ce85d-e90d-57ce-bfd7-c1dcfc9d5d86"
	p := protocol2.New(protocol2.Options{States: anyState{}})
	env := &event.Envelope{Epoch: 1, Run: "run", Thread: "thread", Node: "agent", Step: 1}
	var dst []protocol2.Event
	project := func(e event.Event) {
		env.Seq++
		env.Event = e
		var err error
		if dst, err = p.Events(dst[:0], env); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []event.Event{
		event.RunStarted{Attempt: 1, Graph: "chat"},
		event.NodeStarted{Execution: execution},
		event.TurnStarted{Turn: turn, Execution: execution},
		event.ItemStarted{Item: turn, Turn: turn, Type: item.TypeMessage},
	} {
		project(e)
	}
	var token event.Event = event.TextDelta{Item: turn, Text: " tokens"}
	cost.Hold(t, cost.Per{Allocs: 2, Bytes: 330}, 1000, func() {
		for range 1000 {
			project(token)
		}
	})
}
