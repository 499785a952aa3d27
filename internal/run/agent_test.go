package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// Law 10 with the real agent on the real engine: a worker that lost its lease runs no tool. The lease is lost at the worst
// moment, between the answer of the model and the tool; and the journal answers late, as on a slow disk, so that an agent
// that does not wait for it is found out.

// thief takes the lease of a run away just before something is written, and lets the write go on only when the tool has acted,
// or had the time to.
type thief struct {
	*meddler
	at    []byte // what must be in the write
	acted <-chan struct{}
	once  sync.Once
	stole atomic.Bool
	late  atomic.Bool // it acted all the same
}

func (s *thief) Append(ctx context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	for i := range groups {
		if bytes.Contains(groups[i].Chunk.Data, s.at) {
			s.once.Do(func() { s.steal(ctx) })
		}
	}
	if s.stole.Load() {
		select {
		case <-s.acted:
			s.late.Store(true)
		case <-time.After(300 * time.Millisecond):
		}
	}
	return s.meddler.Append(ctx, groups, sync)
}

func (s *thief) steal(ctx context.Context) {
	if err := s.DB.Abandon(ctx, run.LocalNode); err != nil {
		panic(err)
	}
	if runs, err := s.DB.Claim(ctx, "thief", time.Hour, 10, run.Between{Most: 100}); err != nil || len(runs) != 1 {
		panic(errors.Join(err, errors.New("nothing to steal")))
	}
	s.stole.Store(true)
}

func askAgent(r *run.Request) {
	r.Input = json.RawMessage(`{"messages":[{"type":"human","content":"go"}]}`)
}

func TestAWorkerThatLostItsLeaseRunsNoTool(t *testing.T) {
	var acted chan struct{} // of each case its own
	act := func() {
		select {
		case acted <- struct{}{}:
		default:
		}
	}
	calls := scripted.New(func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return scripted.Say("done")
		}
		return scripted.Say("let me see").Call("call_1", "act", `{}`)
	})
	set := func(tools ...tool.Tool) *tool.Set {
		s, err := tool.NewSet(tools...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	subTask := agent.Sub{Name: "act", Description: "acts", Options: agent.Options{Model: scripted.New(func(model.Request) scripted.Script {
		act()
		return scripted.Say("done")
	})}}
	plain := tool.Func("act", "acts", func(context.Context, struct{}) (string, error) {
		act()
		return "done", nil
	})
	for _, c := range []struct {
		name  string
		o     agent.Options
		begun bool // the call was begun by a process that died
	}{
		{"a call", agent.Options{Model: calls, Tools: set(plain)}, false},
		{"a call that may be repeated", agent.Options{Model: calls, Tools: set(tool.Repeatable(plain))}, false},
		{"a sub-agent", agent.Options{Model: calls, Subs: []agent.Sub{subTask}}, false},
		{"a begun call that may be repeated", agent.Options{Model: calls, Tools: set(tool.Repeatable(plain))}, true},
		{"a begun sub-agent", agent.Options{Model: calls, Subs: []agent.Sub{subTask}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			acted = make(chan struct{}, 1)
			dir, thread := t.TempDir(), newThread()
			build := func(context.Context, run.Run) (*graph.Graph, error) { return agent.New(c.o) }
			intention := []byte(`"call_id":"call_1","name":"act"`)
			at := intention
			if c.begun {
				beginAndDie(t, dir, thread, build, intention)
				at = []byte(`"attempt_started"`)
			}
			acted = make(chan struct{}, 1)
			s := &thief{meddler: &meddler{}, at: at, acted: acted}
			w := openThieved(t, dir, build, s)
			if !c.begun {
				w.start(thread, askAgent)
			}
			waitFor(t, func() bool { return s.stole.Load() && w.e.Active() == 0 })
			if s.late.Load() || len(acted) > 0 {
				t.Error("it acted after its worker had lost the lease")
			}
			w.stop(0)
		})
	}
}

// beginAndDie leaves a run behind whose tool call was begun and has no outcome.
func beginAndDie(t *testing.T, dir, thread string, build func(context.Context, run.Run) (*graph.Graph, error), intention []byte) {
	t.Helper()
	s := &mourner{meddler: &meddler{}, after: intention}
	w := openThieved(t, dir, build, s)
	w.start(thread, askAgent)
	waitFor(t, func() bool { return s.dead() && w.e.Active() == 0 })
	w.stop(0)
}

// mourner is a process that dies once something is written.
type mourner struct {
	*meddler
	after []byte
}

func (s *mourner) Append(ctx context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	refused, err := s.meddler.Append(ctx, groups, sync)
	for i := range groups {
		if bytes.Contains(groups[i].Chunk.Data, s.after) {
			s.stopped.Store(true)
			return nil, errDead
		}
	}
	return refused, err
}

// storeOf is a store that tests have put something in front of.
type storeOf interface {
	run.Store
	journal.Store
	below(*faultyStore)
}

func (m *meddler) below(s *faultyStore) { m.faultyStore = s }

func openThieved(t *testing.T, dir string, build func(context.Context, run.Run) (*graph.Graph, error), s storeOf) *world {
	t.Helper()
	w := &world{}
	var j *journal.Journal
	*w = *open(t, dir, build, func(o *run.Options) {
		s.below(o.Store.(*faultyStore))
		j = journal.Open(s, journal.Options{Poll: 20 * time.Millisecond})
		o.Store, o.Journal, o.Lease = s, j, time.Hour
	})
	w.j.Close()
	w.j = j
	return w
}

// A worker that lost its lease hears of it with its next heartbeat, whatever its node is waiting for.
func TestALeaseThatIsLostStopsTheRunWithTheNextHeartbeat(t *testing.T) {
	why := make(chan error, 1)
	began := make(chan struct{})
	w := open(t, t.TempDir(), single(oneNode(func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
		close(began)
		<-ctx.Done()
		why <- context.Cause(ctx)
		return graph.Command{}, ctx.Err()
	})), func(o *run.Options) { o.Lease, o.Poll = 300*time.Millisecond, time.Hour })
	defer w.stop(time.Second)
	w.start(newThread())
	<-began
	if err := w.db.Abandon(t.Context(), run.LocalNode); err != nil {
		t.Fatal(err)
	}
	if runs, err := w.db.Claim(t.Context(), "another", time.Hour, 10, run.Between{Most: 100}); err != nil || len(runs) != 1 {
		t.Fatalf("another worker claims %d runs, %v", len(runs), err)
	}
	select {
	case err := <-why:
		if !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the run was stopped because of %v, want ErrFenced", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("a run whose lease was lost goes on")
	}
}

// A cancel that comes when a run was claimed and has not begun is noted in the run's row, and nowhere else if it came from
// another node.
func TestACancelBetweenClaimAndStartIsNotLost(t *testing.T) {
	m := &meddler{}
	m.claimed = func(runs []run.Run) []run.Run {
		for _, r := range runs {
			if _, err := m.DB.RequestCancel(context.Background(), me, r.ID, run.StopRun); err != nil {
				t.Error(err)
			}
		}
		return runs
	}
	g := newGate()
	w := openMeddledIn(t, waiting(t, 1), single(oneNode(g.node)), m, func(o *run.Options) { o.Lease = time.Hour })
	defer w.stop(0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if r, err := w.e.Wait(ctx, me, "run-0"); err != nil || r.Status != run.Cancelled {
		t.Errorf("the run is %s, %v, want cancelled", r.Status, err)
	}
	if len(g.began) > 0 {
		t.Error("a run that was to be stopped has begun")
	}
}
