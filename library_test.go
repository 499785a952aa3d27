package tributary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/model/scripted"
)

// named is a runtime with one graph.
func named(t *testing.T, name string, g *graph.Graph) *tributary.Runtime {
	t.Helper()
	return open(t, tributary.Options{Graphs: map[string]tributary.Builder{name: tributary.Fixed(g)}})
}

func node(f func(ctx context.Context, s *graph.Scope) (graph.Command, error)) graph.NodeFunc {
	return f
}

// follow reads a run to its end.
func follow(t *testing.T, rt *tributary.Runtime, id string, after tributary.Position) []event.Envelope {
	t.Helper()
	var all []event.Envelope
	for env, err := range rt.Follow(t.Context(), "", id, after) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, env)
	}
	return all
}

func start(t *testing.T, rt *tributary.Runtime, req tributary.Request) tributary.Run {
	t.Helper()
	r, err := rt.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wait(t *testing.T, rt *tributary.Runtime, id string) tributary.Run {
	t.Helper()
	r, err := rt.Wait(t.Context(), "", id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStartReturnsBeforeTheRunHasEndedAndFollowReadsItFromAnyPosition(t *testing.T) {
	let := make(chan struct{})
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Wait(let).Say("second")))})
	r := start(t, rt, tributary.Request{Text: "go"})
	if r.Ended() || r.Graph != tributary.DefaultGraph || r.Owner != tributary.DefaultOwner || r.Thread == "" {
		t.Errorf("it starts as %+v", r)
	}
	close(let)
	all := follow(t, rt, r.ID, tributary.Position{})
	if _, ok := all[len(all)-1].Event.(event.RunEnded); !ok {
		t.Fatalf("the last event is %T", all[len(all)-1].Event)
	}
	for i := range all[:len(all)-1] { // after the last there is nothing, and that is not waited for
		rest := follow(t, rt, r.ID, tributary.After(&all[i]))
		if !reflect.DeepEqual(rest, all[i+1:]) {
			t.Fatalf("after event %d: %d events, want %d", all[i].Seq, len(rest), len(all)-i-1)
		}
	}
	if r = wait(t, rt, r.ID); r.Status != event.Success || r.EndedAt.IsZero() || r.Usage.OutputTokens == 0 {
		t.Errorf("it ends as %+v", r)
	}
	for _, err := range rt.Follow(t.Context(), "", r.ID, tributary.Position{Epoch: 1, Seq: 1 << 40}) {
		if !errors.Is(err, tributary.ErrLost) {
			t.Errorf("after the end of the log: %v, want ErrLost", err)
		}
	}
}

func TestRunsAreFoundByWhatIsKnownOfThem(t *testing.T) {
	rt := open(t, tributary.Options{})
	a := start(t, rt, tributary.Request{Text: "count to one", Metadata: json.RawMessage(`{"n":1}`)})
	wait(t, rt, a.ID)
	b := start(t, rt, tributary.Request{Text: "count to one", Thread: a.Thread})
	wait(t, rt, b.ID)
	start(t, rt, tributary.Request{Text: "count to one", Owner: "somebody"})
	for _, c := range []struct {
		q    tributary.RunQuery
		want []string
	}{
		{tributary.RunQuery{}, []string{b.ID, a.ID}},
		{tributary.RunQuery{Asc: true}, []string{a.ID, b.ID}},
		{tributary.RunQuery{Thread: a.Thread, Page: tributary.Page{Limit: 1, Offset: 1}}, []string{a.ID}},
		{tributary.RunQuery{Metadata: json.RawMessage(`{"n":1}`)}, []string{a.ID}},
		{tributary.RunQuery{Statuses: []event.Status{tributary.Pending, tributary.Running}}, nil},
	} {
		found, total, err := rt.Runs(t.Context(), "", c.q)
		var got []string
		for _, r := range found {
			got = append(got, r.ID)
		}
		if err != nil || !reflect.DeepEqual(got, c.want) || total < len(c.want) {
			t.Errorf("%+v: got %v of %d, %v; want %v", c.q, got, total, err, c.want)
		}
	}
}

// asking is a graph that asks n questions at once, and keeps the answers.
func asking(n int) (*graph.Graph, graph.Sequence[string]) {
	answers := graph.List[string]("answers")
	g := graph.New("ask", answers)
	for i := range n {
		name := string(rune('a' + i))
		g.Node(name, func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			answer, err := graph.Ask[json.RawMessage](s, "question "+name)
			return graph.Update(answers.Add(string(answer))), err
		}).Edge(graph.Start, name)
	}
	return g, answers
}

