package langgraph_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

// stories runs every graph, with resumes, breakpoints and a cancel.
func stories(t *testing.T) map[string]*recording {
	t.Helper()
	s := serve(t)
	out := map[string]*recording{}
	for _, name := range []string{"chat", "tools", "subgraph", "custom", "failing", "flaky", "team", "historian", "quiet"} {
		out[name] = s.thread().run(hello(name))
	}
	th := s.thread()
	out["approval"] = th.run(hello("approval"))
	out["approval resumed"] = th.run(run.Request{Graph: "approval", Command: json.RawMessage(`{"resume":{"answer":"yes"}}`)})
	th = s.thread()
	out["parallel"] = th.run(run.Request{Graph: "parallel", Input: json.RawMessage(`{}`)})
	answers := map[string]string{}
	for _, env := range out["parallel"].Events {
		if e, ok := env.Event.(event.InterruptRaised); ok && len(answers) == 0 {
			answers[e.ID] = "A"
		}
	}
	resume, err := json.Marshal(map[string]any{"resume": answers})
	if err != nil {
		t.Fatal(err)
	}
	out["parallel half resumed"] = th.run(run.Request{Graph: "parallel", Command: resume})
	th = s.thread()
	out["weather"] = th.run(hello("weather"))
	out["weather continued"] = th.run(run.Request{Graph: "weather"})
	return out
}

// project runs a projection and returns the frames of each event.
func project(t interface{ Fatal(...any) }, events []event.Envelope, o langgraph.Options) [][]wire.Frame {
	p := langgraph.New(o)
	out := make([][]wire.Frame, len(events))
	for i := range events {
		var err error
		if out[i], err = p.Project(nil, &events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// cut checks that a stream that was cut after frame k goes on where it was.
func cut(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, events []event.Envelope, o langgraph.Options, uncut []wire.Frame, k int) {
	cursor := "-1"
	if k >= 0 {
		cursor = uncut[k].ID
	}
	_, seq, place, err := langgraph.ParseCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	resumed := slices.Clone(uncut[:k+1])
	for _, f := range slices.Concat(project(t, events, o)...) {
		_, s, p, err := langgraph.ParseCursor(f.ID)
		if err != nil {
			t.Fatal(err)
		}
		if s > seq || s == seq && p > place {
			resumed = append(resumed, f)
		}
	}
	if !reflect.DeepEqual(resumed, uncut) {
		t.Fatalf("modes %b, cut after %s (%d of %d): %d frames", o.Modes, cursor, k, len(uncut), len(resumed))
	}
}

// Every combination of modes, over real runs: a stream that is cut after any frame and resumed with its ID is the uncut one.
func TestCutAnywhere(t *testing.T) {
	all := stories(t)
	names := []string{}
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	rnd := rand.New(rand.NewPCG(1, 2))
	for m := langgraph.Modes(1); m <= langgraph.All; m++ {
		name := names[int(m)%len(names)] // each combination over one run, each run in many combinations
		r := all[name]
		o := langgraph.Options{Modes: m, Subgraphs: m%2 == 0, Ordinal: m%3 == 0, States: r}
		uncut := slices.Concat(project(t, r.Events, o)...)
		for range 2 {
			cut(t, r.Events, o, uncut, rnd.IntN(len(uncut)+1)-1)
		}
	}
	for _, name := range names { // and cuts all along each run, in all modes at once and in each alone
		r := all[name]
		for m := langgraph.All; m > 0; {
			o := langgraph.Options{Modes: m, Subgraphs: true, States: r}
			uncut := slices.Concat(project(t, r.Events, o)...)
			for k := -1; k < len(uncut); k += 1 + len(uncut)/20 {
				cut(t, r.Events, o, uncut, k)
			}
			if m == langgraph.All {
				m = langgraph.Tools
			} else {
				m >>= 1
			}
		}
	}
}

// anyState knows every checkpoint.
type anyState struct{}

func (anyState) State(ns, id string) (langgraph.State, error) {
	return langgraph.State{
		ID: id, Parent: "before", Step: 1, Source: event.FromLoop, Next: []string{"agent"},
		Values: json.RawMessage(`{"messages":[{"content":"hi","id":"` + "human_" + id + `","type":"human"}]}`),
		Tasks:  []langgraph.Task{{ID: "t", Node: "agent", Path: []string{"push", "0", "agent"}}},
	}, nil
}

func (anyState) Base(ns string) (string, error) { return "base", nil }

func TestRandomRunsKeepTheLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := transcripttest.Runs(transcripttest.Size{Depth: 2, Width: 3, Turns: 3, Budget: 4, Fragment: 4}).Draw(t, "run")
		o := langgraph.Options{
			Modes:     langgraph.Modes(rapid.IntRange(1, int(langgraph.All)).Draw(t, "modes")),
			Subgraphs: rapid.Bool().Draw(t, "subgraphs"),
			Ordinal:   rapid.Bool().Draw(t, "ordinal"),
			States:    anyState{},
		}
		uncut := slices.Concat(project(t, events, o)...)
		cut(t, events, o, uncut, rapid.IntRange(-1, len(uncut)-1).Draw(t, "cut"))
		lawful(t, events, uncut, o.Modes)
	})
}

