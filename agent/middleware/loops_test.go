package middleware_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// stubborn calls the same tool until it may not, and then says so.
func stubborn(args func(n int) string, heeds bool) *scripted.Model {
	n := 0
	m := scripted.New(func(req model.Request) scripted.Script {
		if req.Choice == "none" && heeds {
			return scripted.Say("I give up.")
		}
		n++
		return scripted.Call("", "say", args(n))
	})
	m.Record = true
	return m
}

func failures(msgs []item.Message) int {
	n := 0
	for _, m := range msgs {
		if m.Failed {
			n++
		}
	}
	return n
}

func TestStopLoopsWarnsAtThreeAndStopsAtFive(t *testing.T) {
	m := stubborn(func(n int) string { return []string{`{"s":"same"}`, `{ "s": "same" }`}[n%2] }, true)
	th := newThread(t)
	msgs := th.say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.StopLoops(middleware.LoopOptions{}))}, "go")
	if want := []string{"loop_warning", "loop_warning", "loop_stopped"}; !slices.Equal(th.warnings(), want) {
		t.Errorf("warned %q, want %q", th.warnings(), want)
	}
	if m.Calls() != 6 || failures(msgs) != 1 || msgs[len(msgs)-1].Text() != "I give up." {
		t.Errorf("%d model calls, %d refused, ended with %q; want 6, 1", m.Calls(), failures(msgs), msgs[len(msgs)-1].Text())
	}
	for i, req := range m.Requests() {
		last := req.Messages[len(req.Messages)-1].Text()
		if warned := strings.Contains(last, "turn in circles") || strings.Contains(last, "turning in circles") || strings.Contains(last, "turned in circles"); warned != (i >= 3) {
			t.Errorf("request %d ends with %q", i, last)
		}
	}
	// A new question begins anew.
	m2 := scripted.Sequence(scripted.Call("", "say", `{"s":"same"}`), scripted.Say("ok"))
	th.say(agent.Options{Model: m2, Tools: toolset(t, echo("say")), Middleware: chain(middleware.StopLoops(middleware.LoopOptions{}))}, "again")
	if len(th.warnings()) > 0 {
		t.Errorf("the next question warned %q", th.warnings())
	}
}

func TestStopLoopsCountsEachTool(t *testing.T) {
	m := stubborn(func(n int) string { return fmt.Sprintf(`{"s":"%d"}`, n) }, true)
	th := newThread(t)
	msgs := th.say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.StopLoops(middleware.LoopOptions{}))}, "go")
	if want := []string{"loop_warning", "loop_stopped"}; !slices.Equal(th.warnings(), want) || m.Calls() != 51 || failures(msgs) != 1 {
		t.Errorf("warned %q, %d model calls, %d refused; want %q, 51, 1", th.warnings(), m.Calls(), failures(msgs), want)
	}
}

func TestStopLoopsEndsAModelThatDoesNotHeed(t *testing.T) {
	m := stubborn(func(int) string { return `{"s":"same"}` }, false)
	th := newThread(t)
	msgs := th.say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.StopLoops(middleware.LoopOptions{}))}, "go")
	if last := msgs[len(msgs)-1].Text(); m.Calls() != 6 || failures(msgs) != 2 || !strings.HasPrefix(last, "I stop here: ") {
		t.Errorf("%d model calls, %d refused, ended with %q; want 6, 2", m.Calls(), failures(msgs), last)
	}
}