// questions starts a run that asks, and returns its thread with the questions.
func questions(t *testing.T, rt *tributary.Runtime) (thread string, asked []graph.Interrupt) {
	t.Helper()
	r := start(t, rt, tributary.Request{Assistant: "ask", Input: json.RawMessage(`{}`)})
	if r = wait(t, rt, r.ID); r.Status != event.Interrupted {
		t.Fatalf("the run is %s", r.Status)
	}
	s, err := rt.State(t.Context(), "", r.Thread, tributary.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Thread, s.Interrupts
}

func TestAnAnswerToWhatIsNotAskedIsRefusedBeforeAnythingIsCreated(t *testing.T) {
	g, _ := asking(2)
	rt := named(t, "ask", g)
	thread, asked := questions(t, rt)
	if len(asked) != 2 {
		t.Fatalf("%d questions are asked", len(asked))
	}
	refused := func(want error, says string, answers ...tributary.Answer) {
		t.Helper()
		_, before, _ := rt.Runs(t.Context(), "", tributary.RunQuery{})
		_, err := rt.Start(t.Context(), tributary.Request{Thread: thread, Answers: answers})
		_, after, _ := rt.Runs(t.Context(), "", tributary.RunQuery{})
		var invalid *tributary.InvalidError
		if want == nil && !errors.As(err, &invalid) || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), says) || before != after {
			t.Errorf("%v: got %v, %d runs became %d; want %v with %q", answers, err, before, after, want, says)
		}
	}
	first, second := asked[0].ID, asked[1].ID
	refused(tributary.ErrNotPending, second, tributary.Answer{Interrupt: "none", Value: 1})
	refused(tributary.ErrNotPending, "none", tributary.Answer{Interrupt: first, Value: 1}, tributary.Answer{Interrupt: "none", Value: 1})
	refused(nil, "2 questions", tributary.Answer{Value: 1})
	refused(nil, "two answers", tributary.Answer{Interrupt: first, Value: 1}, tributary.Answer{Interrupt: first, Value: 2})
	refused(nil, "answers", tributary.Answer{Interrupt: first, Value: func() {}})

	wait(t, rt, start(t, rt, tributary.Request{Thread: thread, Answers: []tributary.Answer{{Interrupt: first, Value: 1}}}).ID)
	refused(tributary.ErrNotPending, second, tributary.Answer{Interrupt: first, Value: 1})
	wait(t, rt, start(t, rt, tributary.Request{Thread: thread, Answers: []tributary.Answer{{Value: 2}}}).ID) // the only one that is left
	refused(tributary.ErrNotPending, "nothing", tributary.Answer{Interrupt: second, Value: 1})
	refused(tributary.ErrNotPending, "nothing", tributary.Answer{Value: 1})
	if _, err := rt.Start(t.Context(), tributary.Request{Thread: "elsewhere", Answers: []tributary.Answer{{Value: 1}}}); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("an answer to a thread that does not exist: %v", err)
	}
	for _, err := range rt.Resume(t.Context(), tributary.Request{Thread: thread}) {
		if !errors.As(err, new(*tributary.InvalidError)) {
			t.Errorf("no answers: %v", err)
		}
	}
}

// What an answer looks like does not matter: this one is an object by ids, which LangGraph's wire would take apart.
func TestAnAnswerIsGivenAsItIs(t *testing.T) {
	g, answers := asking(1)
	rt := named(t, "ask", g)
	thread, asked := questions(t, rt)
	value := map[string]int{asked[0].ID: 1, strings.Repeat("0", 32): 2}
	r := wait(t, rt, start(t, rt, tributary.Request{Thread: thread, Answers: []tributary.Answer{{Value: value}}}).ID)
	s, err := rt.State(t.Context(), "", thread, tributary.Checkpoint{})
	if err != nil || r.Status != event.Success {
		t.Fatalf("the run is %s, %v", r.Status, err)
	}
	got, err := tributary.Value(s, answers.Field)
	want, _ := json.Marshal(value)
	if err != nil || len(got) != 1 || got[0] != string(want) {
		t.Errorf("the node got %q, %v; want %s", got, err, want)
	}
}

