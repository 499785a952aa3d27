package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/secret"
)

const canary = "canary-71be0d94c2"

// confidant is a graph that notes the secret that its run was given, as the builder and as the node get it, and then waits or asks.
func confidant(seen chan<- string, hold <-chan struct{}, ask bool) func(context.Context, run.Run) (*graph.Graph, error) {
	return func(_ context.Context, r run.Run) (*graph.Graph, error) {
		built, _ := r.Request.Secrets.Secret("KEY")
		g := graph.New("g")
		g.Node("use", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			value, _ := s.Secret("KEY")
			if strings.Contains(string(s.Config().Configurable)+string(s.Context()), canary) {
				value = "shown in the configuration"
			}
			if value != built {
				value += ", but built with " + built
			}
			seen <- value
			select {
			case <-hold:
			case <-ctx.Done():
				return graph.Command{}, context.Cause(ctx)
			}
			if ask {
				_, err := graph.Ask[string](s, "may I?")
				return graph.Command{}, err
			}
			return graph.Command{}, nil
		})
		g.Edge(graph.Start, "use")
		return g, g.Compile()
	}
}

func withBox(dir string) func(*run.Options) {
	return func(o *run.Options) { o.Secrets = secret.NewBox(dir) }
}

func confided(r *run.Request) {
	r.Context = json.RawMessage(`{"city":"Bern","secrets":{"KEY":"` + canary + `"}}`)
	r.Config = json.RawMessage(`{"tags":["x"],"configurable":{"mcp_settings":{"servers":{"s":{"url":"https://h/","headers":{"A":"` + canary + `"}}}}}}`)
}

// nowhere looks for the canary in all files of a folder, and in a value as it is printed.
func nowhere(t *testing.T, when, dir string, values ...any) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s: the secret is in %s", when, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if text := fmt.Sprintf("%+v %#v", v, v); strings.Contains(text, canary) {
			t.Errorf("%s: shown in %s", when, text)
		}
	}
}

// A run has the secrets of its request, also after its process was killed; they are stored nowhere but sealed, and not after its end.
func TestSecretsAreNotStoredWithTheRun(t *testing.T) {
	dir, hold, seen := t.TempDir(), make(chan struct{}), make(chan string, 4)
	w := open(t, dir, confidant(seen, hold, false), withBox(dir))
	r := w.start(newThread(), confided)
	if got := <-seen; got != canary {
		t.Errorf("the node sees %q", got)
	}
	nowhere(t, "while it runs", dir, r.Request.Context, r.Request.Config, r)
	if want := `{"configurable":{"mcp_settings":{"servers":{"s":{"url":"https://h/"}}}},"tags":["x"]}`; string(r.Request.Config) != want {
		t.Errorf("the config is %s, want %s", r.Request.Config, want)
	}
	w.faults.stopped.Store(true) // it is killed
	w.stop(0)

	w = open(t, dir, confidant(seen, hold, false), withBox(dir))
	if got := <-seen; got != canary {
		t.Errorf("after the crash the node sees %q", got)
	}
	nowhere(t, "after the crash", dir)
	close(hold)
	if r := w.wait(r.ID); r.Status != run.Success || !r.Request.Sealed {
		t.Errorf("the run is %+v", r)
	}
	if _, err := w.db.Secrets(t.Context(), r.ID); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("after the end they are still there: %v", err)
	}
	for _, env := range w.events(r.ID) {
		raw, err := json.Marshal(env)
		if err != nil || bytes.Contains(raw, []byte(canary)) {
			t.Errorf("an event: %s, %v", raw, err)
		}
	}
	w.stop(time.Second)
	nowhere(t, "after the end", dir)
}

// A run whose secrets are lost fails, and says what to do; it does not go on without them.
func TestARunWithoutItsKeyFails(t *testing.T) {
	dir, hold, seen := t.TempDir(), make(chan struct{}), make(chan string, 4)
	w := open(t, dir, confidant(seen, hold, false), withBox(dir))
	r := w.start(newThread(), confided)
	<-seen
	w.faults.stopped.Store(true)
	w.stop(0)
	if err := os.Remove(filepath.Join(dir, secret.KeyFile)); err != nil {
		t.Fatal(err)
	}
	w = open(t, dir, confidant(seen, hold, false), withBox(dir))
	defer w.stop(time.Second)
	if r := w.wait(r.ID); r.Status != run.Failed || r.Error.Code != "secrets_lost" {
		t.Errorf("the run is %s, %+v", r.Status, r.Error)
	}
	if len(seen) > 0 {
		t.Errorf("the node was executed, with %q", <-seen)
	}
}

// Who answers a run that asked goes on with what that was given; then it is gone.
func TestAnAnswerGoesOnWithTheSecrets(t *testing.T) {
	dir, hold, seen := t.TempDir(), make(chan struct{}), make(chan string, 4)
	close(hold)
	w := open(t, dir, confidant(seen, hold, true), withBox(dir))
	defer w.stop(time.Second)
	ctx := t.Context()
	if err := run.EnsureDefaults(ctx, w.db, []run.Assistant{{Graph: "g", CreatedAt: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	asked := w.wait(w.start(newThread(), confided).ID)
	<-seen
	open, err := w.e.Asked(ctx, me, asked.Thread)
	if err != nil || len(open) != 1 {
		t.Fatalf("it asks %v, %v", open, err)
	}
	next, err := w.e.Order(ctx, me, run.Order{Thread: asked.Thread, From: &asked, Answers: map[string]json.RawMessage{open[0].ID: json.RawMessage(`"yes"`)}})
	if err != nil {
		t.Fatal(err)
	}
	if r := w.wait(next.ID); r.Status != run.Success {
		t.Errorf("the answer's run is %s, %v", r.Status, r.Error)
	}
	if got := <-seen; got != canary {
		t.Errorf("the node that goes on sees %q", got)
	}
	for _, id := range []string{asked.ID, next.ID} {
		if _, err := w.db.Secrets(ctx, id); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("after the end they are still there: %v", err)
		}
	}
}

// What is kept and shown for good takes no secrets.
func TestSettingsThatAreKeptHaveNoSecrets(t *testing.T) {
	r := request(confided)
	var invalid *run.InvalidError
	for _, err := range []error{run.WithoutSecrets(r.Config, nil), run.WithoutSecrets(nil, r.Context)} {
		if !errors.As(err, &invalid) || strings.Contains(err.Error(), canary) {
			t.Errorf("got %v, want that it is refused", err)
		}
	}
	if err := run.WithoutSecrets(json.RawMessage(`{"configurable":{"model":"x"}}`), json.RawMessage(`{"city":"Bern"}`)); err != nil {
		t.Error(err)
	}
}
