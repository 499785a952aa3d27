package tributary_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/model/scripted"
)

// counting is a graph of two nodes that add one each.
func counting() (*graph.Graph, graph.Sequence[string]) {
	steps := graph.List[string]("steps")
	add := func(name string) graph.NodeFunc {
		return func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Update(steps.Add(name)), nil }
	}
	return graph.New("count", steps).Node("a", add("a")).Node("b", add("b")).Chain(graph.Start, "a", "b", graph.End), steps
}

func TestStatesCanBeReadChangedAndForked(t *testing.T) {
	g, steps := counting()
	rt := named(t, "count", g)
	ctx := t.Context()
	r := wait(t, rt, start(t, rt, tributary.Request{Assistant: "count", Input: json.RawMessage(`{"steps":["in"]}`)}).ID)
	at := func(c tributary.Checkpoint) []string {
		t.Helper()
		s, err := rt.State(ctx, "", r.Thread, c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tributary.Value(s, steps.Field)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same := func(what string, got []string, want ...string) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	same("the state", at(tributary.Checkpoint{}), "in", "a", "b")

	var before tributary.State // where b was due
	n := 0
	for s, err := range rt.History(ctx, "", r.Thread, tributary.Checkpoint{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if reflect.DeepEqual(s.Next, []string{"b"}) {
			before = s
		}
		if s.Run != r.ID || s.Thread != r.Thread {
			t.Errorf("a state is of run %s and thread %s", s.Run, s.Thread)
		}
	}
	if n != 4 || before.Checkpoint.ID == "" || before.Source != event.FromLoop {
		t.Fatalf("%d states, and %+v", n, before)
	}
	older := 0
	for range rt.History(ctx, "", r.Thread, before.Checkpoint) {
		older++
	}
	if older != 2 {
		t.Errorf("%d states before that, want 2", older)
	}

	forked, err := rt.Fork(ctx, "", r.Thread, before.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	same("the fork", at(tributary.Checkpoint{}), "in", "a")
	if s, _ := rt.State(ctx, "", r.Thread, tributary.Checkpoint{}); s.Checkpoint != forked || s.Source != event.FromFork || s.Parent != before.Checkpoint.ID {
		t.Errorf("the fork is %+v, of %+v", s, before)
	}
	// Nobody says what to do: it goes on where the thread stands, with the assistant of its latest run.
	again := wait(t, rt, start(t, rt, tributary.Request{Thread: r.Thread}).ID)
	if again.Graph != "count" || again.Status != event.Success {
		t.Errorf("it went on as %+v", again)
	}
	same("after the fork", at(tributary.Checkpoint{}), "in", "a", "b")

	edited, err := rt.UpdateState(ctx, "", r.Thread, tributary.Update{From: before.Checkpoint, Values: json.RawMessage(`{"steps":["x"]}`), As: "a"})
	if err != nil {
		t.Fatal(err)
	}
	same("edited", at(edited), "in", "a", "x")
	wait(t, rt, start(t, rt, tributary.Request{Thread: r.Thread, Checkpoint: edited.ID}).ID)
	same("run from there", at(tributary.Checkpoint{}), "in", "a", "x", "b")

	for field, u := range map[string]tributary.Update{
		"as_node": {Values: json.RawMessage(`{"steps":["x"]}`), As: "nobody"}, "values": {Values: json.RawMessage(`{"steps":7}`), As: "a"},
		"checkpoint_ns": {From: tributary.Checkpoint{NS: "no:where"}},
	} {
		_, err := rt.UpdateState(ctx, "", r.Thread, u)
		var invalid *tributary.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%+v: got %v, want a mistake in %s", u, err, field)
		}
	}
}

func TestAThreadThatHasNotRunHasAnEmptyStateThatCanBeWritten(t *testing.T) {
	g, steps := counting()
	rt := named(t, "count", g)
	th, err := rt.Threads().Create(t.Context(), "", tributary.NewThread{Graph: "count"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := rt.State(t.Context(), "", th.ID, tributary.Checkpoint{}); err != nil || s.Checkpoint.ID != "" || len(s.Values) != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := rt.UpdateState(t.Context(), "", th.ID, tributary.Update{Values: json.RawMessage(`{"steps":["told"]}`), As: "a"}); err != nil {
		t.Fatal(err)
	}
	r := wait(t, rt, start(t, rt, tributary.Request{Assistant: "count", Thread: th.ID}).ID)
	s, _ := rt.State(t.Context(), "", th.ID, tributary.Checkpoint{})
	if got, err := tributary.Value(s, steps.Field); err != nil || r.Status != event.Success || !reflect.DeepEqual(got, []string{"told", "b"}) {
		t.Errorf("%s left %q, %v", r.Status, got, err)
	}
}

func TestThreadsAreMadeFoundChangedCopiedAndDeleted(t *testing.T) {
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Stall()))})
	ctx, threads := t.Context(), rt.Threads()
	made, err := threads.Create(ctx, "", tributary.NewThread{Metadata: json.RawMessage(`{"about":"rivers"}`), TTL: time.Hour})
	if err != nil || made.Status != tributary.ThreadIdle || made.ExpiresAt.IsZero() {
		t.Fatalf("made %+v, %v", made, err)
	}
	var never time.Time
	changed, err := threads.Update(ctx, "", made.ID, tributary.ThreadUpdate{Metadata: json.RawMessage(`{"read":true}`), ExpiresAt: &never})
	if err != nil || string(changed.Metadata) != `{"about":"rivers","read":true}` || !changed.ExpiresAt.IsZero() {
		t.Errorf("changed %+v %s, %v", changed, changed.Metadata, err)
	}
	twin, err := threads.Copy(ctx, "", made.ID)
	if err != nil || twin.ID == made.ID {
		t.Fatalf("the copy is %+v, %v", twin, err)
	}
	for want, q := range map[int]tributary.ThreadQuery{
		2: {Metadata: json.RawMessage(`{"about":"rivers"}`)}, 1: {IDs: []string{made.ID}}, 0: {Status: tributary.ThreadBusy},
	} {
		if found, total, err := threads.Search(ctx, "", q); err != nil || total != want || len(found) != want {
			t.Errorf("%+v: %d of %d, %v; want %d", q, len(found), total, err, want)
		}
	}
	r := start(t, rt, tributary.Request{Thread: made.ID, Text: "go"})
	if err := threads.Delete(ctx, "", made.ID); err != nil {
		t.Fatal(err)
	}
	_, gone := rt.Run(ctx, "", r.ID)
	if _, err := threads.Get(ctx, "", made.ID); !errors.Is(err, tributary.ErrNotFound) || !errors.Is(gone, tributary.ErrNotFound) {
		t.Errorf("after it was deleted: %v, its run %v", err, gone)
	}
	if _, err := threads.Get(ctx, "", twin.ID); err != nil {
		t.Errorf("its copy: %v", err)
	}
}

func TestAssistantsGiveRunsTheirSettings(t *testing.T) {
	saw := graph.JSON("saw")
	rt := open(t, tributary.Options{Graphs: map[string]tributary.Builder{"look": func(_ context.Context, c tributary.Config) (*graph.Graph, error) {
		if string(c.Configurable) == `{"bad":true}` {
			return nil, &tributary.InvalidError{Field: "config.configurable.bad", Reason: "must not be"}
		}
		return graph.New("look", saw).Node("n", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			return graph.Update(saw.Set(s.Config().Configurable)), nil
		}).Chain(graph.Start, "n", graph.End), nil
	}}})
	ctx, assistants := t.Context(), rt.Assistants()
	made, err := assistants.Create(ctx, "", tributary.NewAssistant{Graph: "look", Name: "Mine", Config: json.RawMessage(`{"configurable":{"a":1}}`)})
	if err != nil || made.Version != 1 || made.Owner != tributary.DefaultOwner {
		t.Fatalf("made %+v, %v", made, err)
	}
	seen := func() string {
		t.Helper()
		r := wait(t, rt, start(t, rt, tributary.Request{Assistant: made.ID, Input: json.RawMessage(`{}`)}).ID)
		s, err := rt.State(ctx, "", r.Thread, tributary.Checkpoint{})
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Values["saw"])
	}
	if got := seen(); got != `{"a":1}` {
		t.Errorf("the run saw %s", got)
	}
	if made, err = assistants.Update(ctx, "", made.ID, tributary.AssistantUpdate{Config: json.RawMessage(`{"configurable":{"a":2}}`)}); err != nil || made.Version != 2 || made.Name != "Mine" {
		t.Errorf("changed to %+v, %v", made, err)
	}
	if got := seen(); got != `{"a":2}` {
		t.Errorf("after the change the run saw %s", got)
	}
	if made, err = assistants.SetLatest(ctx, "", made.ID, 1); err != nil || seen() != `{"a":1}` {
		t.Errorf("back to %+v, %v", made, err)
	}
	if all, err := assistants.Versions(ctx, "", made.ID, tributary.Page{}); err != nil || len(all) != 2 {
		t.Errorf("%d versions, %v", len(all), err)
	}
	if found, total, err := assistants.Search(ctx, "", tributary.AssistantQuery{Graph: "look"}); err != nil || total != 2 || len(found) != 2 {
		t.Errorf("%d of %d assistants, %v; want the graph's and ours", len(found), total, err)
	}
	_, bad := assistants.Create(ctx, "", tributary.NewAssistant{Graph: "look", Config: json.RawMessage(`{"configurable":{"bad":true}}`)})
	_, none := assistants.Create(ctx, "", tributary.NewAssistant{Graph: "nothing"})
	_, system := assistants.Update(ctx, "", "look", tributary.AssistantUpdate{})
	for field, err := range map[string]error{"config.configurable.bad": bad, "graph_id": none, "assistant_id": system} {
		var invalid *tributary.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if err := assistants.Delete(ctx, "", made.ID); err != nil {
		t.Error(err)
	}
	if _, err := assistants.Get(ctx, "", made.ID); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
}

