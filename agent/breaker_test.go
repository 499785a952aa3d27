package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// from makes a call in a thread of its own.
func from(t *testing.T, thread string, m model.Model, opts agent.CallOptions) (item.Message, error) {
	t.Helper()
	w := newWorld()
	w.thread = thread
	res, err := w.attempt(t.Context(), caller(m, model.Request{}, opts), map[string]any{})
	if err != nil {
		return item.Message{}, err
	}
	return conversation(t, res)[0], nil
}

// impatient has a breaker whose rest is longer than anybody waits.
func impatient(failures int) agent.CallOptions {
	return agent.CallOptions{Policy: agent.Policy{Tries: 1, MaxWait: time.Second}, Breakers: &agent.Breakers{Failures: failures, Rest: time.Minute}}
}

func TestBreakerLeavesAFailingModelAloneAndProbesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := false
		m := scripted.New(func(model.Request) scripted.Script {
			if works {
				return scripted.Say("back")
			}
			return scripted.Fail(broken(model.Overloaded, 0))
		})
		opts := impatient(3)
		for _, thread := range []string{"a", "b", "c"} {
			time.Sleep(time.Second)
			if _, err := from(t, thread, m, opts); err == nil {
				t.Fatal("no error")
			}
		}
		_, _, err := call(t, m, model.Request{}, opts)
		if graph.ErrorOf(err).Code != "model_overloaded" || !strings.Contains(err.Error(), "left alone") || m.Calls() != 3 {
			t.Fatalf("the model was called %d times; %v", m.Calls(), err)
		}

		time.Sleep(time.Minute)
		call(t, m, model.Request{}, opts) // the probe, which fails
		call(t, m, model.Request{}, opts)
		if m.Calls() != 4 {
			t.Fatalf("after a failed probe the model was called: %d calls, want 4", m.Calls())
		}

		time.Sleep(time.Minute)
		works = true
		for range 2 {
			if _, _, err := call(t, m, model.Request{}, opts); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestOnlyOneCallProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		scripts := []scripted.Script{scripted.Fail(broken(model.Server, 0)), scripted.Wait(release).Say("back"), scripted.Say("fine")}
		m := scripted.Sequence(scripts...)
		opts := impatient(1)
		call(t, m, model.Request{}, opts)
		time.Sleep(time.Minute)
		probe := make(chan error)
		go func() {
			w := newWorld()
			_, err := w.attempt(context.Background(), caller(m, model.Request{}, opts), map[string]any{})
			probe <- err
		}()
		synctest.Wait()
		if _, _, err := call(t, m, model.Request{}, opts); err == nil || m.Calls() != 2 {
			t.Errorf("a second call went through while the first probes: %d calls, %v", m.Calls(), err)
		}
		close(release)
		if err := <-probe; err != nil {
			t.Error(err)
		}
		if _, msg, err := call(t, m, model.Request{}, opts); err != nil || msg.Text() != "fine" {
			t.Errorf("after the probe: %q, %v", msg.Text(), err)
		}
	})
}

// A cancelled probe says nothing about the model; the next call may probe.
func TestACancelledProbeMakesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.Sequence(scripted.Fail(broken(model.Server, 0)), scripted.Stall(), scripted.Say("back"))
		opts := impatient(1)
		call(t, m, model.Request{}, opts)
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := newWorld()
		if _, err := w.attempt(ctx, caller(m, model.Request{}, opts), map[string]any{}); err == nil {
			t.Fatal("no error")
		}
		if _, _, err := call(t, m, model.Request{}, opts); err != nil {
			t.Error(err)
		}
	})
}

// Refusing a bad request is what a healthy provider does.
func TestErrorsOfTheCallerDoNotOpenTheBreaker(t *testing.T) {
	m := scripted.Always(scripted.Fail(broken(model.BadRequest, 0)))
	opts := agent.CallOptions{Breakers: &agent.Breakers{Failures: 2}}
	for range 5 {
		call(t, m, model.Request{}, opts)
	}
	if m.Calls() != 5 {
		t.Errorf("%d calls, want 5", m.Calls())
	}
}

