package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestBreakerLeavesAFailingModelAloneAndProbesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := false
		m := scripted.New(func(model.Request) scripted.Script {
			if works {
				return scripted.Say("back")
			}
			return scripted.Fail(broken(model.Overloaded, 0))
		})
		opts := agent.CallOptions{Policy: agent.Policy{Tries: 1}, Breakers: &agent.Breakers{Failures: 3, Rest: time.Minute}}
		for range 3 {
			if _, _, err := call(t, m, model.Request{}, opts); err == nil {
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
		opts := agent.CallOptions{Policy: agent.Policy{Tries: 1}, Breakers: &agent.Breakers{Failures: 1, Rest: time.Minute}}
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
		opts := agent.CallOptions{Policy: agent.Policy{Tries: 1}, Breakers: &agent.Breakers{Failures: 1, Rest: time.Minute}}
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
