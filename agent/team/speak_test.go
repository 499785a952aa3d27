package team_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// heard is what a request has of people's words, in order.
func heard(req model.Request) (words []string) {
	for _, m := range req.Messages {
		if strings.HasPrefix(m.ID, "spoken") {
			words = append(words, m.Text())
		}
		if _, said, ok := strings.Cut(m.Text(), "\n\n"); m.ID == "question" && ok {
			words = append(words, said)
		}
	}
	return words
}

func TestWordsReachTheNextTurnOfWhomTheyAreForAndTheLead(t *testing.T) {
	w := newWorld()
	say := func(id, to, text string) error {
		return w.control.Speak(t.Context(), event.Spoken{ID: id, To: to, Text: text})
	}
	var mu sync.Mutex
	turns := map[string][][]string{} // what each was shown in each turn
	m := scripted.New(func(req model.Request) scripted.Script {
		mu.Lock()
		defer mu.Unlock()
		name := who(req)
		turns[name] = append(turns[name], heard(req))
		switch {
		case name == "lead":
			if err := say("late", "", "Too late."); !errors.Is(err, graph.ErrNobodyListens) {
				t.Errorf("while the lead answers: %v, want that nobody listens", err)
			}
			return scripted.Words("All in all.")
		case name == "ada" && len(turns["ada"]) == 1:
			// She answers, and while she does somebody speaks to her, to all, and twice the same.
			for range 2 {
				if err := say("w1", "ada", "Mind the tides."); err != nil {
					t.Error(err)
				}
			}
			if err := say("w2", "", "Be brief."); err != nil {
				t.Error(err)
			}
			var told *event.Error
			if err := say("w3", "nobody", "Hm."); !errors.As(err, &told) || told.Code != graph.CodeInvalidInput || !strings.Contains(told.Message, "ada, ben") {
				t.Errorf("words for nobody: %v", err)
			}
			return scripted.Words("Rivers rise.")
		}
		return scripted.Words(fmt.Sprintf("%s has heard %d.", name, len(heard(req))))
	})
	g := build(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben"), Plan: []team.Phase{
		{ID: "one", Experts: []string{"ada"}}, {ID: "two", Experts: []string{"ben"}, DependsOn: []string{"one"}}, {ID: "three", Experts: []string{"ada"}, DependsOn: []string{"two"}},
	}})
	if err := say("early", "", "Hello?"); !errors.Is(err, graph.ErrNobodyListens) {
		t.Errorf("before the team: %v, want that nobody listens", err)
	}
	res, err := w.attempt(t.Context(), g, ask("go"))
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	frames := framesOf(t, w)
	if err := invariants(frames); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		"ada": "[[] [Mind the tides. Be brief.] [Mind the tides. Be brief.]]", // her second turn, and the one of the last phase
		"ben": "[[Be brief.]]",
	}
	for name, all := range want {
		if got := fmt.Sprint(turns[name]); got != all {
			t.Errorf("%s was shown %s, want %s", name, got, all)
		}
	}
	if said := turns["lead"][0]; len(said) != 1 || !strings.Contains(said[0], "(to Ada) Mind the tides.") || !strings.Contains(said[0], "\n\nBe brief.") {
		t.Errorf("the lead was shown %q", said)
	}
	// A page that is loaded anew shows what was said, once, and what she had answered before that is a step and no answer.
	var spoken []string
	for _, f := range of(frames, "team_spoken") {
		spoken = append(spoken, f.ID+" "+f.Expert+" "+f.Text)
	}
	if got := strings.Join(spoken, "; "); got != "w1 ada Mind the tides.; w2  Be brief." {
		t.Errorf("frames of words: %q", got)
	}
	resets := of(frames, "expert_result_chunk_reset")
	if len(resets) != 1 || resets[0].Cause != "spoken" || resets[0].Expert != "ada" {
		t.Errorf("resets %+v, want one because somebody spoke to ada", resets)
	}
	if !slices.ContainsFunc(of(frames, "expert_step"), func(f teamwire.Frame) bool { return f.Kind == "thought" && f.Text == "Rivers rise." }) {
		t.Error("what she had answered is no longer to be seen")
	}
	if r := of(frames, "expert_result")[0]; *r.Content != "ada has heard 2." {
		t.Errorf("her result is %q", *r.Content)
	}
	if got := answer(t, res); got != "All in all." {
		t.Errorf("answer %q", got)
	}
}