func TestTheStoreIsTheMemoryOfTheOwnersRuns(t *testing.T) {
	g := graph.New("remember").Node("n", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		was, ok, err := s.Store().Get(ctx, []string{"facts"}, "river")
		if err != nil || !ok {
			return graph.Command{}, errors.Join(err, errors.New("nothing is known of rivers"))
		}
		return graph.Command{}, s.Store().Put(ctx, []string{"facts", "old"}, "river", was)
	}).Chain(graph.Start, "n", graph.End)
	rt := named(t, "remember", g)
	ctx, store := t.Context(), rt.Store()
	if err := store.Put(ctx, "", []string{"facts"}, "river", map[string]int{"km": 6650}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]event.Status{"": event.Success, "eve": event.Failed} {
		r := start(t, rt, tributary.Request{Assistant: "remember", Input: json.RawMessage(`{}`), Owner: owner})
		if r, err := rt.Wait(ctx, owner, r.ID); err != nil || r.Status != want {
			t.Errorf("the run of %q is %s, %v", owner, r.Status, err)
		}
	}
	it, err := store.Get(ctx, "", []string{"facts", "old"}, "river")
	if err != nil || string(it.Value) != `{"km":6650}` {
		t.Errorf("the node stored %s, %v", it.Value, err)
	}
	found, err := store.Search(ctx, "", tributary.ItemQuery{Prefix: []string{"facts"}, Filter: json.RawMessage(`{"km":{"$gt":6000}}`)})
	if err != nil || len(found) != 2 {
		t.Errorf("found %v, %v", found, err)
	}
	spaces, err := store.Namespaces(ctx, "", tributary.NamespaceQuery{})
	if want := [][]string{{"facts"}, {"facts", "old"}}; err != nil || !reflect.DeepEqual(spaces, want) {
		t.Errorf("namespaces %v, %v; want %v", spaces, err, want)
	}
	if err := store.Delete(ctx, "", []string{"facts"}, "river"); err != nil {
		t.Error(err)
	}
	if _, err := store.Get(ctx, "", []string{"facts"}, "river"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
}

