package catalogue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/catalogue"
	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// Every run begins with its assistant, nearly always with one of the system's, which nobody changes.
func TestTheSystemsAssistantsAreReadOnceAndOthersEachTime(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeOnce := sync.OnceValue(db.Close)
	defer closeOnce()
	s := &catalogue.Store{Backend: db, Agents: custom.New(dir)}
	system, alice := run.Identity{}, run.Identity{Owner: "alice"}
	for id, who := range map[string]run.Identity{"ours": system, "hers": alice} {
		if _, err := s.CreateAssistant(ctx, who, run.Assistant{ID: id, Graph: "g", Name: "before", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	name := func(id string) string {
		t.Helper()
		a, err := s.Assistant(ctx, alice, id)
		if err != nil {
			t.Fatal(err)
		}
		return a.Name
	}
	after := "after"
	rename := func(who run.Identity, id string) {
		t.Helper()
		if _, err := s.PatchAssistant(ctx, who, id, run.AssistantPatch{Name: &after}); err != nil {
			t.Fatal(err)
		}
	}
	if got := name("ours") + " " + name("hers"); got != "before before" {
		t.Errorf("the names are %q, want %q", got, "before before")
	}
	rename(alice, "hers")
	if got := name("hers"); got != after {
		t.Errorf("her own is %q after she changed it, want %q", got, after)
	}
	rename(system, "ours")
	if got := name("ours"); got != after {
		t.Errorf("the system's is %q after the system changed it, want %q", got, after)
	}
	if err := closeOnce(); err != nil {
		t.Fatal(err)
	}
	if got := name("ours"); got != after {
		t.Errorf("the system's, once read, is %q, want %q", got, after)
	}
	if _, err := s.Assistant(ctx, alice, "hers"); err == nil {
		t.Error("her own was not read from the database")
	}
}
