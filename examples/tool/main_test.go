package main

import (
	"context"
	"encoding/json"
	"log"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// open makes a runtime whose model first spells the river as the user did, and then as the tool's error asks for.
func open(ctx context.Context, each time.Duration) (*tributary.Runtime, error) {
	m := scripted.Sequence(
		scripted.Call("call_1", "level", `{"name":"Rhein"}`),
		scripted.Call("call_2", "level", `{"name":"Rhine"}`),
		scripted.Say("It is 3.4 m high."),
	)
	return tributary.Open(ctx, tributary.Options{Models: tributary.OneModel(m), Tools: []tool.Tool{level(each)}})
}

func Example() {
	ctx := context.Background()
	rt, err := open(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	if err := ask(ctx, rt, "How high is the water in the Rhein?"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// · failed: there are no gauges at "Rhein"; there are some at Elbe and Rhine
	// · reading a gauge, 1 of 3
	// · reading a gauge, 2 of 3
	// · reading a gauge, 3 of 3
	// It is 3.4 m high.
	// success
}

func TestARunThatIsCancelledDoesNotWaitForItsTool(t *testing.T) {
	rt, err := open(t.Context(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	run, err := rt.Start(t.Context(), tributary.Request{Text: "How high is the water in the Rhein?"})
	if err != nil {
		t.Fatal(err)
	}
	for env, err := range rt.Follow(t.Context(), "", run.ID, tributary.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := env.Event.(event.ToolProgressed); ok {
			if _, err := rt.Cancel(t.Context(), "", run.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if run, err = rt.Wait(t.Context(), "", run.ID); err != nil || run.Status != event.Cancelled {
		t.Errorf("the run is %s, %v; want %s", run.Status, err, event.Cancelled)
	}
}

func TestTheToolStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := tool.Invoke(ctx, level(24*time.Hour), tool.Call{ID: "call_1", Arguments: json.RawMessage(`{"name":"Elbe"}`)})
	if got, want := item.JoinText(res.Content), context.Canceled.Error(); err != nil || !res.Error || got != want {
		t.Errorf("got %q, failed %v, %v; want %q as a failure", got, res.Error, err, want)
	}
}

func TestTheProgramRunsWithoutAKey(t *testing.T) {
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(key, "") // nobody is asked but the offline model
	}
	main()
}
