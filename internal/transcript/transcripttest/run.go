// Package transcripttest draws random runs that keep the laws of package event, for property tests of whatever
// reads journals.
//
// A run is a tree of agents. Each takes turns with reasoning, text that cites and parallel tool calls; some
// turns break and are tried again; some calls are sub-agents, which run beside each other, fail, are cancelled or
// start over; and the whole may succeed, fail, be cancelled, wait for a person, or crash in the middle and go on.
//
// rapid shrinks the size of a run. Within a size everything follows from one seed, because a draw per event
// would make a run of thousands of events too slow to be worth it.
package transcripttest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Size bounds a run.
type Size struct {
	Depth    int // of sub-agents below the root task
	Width    int // calls of one turn, which run in parallel
	Turns    int // of each task
	Budget   int // sub-agents of the whole run
	Fragment int // pieces of each text
}

// Large is the size that the laws are shown for: sub-agents four deep, twenty beside each other.
var Large = Size{Depth: 4, Width: 20, Turns: 3, Budget: 40, Fragment: 6}

// Journal is the events of a run from first to last.
type Journal []event.Envelope

// GoString is what rapid shows of a run that breaks a test: a line for each event, and not too many.
func (j Journal) GoString() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events", len(j))
	for i, env := range j {
		if i == 100 {
			b.WriteString("\n\t…")
			break
		}
		fmt.Fprintf(&b, "\n\t%d %s %s %.120v", env.Seq, env.Task, env.Event.Kind(), env.Event)
	}
	return b.String()
}

// Runs draws runs up to a size.
func Runs(most Size) *rapid.Generator[Journal] {
	return rapid.Custom(func(t *rapid.T) Journal {
		return Run(rapid.Uint64().Draw(t, "seed"), Size{
			Depth:    rapid.IntRange(0, most.Depth).Draw(t, "depth"),
			Width:    rapid.IntRange(0, most.Width).Draw(t, "width"),
			Turns:    rapid.IntRange(1, most.Turns).Draw(t, "turns"),
			Budget:   rapid.IntRange(0, most.Budget).Draw(t, "budget"),
			Fragment: rapid.IntRange(1, most.Fragment).Draw(t, "fragment"),
		})
	})
}

// Run makes the run of a seed and a size; the same ones give the same run.
func Run(seed uint64, size Size) Journal {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0)), size: size, budget: size.Budget}
	s := append(script{{"", event.RunStarted{Graph: "agent", Attempt: 1}}}, g.body("", 0)...)
	switch g.rand.IntN(6) {
	case 0:
		s = g.cut(s, "", false)
		if g.chance(50) { // the owner stops it while it asks
			s = append(s, g.question())
		}
		s = append(s, step{"", event.RunEnded{Status: event.Cancelled, Reason: "stopped by its owner"}})
	case 1:
		s = g.cut(s, "", g.rand.IntN(2) == 0) // a sweeper may end a run without tidying up
		s = append(s, step{"", event.RunEnded{Status: pick(g, event.Failed, event.TimedOut), Error: &event.Error{Code: "internal", Message: "it broke"}}})
	case 2:
		s = g.crash(s)
		s = append(s, step{"", event.RunEnded{Status: event.Success}})
	case 3:
		s = append(s, g.question(), step{"", event.RunEnded{Status: event.Interrupted}})
	default:
		s = append(s, step{"", event.RunEnded{Status: event.Success}})
	}
	if g.chance(20) {
		s = append(script{{"", event.RunQueued{}}}, s...)
	}
	return s.journal(fmt.Sprintf("run_%x", seed))
}

func (g *generator) question() step {
	return step{"", event.InterruptRaised{
		ID: g.id("int"), Value: []byte(`{"question":"go on?"}`), Ask: event.AskPlanReview, Options: []string{"yes", "no"},
	}}
}

// step is an event of a task, before it has a place in a journal.
type step struct {
	task string
	ev   event.Event
}

type script []step

// journal gives each step its place, and fills in the usage that ends repeat.
func (s script) journal(run string) Journal {
	parent := map[string]string{}
	sum := map[string]item.Usage{}
	spend := func(task string, u item.Usage) {
		for task != "" {
			sum[task] = sum[task].Plus(u)
			task = parent[task]
		}
		sum[""] = sum[""].Plus(u)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	out := make(Journal, len(s))
	for i, st := range s {
		switch e := st.ev.(type) {
		case event.TaskStarted:
			parent[st.task] = e.Parent
		case event.TurnEnded:
			spend(st.task, e.Usage)
		case event.TurnVoided:
			spend(st.task, e.Usage)
		case event.TaskEnded:
			e.Usage = sum[st.task]
			st.ev = e
		case event.RunEnded:
			e.Usage = sum[""]
			st.ev = e
		}
		ns := ""
		if st.task != "" { // a sub-agent is a graph of its own
			ns = "tools:" + st.task
		}
		out[i] = event.Envelope{
			Seq: uint64(i + 1), Epoch: 1, Run: run, Thread: "thread_1", Task: st.task, NS: ns, Node: "agent", Step: 1,
			At: start.Add(time.Duration(i) * time.Millisecond), Event: st.ev,
		}
	}
	return out
}

type generator struct {
	rand   *rand.Rand
	size   Size
	budget int
	ids    int
}

func (g *generator) id(prefix string) string {
	g.ids++
	return fmt.Sprintf("%s_%d", prefix, g.ids)
}

// upTo returns 0 … n.
func (g *generator) upTo(n int) int { return g.rand.IntN(n + 1) }

func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

func pick[T any](g *generator, from ...T) T { return from[g.rand.IntN(len(from))] }

// merge interleaves scripts that run beside each other.
func (g *generator) merge(scripts ...script) script {
	var out script
	var live []script
	for _, s := range scripts {
		if len(s) > 0 {
			live = append(live, s)
		}
	}
	for len(live) > 0 {
		i := g.rand.IntN(len(live))
		n := 1 + g.upTo(min(3, len(live[i])-1))
		out = append(out, live[i][:n]...)
		if live[i] = live[i][n:]; len(live[i]) == 0 {
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	return out
}
