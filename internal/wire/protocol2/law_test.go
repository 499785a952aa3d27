package protocol2_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/item"
)

var everything = []string{"values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"}

// A stream that is cut after any frame and opened again with that frame's seq is the uncut one, for every filter.
func TestCutAnywhere(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, th := range threads(t) {
		events := th.events()
		for range 8 {
			f := protocol2.Filter{Channels: someOf(rnd, everything)}
			if rnd.IntN(2) == 0 {
				f.Namespaces = [][]string{{}}
				depth := rnd.IntN(2)
				f.Depth = &depth
			}
			uncut := filtered(project(t, events, protocol2.Options{States: th}), f)
			for k := range uncut {
				again := f
				again.Since = uncut[k].Seq
				resumed := append(slices.Clone(uncut[:k+1]), filtered(project(t, events, protocol2.Options{States: th, Only: &again}), again)...)
				if !reflect.DeepEqual(resumed, uncut) {
					t.Fatalf("%s, %v: cut after %d gives %d frames of %d", name, f, again.Since, len(resumed), len(uncut))
				}
			}
		}
	}
}

func someOf(rnd *rand.Rand, all []string) []string {
	list := slices.Clone(all)
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+rnd.IntN(len(list))]
}

func filtered(events []protocol2.Event, f protocol2.Filter) (out []protocol2.Event) {
	for i := range events {
		if f.Match(&events[i]) {
			out = append(out, events[i])
		}
	}
	return out
}

// A second run told by a projector that only knows how many frames came before is told the same.
func TestBaseStandsForTheRunsBefore(t *testing.T) {
	for name, th := range threads(t) {
		whole := project(t, th.events(), protocol2.Options{States: th})
		var parts []protocol2.Event
		base := uint64(0)
		for _, r := range th {
			p := protocol2.New(protocol2.Options{States: th, Base: base})
			for i := range r.Events {
				var err error
				if parts, err = p.Events(parts, &r.Events[i]); err != nil {
					t.Fatal(err)
				}
			}
			base = p.Seq()
		}
		if !reflect.DeepEqual(parts, whole) {
			t.Errorf("%s: told run by run it differs", name)
		}
	}
}

// anyState knows every checkpoint.
type anyState struct{}

func (anyState) State(_, id string) (protocol2.State, error) {
	return protocol2.State{ID: id, Parent: "before", Step: 1, Source: event.FromLoop, Values: json.RawMessage(`{"messages":[{"content":"hi","id":"h","type":"human"}],"n":1}`)}, nil
}

func (anyState) Base(string, string) (string, error) { return "base", nil }

func TestRandomThreadsKeepTheLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := transcripttest.Size{Depth: 2, Width: 3, Turns: 3, Budget: 4, Fragment: 4}
		first, second := transcripttest.Runs(size).Draw(t, "first"), transcripttest.Runs(size).Draw(t, "second")
		for i := range second { // also where both were drawn alike
			second[i].Run = "run_second"
		}
		events := slices.Concat(first, second)
		o := protocol2.Options{States: anyState{}}
		frames := project(t, events, o)
		only := &protocol2.Filter{Channels: []string{"lifecycle", "custom:progress"}}
		few := project(t, events, protocol2.Options{States: anyState{}, Only: only})
		if want := filtered(frames, *only); !reflect.DeepEqual(few, want) {
			t.Fatalf("a projection for few channels differs from the filtered one: %d and %d frames", len(few), len(want))
		}
		lawful(t, events, frames)
	})
}