// The process dies after its n-th record, for every n, while somebody speaks to an expert who uses a tool. What was accepted is read by
// the expert, once; what was not may be said again, and is then.
func TestACrashAtAnyRecordLosesAndDoublesNoWords(t *testing.T) {
	type log struct {
		mu       sync.Mutex
		accepted map[string]bool
		last     []string // what Ada was shown in her latest turn
		lead     []string
	}
	world := func() (*world, *log, *graph.Graph) {
		w, l := newWorld(), &log{accepted: map[string]bool{}}
		m := scripted.New(func(req model.Request) scripted.Script {
			l.mu.Lock()
			defer l.mu.Unlock()
			if who(req) == "lead" {
				l.lead = heard(req)
				return scripted.Words("Done.")
			}
			l.last = heard(req)
			last := req.Messages[len(req.Messages)-1]
			for _, id := range []string{"w1", "w2"} { // said again and again, as by a client that got no reply
				if id == "w1" || last.Role != item.User || len(l.last) > 0 {
					if w.control.Speak(t.Context(), event.Spoken{ID: id, To: "ada", Text: "Heed " + id + "."}) == nil {
						l.accepted[id] = true
					}
				}
			}
			if len(l.last) == 0 {
				return scripted.Say("Looking.").Call("c", "look", `{"s":"x"}`)
			}
			return scripted.Words("It is so.")
		})
		return w, l, build(t, team.Options{Agent: agent.Options{Model: m, Tools: looking(t)}, Experts: experts("Ada"), Parallel: 1})
	}
	whole, said, g := world()
	if _, err := whole.attempt(t.Context(), g, ask("go")); err != nil {
		t.Fatal(err)
	}
	whole.lawful(t)
	if got := fmt.Sprint(said.last); got != "[Heed w1. Heed w2.]" {
		t.Fatalf("without a crash she was shown %s", got)
	}
	for n := range whole.full {
		w, said, g := world()
		w.restart(n)
		if _, err := w.attempt(t.Context(), g, ask("go")); !errors.Is(err, errDead) {
			t.Fatalf("%d: it outlived its death: %v", n, err)
		}
		promised := fmt.Sprint(len(said.accepted))
		w.restart(-1)
		if _, err := w.attempt(t.Context(), g, ask("go")); err != nil {
			t.Fatalf("%d: %v\n%s", n, err, w.dump())
		}
		w.lawful(t) // words twice in the journal are unlawful
		frames := framesOf(t, w)
		if err := invariants(frames); err != nil {
			t.Fatalf("%d: %v\n%s", n, err, w.dump())
		}
		if got := len(of(frames, "team_spoken")); got != len(said.accepted) {
			t.Errorf("%d: %d words in the journal, and %d were accepted (%s before the crash)", n, got, len(said.accepted), promised)
		}
		for id := range said.accepted {
			words := "Heed " + id + "."
			if times(said.last, words) != 1 && len(said.last) > 0 || strings.Count(strings.Join(said.lead, ""), words) != 1 && len(said.lead) > 0 {
				t.Errorf("%d: %s was accepted; she was shown %q, the lead %q", n, id, said.last, said.lead)
			}
		}
	}
}

func times(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func TestWhileAPlanWaitsForAPersonNobodyListens(t *testing.T) {
	w := newWorld()
	m := scripted.Always(scripted.Words("Aye."))
	g := build(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada"), Review: true})
	if res, err := w.attempt(t.Context(), g, ask("go")); err != nil || res.Status != event.Interrupted {
		t.Fatalf("%v %v", res.Status, err)
	}
	if err := w.control.Speak(t.Context(), event.Spoken{ID: "x", Text: "Hm."}); !errors.Is(err, graph.ErrNobodyListens) {
		t.Errorf("got %v, want that nobody listens", err)
	}
}

func looking(t testing.TB) *tool.Set {
	t.Helper()
	tools, err := tool.NewSet(tool.Repeatable(tool.Func("look", "Looks.", func(_ context.Context, in struct {
		S string `json:"s"`
	}) (string, error) {
		return "found " + in.S, nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	return tools
}