// What belongs to somebody else does not exist, whatever is asked of it.
func TestEveryCallKeepsToItsOwner(t *testing.T) {
	g, _ := asking(1)
	rt := named(t, "ask", g)
	ctx := t.Context()
	thread, asked := questions(t, rt)
	runs, _, _ := rt.Runs(ctx, "", tributary.RunQuery{Thread: thread})
	id := runs[0].ID
	a, err := rt.Assistants().Create(ctx, "", tributary.NewAssistant{Graph: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	const eve = "eve"
	calls := map[string]func() error{
		"Run":      func() error { _, err := rt.Run(ctx, eve, id); return err },
		"Wait":     func() error { _, err := rt.Wait(ctx, eve, id); return err },
		"Cancel":   func() error { _, err := rt.Cancel(ctx, eve, id); return err },
		"Rollback": func() error { _, err := rt.Rollback(ctx, eve, id); return err },
		"Follow": func() (e error) {
			for _, e = range rt.Follow(ctx, eve, id, tributary.Position{}) {
				break
			}
			return e
		},
		"Start": func() error {
			_, err := rt.Start(ctx, tributary.Request{Owner: eve, Thread: thread, Text: "x"})
			return err
		},
		"go on": func() error { _, err := rt.Start(ctx, tributary.Request{Owner: eve, Thread: thread}); return err },
		"answer": func() error {
			_, err := rt.Start(ctx, tributary.Request{Owner: eve, Thread: thread, Answers: []tributary.Answer{{Interrupt: asked[0].ID}}})
			return err
		},
		"assistant": func() error {
			_, err := rt.Start(ctx, tributary.Request{Owner: eve, Assistant: a.ID, Text: "x"})
			return err
		},
		"State": func() error { _, err := rt.State(ctx, eve, thread, tributary.Checkpoint{}); return err },
		"History": func() (e error) {
			for _, e = range rt.History(ctx, eve, thread, tributary.Checkpoint{}) {
				break
			}
			return e
		},
		"Update":     func() error { _, err := rt.UpdateState(ctx, eve, thread, tributary.Update{}); return err },
		"Fork":       func() error { _, err := rt.Fork(ctx, eve, thread, tributary.Checkpoint{}); return err },
		"Get":        func() error { _, err := rt.Threads().Get(ctx, eve, thread); return err },
		"change":     func() error { _, err := rt.Threads().Update(ctx, eve, thread, tributary.ThreadUpdate{}); return err },
		"Copy":       func() error { _, err := rt.Threads().Copy(ctx, eve, thread); return err },
		"Delete":     func() error { return rt.Threads().Delete(ctx, eve, thread) },
		"Assistants": func() error { _, err := rt.Assistants().Get(ctx, eve, a.ID); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, tributary.ErrNotFound) {
			t.Errorf("%s: somebody else is told %v, want ErrNotFound", name, err)
		}
	}
	if found, total, err := rt.Runs(ctx, eve, tributary.RunQuery{}); err != nil || total != 0 || len(found) != 0 {
		t.Errorf("somebody else finds %d runs, %v", total, err)
	}
	if s, err := rt.State(ctx, "", thread, tributary.Checkpoint{}); err != nil || len(s.Interrupts) != 1 {
		t.Errorf("the owner finds %+v, %v", s, err)
	}
}