// lawful checks the laws of the package comment that can be read off the frames.
func lawful(t *rapid.T, events []event.Envelope, frames []protocol2.Event) {
	open := map[string]bool{}
	// The only holes are those that the loss of power leaves, at most one for each.
	losses := 0
	for _, env := range events {
		if e, ok := env.Event.(event.AttemptStarted); ok && e.Cause == event.LostPower {
			losses++
		}
	}
	var last uint64
	for i, e := range frames {
		if losses > 0 && e.Seq == wire.BeyondLoss(last)+1 {
			losses--
			last = e.Seq - 1
		}
		if e.Seq != last+1 || e.ID != strconv.FormatUint(e.Seq, 10) {
			t.Fatalf("frame %d has seq %d and id %s after %d", i+1, e.Seq, e.ID, last)
		}
		last = e.Seq
		var f struct {
			EventID string `json:"event_id"`
			Seq     uint64
			Method  string
			Params  struct {
				Namespace []string
				Data      struct{ Event string }
			}
		}
		if err := json.Unmarshal(e.Data, &f); err != nil || strings.ContainsAny(string(e.Data), "\r\n") {
			t.Fatalf("frame %s is no line of JSON (%v): %s", e.ID, err, e.Data)
		}
		if f.EventID != e.ID || f.Seq != e.Seq || f.Method != e.Name || !slices.Equal(f.Params.Namespace, e.Namespace) {
			t.Fatalf("what a filter sees is not what the frame says: %s", e.Data)
		}
		at := strings.Join(e.Namespace, "|")
		switch {
		case e.Channel == "lifecycle" && at == "":
			if running := f.Params.Data.Event == "running"; running == open[""] {
				t.Fatalf("frame %s: the root is told %s", e.ID, f.Params.Data.Event)
			}
			open[""] = !open[""]
			if !open[""] && len(open) > 1 {
				t.Fatalf("the run ended before %v", open)
			}
		case e.Channel == "lifecycle":
			if started := f.Params.Data.Event == "started"; started == open[at] {
				t.Fatalf("frame %s: %s is told %s", e.ID, at, f.Params.Data.Event)
			}
			if open[at] {
				delete(open, at)
			} else {
				open[at] = true
			}
		case !open[at] || !open[""]:
			t.Fatalf("frame %s comes outside of the life of %q: %s", e.ID, at, e.Data)
		}
	}
	if open[""] || frames[len(frames)-1].Channel != "lifecycle" {
		t.Fatal("the last frame is not the end of the run")
	}
	sumOfParts(t, events, frames)
}

// sumOfParts assembles messages as the client does, and compares with what the journal says of each turn.
func sumOfParts(t *rapid.T, events []event.Envelope, frames []protocol2.Event) {
	got := map[string]map[int]string{} // by run and turn, by block
	finished := map[string]map[int]string{}
	usage := map[string]int{}
	speaks := map[string]string{} // the message that JavaScript's clients add a piece to, by namespace and node
	for _, e := range frames {
		if e.Channel != "messages" {
			continue
		}
		var f struct {
			Params struct {
				Node string
				Data struct {
					Event string
					ID    string
					Run   string `json:"run_id"`
					Index int
					Delta struct {
						Type, Text, Reasoning string
						Fields                struct{ Args string }
					}
					Content struct {
						Type, Text, Reasoning, ID string
						Args                      json.RawMessage
					}
				}
			}
		}
		if err := json.Unmarshal(e.Data, &f); err != nil {
			t.Fatal(err)
		}
		d := f.Params.Data
		voice := strings.Join(e.Namespace, "|") + "::" + f.Params.Node
		if d.Event == "message-start" {
			speaks[voice] = d.ID
		}
		if d.ID != d.Run || speaks[voice] != d.ID {
			t.Fatalf("a piece of %s at %s would be added to %q", d.ID, voice, speaks[voice])
		}
		switch d.Event {
		case "message-start":
			if got[d.Run] != nil && finished[d.Run] == nil {
				t.Fatalf("message %s starts twice", d.Run)
			}
			got[d.Run], finished[d.Run] = map[int]string{}, map[int]string{}
		case "content-block-start":
			if d.Index != len(got[d.Run]) {
				t.Fatalf("block %d of %s comes after %d others", d.Index, d.Run, len(got[d.Run]))
			}
			got[d.Run][d.Index] = ""
		case "content-block-delta":
			if d.Delta.Type == "block-delta" {
				got[d.Run][d.Index] = d.Delta.Fields.Args
			} else {
				got[d.Run][d.Index] += d.Delta.Text + d.Delta.Reasoning
			}
		case "usage":
			usage[d.Run]++
		case "content-block-finish":
			finished[d.Run][d.Index] = d.Content.Text + d.Content.Reasoning
			switch d.Content.Type {
			case "tool_call":
				finished[d.Run][d.Index] = string(d.Content.Args)
			case "invalid_tool_call":
				var args string
				if err := json.Unmarshal(d.Content.Args, &args); err != nil {
					t.Fatal(err)
				}
				finished[d.Run][d.Index] = args
			}
		case "message-finish":
			if fmt.Sprint(got[d.Run]) != fmt.Sprint(finished[d.Run]) {
				t.Fatalf("message %s: the deltas give %v, its blocks are %v", d.Run, got[d.Run], finished[d.Run])
			}
		}
	}
	for _, env := range events {
		if e, ok := env.Event.(event.TurnEnded); ok && !e.Usage.IsZero() && usage[e.Turn] == 0 {
			t.Fatalf("usage of %s was not told", e.Turn)
		}
	}
}

