package graphs_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

func TestMessagesAreFoundInListsAndAloneInFieldsOfObjects(t *testing.T) {
	const human, tool = `{"type":"human","id":"h","content":"hi"}`, `{"type":"tool","id":"t","content":[],"tool_call_id":"c"}`
	for _, c := range []struct {
		raw  string
		want []string
	}{
		{`{"messages":[` + human + `,` + tool + `]}`, []string{"h", "t"}},
		{` { "one" : ` + human + ` , "n" : 1 } `, []string{"h"}},
		{`[{"a":` + human + `},{"b":[` + tool + `]}]`, []string{"h", "t"}},
		{`{"messages":[{"type":"human","content":"no id"},{"type":"remove","id":"r","content":""},{"id":"x","content":"no type"},{"type":"ai","id":"y"}]}`, nil},
		{`{"deep":{"messages":[` + human + `]}}`, nil},
		{`{"messages":[{"type":"human","id":7,"content":""}]}`, nil},
		{`{"messages":[` + human, nil},
		{`"content"`, nil},
		{``, nil},
	} {
		var got []string
		for _, m := range graphs.MessagesIn(json.RawMessage(c.raw)) {
			got = append(got, m.ID)
			if (m.ID == "t") != (m.Role == item.Tool && m.CallID == "c") {
				t.Errorf("%s: the message %q has role %q and call %q", c.raw, m.ID, m.Role, m.CallID)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.raw, got, c.want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"messages":[{"type":"ai","id":"a","content":"x"}]}`))
	f.Add([]byte(`[{"m":{"type":"\u0061i","id":"\ud83d\ude00","content":null}}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, m := range graphs.MessagesIn(raw) {
			var read struct{ ID string }
			if err := json.Unmarshal(m.Raw, &read); err != nil {
				t.Errorf("%q holds %q, which is no JSON: %v", raw, m.Raw, err)
			}
		}
	})
}

// The state before an input is not told; the one after it is, even if the input changed nothing.
func TestASpaceKnowsWhatWasWrittenSinceItsCheckpoint(t *testing.T) {
	sp := graphs.Spaces{}.At("")
	for i, c := range []struct {
		write        bool
		saved        event.CheckpointSaved
		wrote, first bool
	}{
		{false, event.CheckpointSaved{ID: "1", Source: event.FromInput, Changed: []string{"a"}}, false, false},
		{false, event.CheckpointSaved{ID: "2", Source: event.FromLoop}, false, true},
		{false, event.CheckpointSaved{ID: "3", Source: event.FromLoop}, false, false},
		{true, event.CheckpointSaved{ID: "4", Source: event.FromLoop}, true, false},
		{false, event.CheckpointSaved{ID: "5", Source: event.FromLoop, Changed: []string{"a"}}, true, false},
		{false, event.CheckpointSaved{ID: "6", Source: event.FromFork}, true, false},
	} {
		sp.Wrote = sp.Wrote || c.write
		wrote, first := sp.Reached(c.saved)
		if wrote != c.wrote || first != c.first || sp.Checkpoint != c.saved.ID || !sp.Begun {
			t.Errorf("%d: got wrote %v, first %v at %+v; want %v, %v at %s", i, wrote, first, *sp, c.wrote, c.first, c.saved.ID)
		}
	}
}

func TestAStateIsReadOnceAndNotBeforeThereIsOne(t *testing.T) {
	spaces, reads := graphs.Spaces{}, 0
	gone := errors.New("gone")
	read := func(_, checkpoint string) (graphs.State, error) {
		if reads++; reads == 1 {
			return graphs.State{}, gone
		}
		return graphs.State{Values: json.RawMessage(`"` + checkpoint + `"`)}, nil
	}
	if st, err := spaces.State("a", read); err != nil || string(st.Values) != "{}" || reads != 0 {
		t.Errorf("before there is a checkpoint: %+v, %v after %d reads", st, err, reads)
	}
	spaces.At("a").Stand("c1")
	if _, err := spaces.State("a", read); !errors.Is(err, gone) {
		t.Errorf("got error %v, want that of who reads", err)
	}
	for range 2 {
		if st, err := spaces.State("a", read); err != nil || string(st.Values) != `"c1"` || st.ID != "c1" || reads != 2 {
			t.Errorf("got %+v, %v after %d reads, want c1 after 2", st, err, reads)
		}
	}
	spaces.At("a").Stand("c2")
	if st, err := spaces.State("a", read); err != nil || st.ID != "c2" {
		t.Errorf("got %+v, %v at the next checkpoint, want c2", st, err)
	}
}

func TestWhatWritesNothingIsKnownInAllItsSpellings(t *testing.T) {
	for raw, want := range map[string]bool{"": false, "null": false, " {} ": false, "[]": false, `{"a":1}`: true, "[{}]": true} {
		if got := graphs.WroteSomething(json.RawMessage(raw)); got != want {
			t.Errorf("%q: got %v, want %v", raw, got, want)
		}
	}
}
