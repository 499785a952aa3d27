package story

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
)

// begins is when every story does.
var begins = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// The times that a model call is said to have taken, in microseconds.
const (
	firstMicros = 1000
	totalMicros = 2000
)

// canonical replaces what differs from one telling to the next. Ids are replaced in the encoded form, because they also
// stand inside of other strings: namespaces, ids of items, updates.
func canonical(t testing.TB, rec *Recording, edit func([]event.Envelope) []event.Envelope) *Recording {
	t.Helper()
	n := newNames(rec)
	out := &Recording{}
	for _, r := range rec.Runs {
		events := make([]event.Envelope, len(r.Events))
		for i := range r.Events {
			line, err := r.Events[i].AppendJSON(nil)
			if err == nil {
				err = json.Unmarshal(n.rename(line), &events[i])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if edit != nil {
			events = edit(events)
		}
		out.Runs = append(out.Runs, Run{string(n.rename([]byte(r.ID))), events})
	}
	setClocks(out)
	rename(t, n, rec.States, &out.States)
	rename(t, n, rec.Bases, &out.Bases)
	return out
}

func rename[T any](t testing.TB, n *names, from T, to *T) {
	t.Helper()
	raw, err := marshal(from)
	if err == nil {
		err = json.Unmarshal(n.rename(raw), to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// setClocks gives every event its time, and every model call the same.
func setClocks(rec *Recording) {
	at := begins
	for _, r := range rec.Runs {
		for i := range r.Events {
			r.Events[i].At = at
			at = at.Add(time.Millisecond)
			if e, ok := r.Events[i].Event.(event.TurnEnded); ok {
				e.FirstMicros, e.TotalMicros = firstMicros, totalMicros
				r.Events[i].Event = e
			}
		}
	}
}

// names gives ids readable names in the order in which they appear.
type names struct {
	roles map[string]string // what an id is the id of
	given map[string][]byte
	count map[string]int
}

// random matches the ids that the program makes of chance, clocks and hashes: UUIDs, turns, interrupts.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_[0-9a-v]{24}|\b[0-9a-f]{32}\b`)

func newNames(rec *Recording) *names {
	n := &names{roles: map[string]string{}, given: map[string][]byte{}, count: map[string]int{}}
	for _, r := range rec.Runs {
		for _, env := range r.Events {
			n.roles[env.Run], n.roles[env.Thread] = "run", "thread"
			switch e := env.Event.(type) { // those that make ids; one that is missing shows as an id without a role
			case event.CheckpointSaved:
				n.roles[e.ID] = "checkpoint"
			case event.NodeStarted:
				n.roles[e.Execution] = "exec"
			case event.TurnStarted:
				n.roles[e.Turn] = "msg"
			case event.InterruptRaised:
				n.roles[e.ID] = "interrupt"
			}
		}
	}
	for _, st := range rec.States {
		n.roles[st.ID] = "checkpoint"
		for _, d := range st.Due {
			n.roles[d.ID] = "exec"
		}
	}
	return n
}

// rename replaces all ids in a text. An id whose role nobody told is that of a sub-agent's graph, in a namespace.
func (n *names) rename(text []byte) []byte {
	return random.ReplaceAllFunc(text, func(id []byte) []byte {
		if name, ok := n.given[string(id)]; ok {
			return name
		}
		role := n.roles[string(id)]
		if role == "" {
			role = "child"
		}
		n.count[role]++
		name := fmt.Appendf(nil, "%s-%d", role, n.count[role])
		n.given[string(id)] = name
		return name
	})
}

// marshal is json.Marshal without its escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