func TestVoidedTurnIsTold(t *testing.T) {
	th := threads(t)["flaky"]
	var told []string
	for _, e := range project(t, th.events(), protocol2.Options{States: th}) {
		if e.Channel == "custom" {
			told = append(told, string(e.Data))
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], `"data":{"payload":{"type":"message_superseded","id":"msg_`) {
		t.Errorf("got %q", told)
	}
}

func TestSubAgentIsANamespaceThatACallCaused(t *testing.T) {
	th := threads(t)["team"]
	var life []string
	for _, e := range project(t, th.events(), protocol2.Options{States: th}) {
		if e.Channel == "lifecycle" && len(e.Namespace) > 0 {
			var f struct {
				Params struct {
					Data struct {
						Event string
						Cause struct{ Type string }
					}
				}
			}
			if err := json.Unmarshal(e.Data, &f); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, part := range e.Namespace {
				name, _, _ := strings.Cut(part, ":")
				names = append(names, name)
			}
			life = append(life, strings.TrimSpace(strings.Join(names, "/")+" "+f.Params.Data.Event+" "+f.Params.Data.Cause.Type))
		}
	}
	want := []string{"tools started toolCall", "tools completed"}
	if !slices.Equal(life, want) {
		t.Errorf("got %q\nwant %q", life, want)
	}
}

func TestMessagesOfTheStateAreNotToldAgain(t *testing.T) {
	th := threads(t)["historian"]
	var ids []string
	for _, e := range project(t, th.events(), protocol2.Options{States: th}) {
		if _, rest, ok := strings.Cut(string(e.Data), `"event":"message-start",`); ok {
			_, rest, _ = strings.Cut(rest, `"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			ids = append(ids, id)
		}
	}
	if want := []string{"chronicle-1", "chronicle-3"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}

// Values are not read for a reader who wants none.
func TestStatesAreReadOnlyWhereTheyAreShown(t *testing.T) {
	for _, name := range []string{"chat", "tools", "subgraph", "approval"} {
		th := threads(t)[name]
		only := &protocol2.Filter{Channels: []string{"lifecycle", "input", "messages", "updates", "tools"}}
		project(t, th.events(), protocol2.Options{States: noValues{th}, Only: only})
	}
}

type noValues struct{ protocol2.States }

func (noValues) State(ns, id string) (protocol2.State, error) {
	return protocol2.State{}, fmt.Errorf("checkpoint %s of %q was read", id, ns)
}

// go test -run '^$' -bench Delta -benchmem
func BenchmarkDelta(b *testing.B) {
	p := protocol2.New(protocol2.Options{States: anyState{}})
	env := &event.Envelope{Epoch: 1, Run: "run", Thread: "thread", Node: "agent", Step: 1}
	var dst []protocol2.Event
	for _, e := range []event.Event{
		event.RunStarted{Attempt: 1, Graph: "chat"},
		event.NodeStarted{Execution: "268ce85d-e90d-57ce-bfd7-c1dcfc9d5d86"},
		event.TurnStarted{Turn: "msg_26e60487e53d4429ad00724a", Execution: "268ce85d-e90d-57ce-bfd7-c1dcfc9d5d86"},
		event.ItemStarted{Item: "msg_26e60487e53d4429ad00724a", Turn: "msg_26e60487e53d4429ad00724a", Type: item.TypeMessage},
		event.TextDelta{Item: "msg_26e60487e53d4429ad00724a", Text: " tokens"},
	} {
		env.Seq++
		env.Event = e
		var err error
		if dst, err = p.Events(dst[:0], env); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		env.Seq++
		var err error
		if dst, err = p.Events(dst[:0], env); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(dst[0].Data)))
	}
}
