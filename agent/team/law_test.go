package team_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// invariants holds a whole stream against the seven laws of a team's wire, as a client would read it.
func invariants(frames []teamwire.Frame) error {
	if len(frames) == 0 {
		return errors.New("there are no frames")
	}
	type column struct {
		text           strings.Builder
		attempt        int
		begun, results int
	}
	columns := map[string]*column{}
	at := func(f teamwire.Frame) *column {
		key := f.Phase + "." + f.Expert
		if strings.HasPrefix(f.Type, "team_synthesis") {
			key = "lead"
		}
		if columns[key] == nil {
			columns[key] = &column{attempt: 1}
		}
		return columns[key]
	}
	for i, f := range frames {
		if f.Sequence != uint64(i) {
			return fmt.Errorf("frame %d has the number %d", i, f.Sequence)
		}
		if (f.Type == "team_formed") != (i == 0) || (f.Type == "team_dissolved") != (i == len(frames)-1) {
			return fmt.Errorf("frame %d of %d is %s", i, len(frames), f.Type)
		}
		if !slices.Contains(teamwire.Types(), f.Type) {
			return fmt.Errorf("frame %d has the unknown type %q", i, f.Type)
		}
		switch f.Type {
		case "expert_step":
			if f.Kind == "started" && f.Task == f.Phase+"."+f.Expert {
				at(f).begun++
			}
		case "expert_result_chunk_reset", "team_synthesis_chunk_reset":
			c := at(f)
			if f.Attempt != c.attempt+1 {
				return fmt.Errorf("frame %d resets to attempt %d after %d", i, f.Attempt, c.attempt)
			}
			c.attempt = f.Attempt
			c.text.Reset()
		case "expert_result_chunk", "team_synthesis_chunk":
			c := at(f)
			if f.Attempt != c.attempt || c.results > 0 {
				return fmt.Errorf("frame %d is a chunk of attempt %d in attempt %d, after %d results", i, f.Attempt, c.attempt, c.results)
			}
			c.text.WriteString(f.Delta)
		case "expert_result", "team_synthesis":
			c := at(f)
			c.results++
			if f.Content == nil || *f.Content != c.text.String() {
				return fmt.Errorf("frame %d (%s %s): chunks %q, content %v", i, f.Expert, f.Phase, c.text.String(), f.Content)
			}
			if f.Status == event.Success && *f.Content == "" {
				return fmt.Errorf("frame %d: success without a text", i)
			}
		}
	}
	for key, c := range columns {
		if key == "lead" {
			if c.results != 1 {
				return fmt.Errorf("%d syntheses", c.results)
			}
			continue
		}
		if c.begun > 0 && c.results != 1 || c.begun == 0 && (c.results > 0 || c.text.Len() > 0) {
			return fmt.Errorf("%s began %d times and has %d results", key, c.begun, c.results)
		}
	}
	return nil
}

// script is what a random model does for its n-th call by somebody.
func script(r *rand.Rand, name string) scripted.Script {
	say := scripted.Words(fmt.Sprintf("%s says %d things.", name, r.IntN(100)))
	switch r.IntN(12) {
	case 0:
		return say.Fail(errBusy)
	case 1:
		return scripted.Fail(errBusy)
	case 2:
		return say.Fail(errKey)
	case 3:
		return scripted.Script{} // says nothing
	case 4:
		return say.Cut()
	case 5:
		return say.Panic("boom")
	case 6:
		return say.Fail(errors.New("an error of a class that nobody has heard of"))
	case 7:
		return say.Call("c", "nothing", `{}`)
	case 8:
		return scripted.Think("hm").Words(" Well.")
	}
	return say
}

// framesWithLateChunks has pieces of turns that are void come when nobody wants them any more.
func framesWithLateChunks(t fatal, r *rand.Rand, events []event.Envelope) []teamwire.Frame {
	items := map[string][]event.Envelope{} // of each turn
	var late, out []event.Envelope
	for _, env := range events {
		switch e := env.Event.(type) {
		case event.ItemStarted:
			items[e.Turn] = append(items[e.Turn], event.Envelope{Run: env.Run, Task: env.Task, Event: event.TextDelta{Item: e.Item, Text: "LATE"}})
		case event.TurnVoided:
			late = append(late, items[e.Turn]...)
		}
		out = append(out, env)
		for len(late) > 0 && r.IntN(3) == 0 {
			out = append(out, late[r.IntN(len(late))])
		}
	}
	return project(t, out)
}

// The seven laws hold for any team, whatever its models do, however often its process dies, and whenever somebody cancels.
func TestInvariantsHoldForRandomTeamsThatFailCrashAndAreCancelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "experts")
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("E%d", i))
		}
		o := team.Options{Experts: experts(names...), Agent: agent.Options{Policy: quick, MaxSteps: 3}}
		ids := func(label string) (some []string) {
			for _, name := range names {
				if rapid.Bool().Draw(t, label+name) {
					some = append(some, strings.ToLower(name))
				}
			}
			return some
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "phases") {
			p := team.Phase{ID: fmt.Sprintf("p%d", i), Title: "P", Experts: ids(fmt.Sprint("in", i))}
			for j := range i {
				if rapid.Bool().Draw(t, fmt.Sprint("needs", i, j)) {
					p.DependsOn = append(p.DependsOn, fmt.Sprintf("p%d", j))
				}
			}
			o.Plan = append(o.Plan, p)
		}
		w := newWorld()
		seed := rapid.Uint64().Draw(t, "seed")
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(seed, 1))
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		until := -1 // calls until somebody cancels
		if rapid.IntRange(0, 3).Draw(t, "cancelled") == 0 {
			until = rapid.IntRange(0, 30).Draw(t, "when")
		}
		o.Agent.Model = scripted.New(func(req model.Request) scripted.Script {
			mu.Lock()
			defer mu.Unlock()
			if until == 0 {
				cancel(&event.Error{Code: "cancelled", Message: "enough"})
			}
			until--
			if r.IntN(20) == 0 { // somebody cancels an expert, who may be the one that asks, or not there
				w.control.CancelTask(fmt.Sprintf("p%d.e%d", r.IntN(5), r.IntN(12)))
			}
			if r.IntN(8) == 0 { // somebody speaks, to one who may not be there, or again
				to := []string{"", "e0", "e1", "e11", "lead"}[r.IntN(5)]
				_ = w.control.Speak(context.Background(), event.Spoken{ID: fmt.Sprintf("w%d", r.IntN(6)), To: to, Text: "Heed this."})
			}
			return script(r, who(req))
		})
		g, err := team.New(o)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "crashes") {
			w.restart(rapid.IntRange(0, 400).Draw(t, "after"))
			if _, err := w.attempt(ctx, g, ask("go")); !errors.Is(err, errDead) {
				break
			}
		}
		if len(eventsOf[event.RunEnded](w)) == 0 {
			w.restart(-1)
			if _, err := w.attempt(ctx, g, ask("go")); errors.Is(err, errDead) {
				t.Fatal("it died without being told to")
			}
		}
		if err := lawsOf(w); err != nil {
			t.Fatalf("unlawful journal: %v\n%s", err, w.dump())
		}
		frames := framesOf(t, w)
		if err := invariants(frames); err != nil {
			t.Fatalf("%v\n%s", err, w.dump())
		}
		later := framesWithLateChunks(t, r, w.mem.Events())
		if err := invariants(later); err != nil {
			t.Fatalf("with late chunks: %v\n%s", err, w.dump())
		}
		if len(later) != len(frames) {
			t.Fatalf("%d frames with late chunks, and %d without", len(later), len(frames))
		}
	})
}