// One bad moment of the network is one failure, however many calls it met.
func TestThirtyRunsWhoseStreamsAreAllCutOnceAllSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs = 30
		var mu sync.Mutex
		tried := map[string]int{}
		m := scripted.New(func(r model.Request) scripted.Script {
			mu.Lock()
			defer mu.Unlock()
			if tried[r.User]++; tried[r.User] == 1 {
				return scripted.Say("half an ans").Cut()
			}
			return scripted.Say("all of it")
		})
		opts := agent.CallOptions{Breakers: &agent.Breakers{}}
		failed := make(chan error, runs)
		for i := range runs {
			go func() {
				w := newWorld()
				w.thread = fmt.Sprint(i)
				_, err := w.attempt(t.Context(), caller(m, model.Request{User: w.thread}, opts), map[string]any{})
				failed <- err
			}()
		}
		for range runs {
			if err := <-failed; err != nil {
				t.Errorf("a run whose stream was cut once failed: %v", err)
			}
		}
	})
}

func TestAnOpenBreakerIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.Sequence(scripted.Fail(broken(model.Server, 0)), scripted.Say("back"))
		opts := agent.CallOptions{Policy: agent.Policy{Tries: 1, MaxWait: time.Minute}, Breakers: &agent.Breakers{Failures: 1, Rest: 30 * time.Second}}
		if _, err := from(t, "a", m, opts); err == nil {
			t.Fatal("no error")
		}
		begun := time.Now()
		msg, err := from(t, "b", m, opts)
		if err != nil || msg.Text() != "back" || time.Since(begun) != 30*time.Second {
			t.Errorf("got %q, %v after %v, want an answer after the 30s that the model is left alone", msg.Text(), err, time.Since(begun))
		}
	})
}

// Those who wait go on as soon as one of them has found the model back.
func TestThoseWhoWaitHearTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs = 10
		scripts := []scripted.Script{scripted.Fail(broken(model.Server, 0)), scripted.Say("slow").Pause(5 * time.Second)}
		for range runs - 1 {
			scripts = append(scripts, scripted.Say("back"))
		}
		m := scripted.Sequence(scripts...)
		opts := agent.CallOptions{Policy: agent.Policy{Tries: 1, MaxWait: time.Minute}, Breakers: &agent.Breakers{Failures: 1, Rest: 30 * time.Second}}
		if _, err := from(t, "first", m, opts); err == nil {
			t.Fatal("no error")
		}
		begun := time.Now()
		done := make(chan error, runs)
		for i := range runs {
			go func() {
				_, err := from(t, fmt.Sprint(i), m, opts)
				done <- err
			}()
		}
		for range runs {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != 35*time.Second {
			t.Errorf("all were answered after %v, want 35s: the rest, and the answer of the one that tried", took)
		}
	})
}

func TestAModelThatIsLeftAloneIsNotWaitedForWhereAnotherIsAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, other := scripted.Always(scripted.Fail(broken(model.Server, 0))), scripted.Always(scripted.Say("I can"))
		opts := agent.CallOptions{Policy: agent.Policy{Tries: 1}, Breakers: &agent.Breakers{Failures: 1}}
		if _, err := from(t, "a", m, opts); err == nil {
			t.Fatal("no error")
		}
		begun := time.Now()
		opts.Fallbacks = []model.Model{named{other, "other"}}
		if msg, err := from(t, "b", m, opts); err != nil || msg.Text() != "I can" || time.Since(begun) != 0 || m.Calls() != 1 {
			t.Errorf("got %q, %v after %v; the failing model was called %d times", msg.Text(), err, time.Since(begun), m.Calls())
		}
	})
}

// named is a model under another name: breakers go by names.
type named struct {
	model.Model
	name string
}

func (n named) Describe() model.Info { return model.Info{Provider: n.name, Model: n.name} }

// A conversation that makes the provider fail by what it says is its own affair.
func TestOneThreadsFailuresDoNotOpenTheBreakerForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poisoned := true
		m := scripted.New(func(model.Request) scripted.Script {
			if poisoned {
				return scripted.Fail(broken(model.Server, 0))
			}
			return scripted.Say("fine")
		})
		opts := impatient(2)
		for range 10 {
			time.Sleep(time.Second)
			if _, err := from(t, "poisoned", m, opts); err == nil {
				t.Fatal("no error")
			}
		}
		poisoned = false
		begun := time.Now()
		if msg, err := from(t, "innocent", m, opts); err != nil || msg.Text() != "fine" || time.Since(begun) != 0 {
			t.Errorf("got %q, %v after %v, want an answer at once", msg.Text(), err, time.Since(begun))
		}
	})
}