func TestOfManyAnswersToOneQuestionOneCounts(t *testing.T) {
	g, answers := asking(1)
	rt := named(t, "ask", g)
	thread, asked := questions(t, rt)
	const many = 8
	errs := make([]error, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			_, errs[i] = rt.Start(context.Background(), tributary.Request{Thread: thread, Answers: []tributary.Answer{{Interrupt: asked[0].ID, Value: i}}})
		})
	}
	wg.Wait()
	accepted := 0
	for _, err := range errs {
		switch {
		case err == nil:
			accepted++
		case !errors.Is(err, tributary.ErrBusy) && !errors.Is(err, tributary.ErrNotPending):
			t.Errorf("refused with %v", err)
		}
	}
	runs, _, err := rt.Runs(t.Context(), "", tributary.RunQuery{Thread: thread})
	if err != nil || accepted != 1 || len(runs) != 2 {
		t.Fatalf("%d answers were accepted, %d runs made, %v", accepted, len(runs), err)
	}
	wait(t, rt, runs[0].ID)
	s, _ := rt.State(t.Context(), "", thread, tributary.Checkpoint{})
	if got, err := tributary.Value(s, answers.Field); err != nil || len(got) != 1 {
		t.Errorf("the node got %q, %v", got, err)
	}
}

func TestErrorsCanBeToldApart(t *testing.T) {
	let := make(chan struct{})
	defer close(let)
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Wait(let)))})
	busy := start(t, rt, tributary.Request{Text: "go"})
	ctx := t.Context()
	try := func(req tributary.Request) error { _, err := rt.Start(ctx, req); return err }
	_, exists := rt.Threads().Create(ctx, "", tributary.NewThread{ID: busy.Thread})
	_, edited := rt.UpdateState(ctx, "", busy.Thread, tributary.Update{Values: json.RawMessage(`{}`)})
	for name, c := range map[string]struct{ got, want error }{
		"no assistant":   {try(tributary.Request{Assistant: "nobody", Text: "x"}), tributary.ErrNotFound},
		"no checkpoint":  {try(tributary.Request{Thread: busy.Thread, Text: "x", Checkpoint: "00000000-0000-7000-8000-000000000001"}), tributary.ErrNotFound},
		"a busy thread":  {try(tributary.Request{Thread: busy.Thread, Text: "x", Multitask: tributary.Reject}), tributary.ErrBusy},
		"a busy edit":    {edited, tributary.ErrBusy},
		"an id is taken": {exists, tributary.ErrExists},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	_, _, page := rt.Runs(ctx, "", tributary.RunQuery{Page: tributary.Page{Limit: 100_000}})
	_, _, sorted := rt.Threads().Search(ctx, "", tributary.ThreadQuery{SortBy: "beauty"})
	for field, err := range map[string]error{
		"thread_id":          try(tributary.Request{Thread: "../etc", Text: "x"}),
		"input":              try(tributary.Request{}),
		"multitask_strategy": try(tributary.Request{Text: "x", Multitask: "hope"}),
		"context":            try(tributary.Request{Text: "x", Context: json.RawMessage(`7`)}),
		"after_seconds":      try(tributary.Request{Text: "x", Delay: -time.Second}),
		"limit":              page,
		"sort_by":            sorted,
		"key":                rt.Store().Put(ctx, "", []string{"a"}, "", map[string]int{}, 0),
		"namespace":          rt.Store().Put(ctx, "", []string{"a.b"}, "k", map[string]int{}, 0),
		"value":              rt.Store().Put(ctx, "", []string{"a"}, "k", 7, 0),
	} {
		var invalid *tributary.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field || invalid.Reason == "" {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// A Builder's mistake in a setting is the caller's, and refused before anything is stored.
func TestABuilderRefusesASettingByName(t *testing.T) {
	rt := open(t, tributary.Options{Graphs: map[string]tributary.Builder{"picky": func(context.Context, tributary.Config) (*graph.Graph, error) {
		return nil, &tributary.InvalidError{Field: "config.configurable.mood", Reason: "must be good"}
	}}})
	_, err := rt.Start(t.Context(), tributary.Request{Assistant: "picky", Text: "x"})
	var invalid *tributary.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "config.configurable.mood" {
		t.Errorf("got %v", err)
	}
	if _, total, err := rt.Threads().Search(t.Context(), "", tributary.ThreadQuery{}); err != nil || total != 0 {
		t.Errorf("%d threads, %v", total, err)
	}
}

func TestClosingEndsReadersAndRefusesTheRest(t *testing.T) {
	rt, err := tributary.Open(t.Context(), tributary.Options{
		Dir: t.TempDir(), Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Stall())),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, rt, tributary.Request{Text: "go"})
	read, waited := make(chan error, 1), make(chan error, 1)
	began := make(chan struct{})
	var once sync.Once
	go func() {
		var last error
		for env, err := range rt.Follow(context.Background(), "", r.ID, tributary.Position{}) {
			if _, ok := env.Event.(event.TextDelta); ok {
				once.Do(func() { close(began) })
			}
			last = err
		}
		read <- last
	}()
	<-began
	go func() { _, err := rt.Wait(context.Background(), "", r.ID); waited <- err }()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rt.Close(now); err != nil {
		t.Fatal(err)
	}
	_, start := rt.Start(t.Context(), tributary.Request{Text: "x"})
	_, get := rt.Run(t.Context(), "", r.ID)
	for name, err := range map[string]error{"a reader": <-read, "who waits": <-waited, "Start": start, "Run": get} {
		if !errors.Is(err, tributary.ErrClosed) {
			t.Errorf("%s is told %v, want ErrClosed", name, err)
		}
	}
}

func TestWhatIsLoggedGoesToTheRuntimesLoggerAlone(t *testing.T) {
	var global, own bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&global, nil)))
	defer slog.SetDefault(was)
	g := graph.New("clumsy").Node("n", node(func(context.Context, *graph.Scope) (graph.Command, error) { panic("a stone") })).Chain(graph.Start, "n", graph.End)
	rt := open(t, tributary.Options{
		Graphs: map[string]tributary.Builder{"clumsy": tributary.Fixed(g)}, Log: slog.New(slog.NewTextHandler(&own, nil)),
	})
	wait(t, rt, start(t, rt, tributary.Request{Assistant: "clumsy", Input: json.RawMessage(`{}`)}).ID)
	if global.Len() > 0 || !strings.Contains(own.String(), "a stone") {
		t.Errorf("the process's logger has %q, the runtime's %q", global.String(), own.String())
	}
}