// lawful checks the laws of the package comment that can be read off the frames.
func lawful(t *rapid.T, events []event.Envelope, frames []wire.Frame, modes langgraph.Modes) {
	if frames[0].Name != "metadata" {
		t.Fatalf("the first frame is %s", frames[0].Name)
	}
	ids := map[string]bool{}
	for i, f := range frames {
		if ids[f.ID] {
			t.Fatalf("two frames with the id %s", f.ID)
		}
		ids[f.ID] = true
		if !json.Valid(f.Data) || strings.ContainsAny(string(f.Data), "\r\n") {
			t.Fatalf("frame %s is no line of JSON: %s", f.ID, f.Data)
		}
		if f.Name == "error" && i != len(frames)-1 {
			t.Fatal("a frame after the error")
		}
		if !modes.Shows(f.Name) {
			t.Fatalf("frame %s belongs to no mode that was asked for", f.Name)
		}
	}
	end := events[len(events)-1].Event.(event.RunEnded)
	if failed := end.Status == event.Failed || end.Status == event.TimedOut; failed != (frames[len(frames)-1].Name == "error") {
		t.Fatalf("a run that ended with %s ends with %s", end.Status, frames[len(frames)-1].Name)
	}
	if modes.Has(langgraph.MessagesTuple) {
		sumOfParts(t, events, frames)
	}
}

// sumOfParts joins the chunks as clients do, and compares with what the journal says of each turn.
func sumOfParts(t *rapid.T, events []event.Envelope, frames []wire.Frame) {
	type message struct {
		ID      string
		Content string
		Kwargs  struct {
			Reasoning string `json:"reasoning_content"`
		} `json:"additional_kwargs"`
		Chunks []struct {
			Index int
			ID    string
			Args  string
		} `json:"tool_call_chunks"`
		Usage map[string]any `json:"usage_metadata"`
	}
	text, reasoning, args, usage := map[string]string{}, map[string]string{}, map[string]string{}, map[string]int{}
	call := map[string]string{}
	for _, f := range frames {
		if f.Name != "messages" && !strings.HasPrefix(f.Name, "messages|") {
			continue
		}
		var pair [2]json.RawMessage
		var m message
		if json.Unmarshal(f.Data, &pair) != nil || json.Unmarshal(pair[0], &m) != nil {
			t.Fatalf("frame %s: %s", f.ID, f.Data)
		}
		text[m.ID] += m.Content
		reasoning[m.ID] += m.Kwargs.Reasoning
		if m.Usage != nil {
			usage[m.ID]++
		}
		for _, c := range m.Chunks {
			if c.Index < 1 {
				t.Fatalf("a tool call has the index of the text: %s", f.Data)
			}
			at := fmt.Sprint(m.ID, "/", c.Index)
			if c.ID != "" {
				call[at] = c.ID
			}
			args[call[at]] += c.Args
		}
	}
	turnOf, wantText, wantReasoning := map[string]string{}, map[string]string{}, map[string]string{}
	ended := map[string]bool{}
	for _, env := range events {
		switch e := env.Event.(type) {
		case event.ItemStarted:
			turnOf[e.Item] = e.Turn
		case event.BlockEnded:
			if r := turnOf[e.Item]; strings.HasPrefix(e.Item, "rs") {
				wantReasoning[r] += e.Value.Text
			} else if r != "" {
				wantText[r] += e.Value.Text
			}
		case event.ItemEnded:
			if c, ok := e.Item.(interface{ ItemID() string }); ok {
				raw, _ := json.Marshal(c)
				var call struct {
					ID   string `json:"call_id"`
					Args string `json:"arguments"`
				}
				if json.Unmarshal(raw, &call) == nil && call.Args != "" && args[call.ID] != call.Args {
					t.Fatalf("call %s: got %q, want %q", call.ID, args[call.ID], call.Args)
				}
			}
		case event.TurnEnded:
			ended[e.Turn] = true
			if !e.Usage.IsZero() && usage[e.Turn] != 1 {
				t.Fatalf("usage of %s was told %d times", e.Turn, usage[e.Turn])
			}
		}
	}
	for id := range ended {
		if text[id] != wantText[id] || reasoning[id] != wantReasoning[id] {
			t.Fatalf("message %s: got %q and %q, want %q and %q", id, text[id], reasoning[id], wantText[id], wantReasoning[id])
		}
	}
}

// The same frames come out whether the events come from memory or were written and read back.
func TestEventsReadBackGiveTheSameFrames(t *testing.T) {
	for name, r := range stories(t) {
		o := langgraph.Options{Modes: langgraph.All, Subgraphs: true, States: r}
		want := project(t, r.Events, o)
		read := make([]event.Envelope, len(r.Events))
		for i := range r.Events {
			raw, err := r.Events[i].AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &read[i]); err != nil {
				t.Fatal(err)
			}
		}
		if got := project(t, read, o); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the frames differ", name)
		}
	}
}

// A reader that copies frames as they come gets what one gets who keeps them.
func TestReusedMemoryHoldsTheSameFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := transcripttest.Runs(transcripttest.Size{Depth: 2, Width: 3, Turns: 3, Budget: 4, Fragment: 40}).Draw(t, "run")
		o := langgraph.Options{Modes: langgraph.Modes(rapid.IntRange(1, int(langgraph.All)).Draw(t, "modes")), Subgraphs: true, States: anyState{}}
		p := langgraph.New(o)
		p.Reuse()
		for i, want := range project(t, events, o) {
			got, err := p.Project(nil, &events[i])
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("event %d, modes %b\n got %q\nwant %q", i, o.Modes, got, want)
			}
		}
	})
}
