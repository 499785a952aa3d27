package protocol2_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// thread is the journal of each of its runs, with the states that they speak of. The files in testdata/journals were written
// by real runs; see TestJournalsForProtocol2 in package langgraph.
type thread []struct {
	Events []event.Envelope           `json:"events"`
	Bases  map[string]string          `json:"bases"`
	States map[string]protocol2.State `json:"states"` // by namespace, a space, and checkpoint
}

func load(t testing.TB, file string) thread {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var th thread
	if err := json.Unmarshal(raw, &th); err != nil {
		t.Fatal(err)
	}
	return th
}

func threads(t testing.TB) map[string]thread {
	t.Helper()
	files, err := filepath.Glob("testdata/journals/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no journals", err)
	}
	all := map[string]thread{}
	for _, f := range files {
		all[strings.TrimSuffix(filepath.Base(f), ".json")] = load(t, f)
	}
	return all
}

func (th thread) State(ns, id string) (protocol2.State, error) {
	for _, r := range th {
		if st, ok := r.States[ns+" "+id]; ok {
			return st, nil
		}
	}
	return protocol2.State{}, fmt.Errorf("checkpoint %q of %q is not known", id, ns)
}

func (th thread) Base(run, ns string) (string, error) {
	for _, r := range th {
		if r.Events[0].Run == run {
			return r.Bases[ns], nil
		}
	}
	return "", fmt.Errorf("run %q is not known", run)
}

// events is the concatenation of the thread's runs.
func (th thread) events() (all []event.Envelope) {
	for _, r := range th {
		all = append(all, r.Events...)
	}
	return all
}

type failer interface{ Fatal(...any) }

func project(t failer, events []event.Envelope, o protocol2.Options) []protocol2.Event {
	p := protocol2.New(o)
	var out []protocol2.Event
	for i := range events {
		var err error
		if out, err = p.Events(out, &events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