// A reader pays for reading and not for the library around it: nothing is allocated for an event.
func TestFollowAllocatesNothingPerEvent(t *testing.T) {
	pieces := make([]string, 5000)
	for i := range pieces {
		pieces[i] = "x"
	}
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Pieces(pieces...)))})
	r := start(t, rt, tributary.Request{Text: "go"})
	wait(t, rt, r.ID)
	j := door.Open(rt).Journal
	for door.Open(rt).Engine.Active() > 0 { // until its last events are forgotten, and all read what is stored
		time.Sleep(time.Millisecond)
	}
	least := func(follow func()) float64 { // others allocate meanwhile: the runtime, its pools, goroutines that end
		n := math.MaxFloat64
		for range 8 {
			n = min(n, testing.AllocsPerRun(1, follow))
		}
		return n
	}
	bare := least(func() {
		for range j.Follow(context.Background(), r.ID, journal.Position{}) {
		}
	})
	ours := least(func() {
		for range rt.Follow(context.Background(), "", r.ID, tributary.Position{}) {
		}
	})
	if ours > bare+200 { // finding the run, once
		t.Errorf("%v allocations to follow 5000 events, where the journal needs %v", ours, bare)
	}
}

// No signature of this package, and no field of its types, has a type that a program outside of the module cannot name.
func TestTheLibraryHasNoInternalTypes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(at string, typ reflect.Type)
	look = func(at string, typ reflect.Type) {
		if strings.Contains(typ.PkgPath(), "/internal/") {
			t.Errorf("%s has the type %s", at, typ)
		}
		home := typ.PkgPath()
		if typ.Kind() == reflect.Pointer {
			home = typ.Elem().PkgPath()
		}
		if seen[typ] || home != "" && home != "github.com/tributary-ai/tributary" {
			if typ.Kind() == reflect.Pointer && strings.Contains(home, "/internal/") {
				t.Errorf("%s has the type %s", at, typ)
			}
			return
		}
		seen[typ] = true
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			look(at+"."+m.Name, m.Type)
		}
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				if f := typ.Field(i); f.IsExported() {
					look(at+"."+f.Name, f.Type)
				}
			}
		case reflect.Func:
			for i := range typ.NumIn() {
				look(at, typ.In(i))
			}
			for i := range typ.NumOut() {
				look(at, typ.Out(i))
			}
		case reflect.Map:
			look(at, typ.Key())
			look(at, typ.Elem())
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			look(at, typ.Elem())
		default:
		}
	}
	for name, v := range map[string]any{
		"Runtime": &tributary.Runtime{}, "Open": tributary.Open, "OneModel": tributary.OneModel, "CallModel": tributary.CallModel,
		"After": tributary.After, "Fixed": tributary.Fixed, "InvalidError": &tributary.InvalidError{},
		"InterruptedError": &tributary.InterruptedError{}, "OptionError": &tributary.OptionError{},
	} {
		look(name, reflect.TypeOf(v))
	}
}
