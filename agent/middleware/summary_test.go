package middleware_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// long is a text of about so many tokens.
func long(word string, tokens int) string { return strings.Repeat(word+" ", tokens*4/(len(word)+1)) }

func TestSummariseShowsASummaryAndLeavesTheThread(t *testing.T) {
	writer := scripted.Always(scripted.Say("They spoke about rivers."))
	writer.Record = true
	talker := scripted.Always(scripted.Say("answer"))
	talker.Record = true
	o := agent.Options{Model: talker, Middleware: chain(middleware.Summarise(middleware.SummaryOptions{Model: writer, Trigger: 1000, Keep: 300}))}
	th := newThread(t)
	var want []string
	for i := range 12 {
		q := fmt.Sprint("q", i, " ", long("river", 150))
		want = append(want, "user: "+q, "assistant: answer")
		if got := texts(th.say(o, q)); !slices.Equal(got, want) {
			t.Fatalf("the thread people read became %q, want %q", got, want)
		}
	}
	s := value(th, middleware.SummaryField)
	if s.Text != "They spoke about rivers." || s.Upto == "" || s.Through != s.Upto || s.Tokens == 0 || s.Messages < 8 {
		t.Errorf("the state keeps %+v", s)
	}
	reqs := talker.Requests()
	last := reqs[len(reqs)-1]
	if len(last.Messages) > 14 || !strings.Contains(last.Messages[0].Text(), "They spoke about rivers.") || strings.Contains(seen(last), "q0 river") {
		t.Errorf("the model was shown %q", texts(last.Messages))
	}
	if n := len(writer.Requests()); n < 1 || n > 3 {
		t.Errorf("%d summaries were made of 12 turns", n)
	}
	if first := seen(writer.Requests()[0]); !strings.Contains(first, "Person: q0 river") || strings.Contains(first, "summary so far") {
		t.Errorf("the first summary was made of %q", first)
	}
	if n := len(writer.Requests()); n > 1 && !strings.Contains(seen(writer.Requests()[n-1]), "They spoke about rivers.") {
		t.Errorf("a later summary knows nothing of the one before: %q", seen(writer.Requests()[n-1]))
	}
}

func TestSummariseKeepsThePromptsBeginningBetweenSummaries(t *testing.T) {
	n := 0
	writer := scripted.New(func(model.Request) scripted.Script { n++; return scripted.Say(fmt.Sprint("Summary ", n)) })
	talker := scripted.Always(scripted.Say("answer"))
	talker.Record = true
	o := agent.Options{Model: talker, System: "Be brief.", Middleware: chain(middleware.Summarise(middleware.SummaryOptions{Model: writer, Trigger: 1400, Keep: 400}))}
	th := newThread(t)
	changes := 0
	for i := range 40 {
		made := n
		th.say(o, fmt.Sprint("q", i, " ", long("river", 100)))
		reqs := talker.Requests()
		if len(reqs) < 2 {
			continue
		}
		if n > made {
			changes++
			continue
		}
		extends(t, reqs[len(reqs)-2], reqs[len(reqs)-1])
	}
	if changes < 2 || changes > 5 {
		t.Errorf("%d summaries in 40 turns; the test wants some, with turns between", changes)
	}
}

// A summary in the midst of a long turn keeps the question and never parts a result from its call.
func TestSummariseWithinATurnKeepsTheQuestionAndPairs(t *testing.T) {
	writer := scripted.Always(scripted.Say("Much was looked up."))
	calls := 0
	talker := scripted.New(func(req model.Request) scripted.Script {
		if calls++; calls > 20 {
			return scripted.Say("Done.")
		}
		return scripted.Parallel(
			item.ToolCall{CallID: fmt.Sprint("a", calls), Name: "say", Arguments: fmt.Sprintf(`{"s":%q}`, long("x", 60))},
			item.ToolCall{CallID: fmt.Sprint("b", calls), Name: "say", Arguments: `{"s":"short"}`},
		)
	})
	talker.Record = true
	th := newThread(t)
	msgs := th.say(agent.Options{
		Model: talker, Tools: toolset(t, echo("say")),
		Middleware: chain(middleware.Summarise(middleware.SummaryOptions{Model: writer, Trigger: 1500, Keep: 500})),
	}, "What is the question?")
	if len(msgs) != 1+20*3+1 {
		t.Errorf("the thread has %d messages", len(msgs))
	}
	summarised := 0
	for i, req := range talker.Requests() {
		if !strings.Contains(seen(req), "What is the question?") {
			t.Errorf("request %d does not show the question: %q", i, texts(req.Messages))
		}
		if strings.Contains(seen(req), "Much was looked up.") {
			summarised++
		}
		open := map[string]bool{}
		for _, m := range req.Messages {
			for _, c := range m.ToolCalls {
				open[c.CallID] = true
			}
			if m.Role == item.Tool && !open[m.CallID] {
				t.Errorf("request %d has a result without its call: %s", i, m.CallID)
			}
			delete(open, m.CallID)
		}
		if len(open) > 0 {
			t.Errorf("request %d has calls without results: %v", i, open)
		}
	}
	if summarised == 0 {
		t.Error("nothing was summarised")
	}
	tasks := 0
	for _, env := range th.last {
		if e, ok := env.Event.(event.TaskStarted); ok && e.Agent == "summary" {
			tasks++
		}
	}
	if tasks == 0 || tasks > 6 {
		t.Errorf("%d calls of the summary are on record as their own", tasks)
	}
}

func TestSummariseThatFailsLeavesMessagesOutAndWarns(t *testing.T) {
	fails := true
	writer := scripted.New(func(model.Request) scripted.Script {
		if fails {
			return scripted.Fail(&model.Error{Class: model.BadRequest, Provider: "x", Message: "no"})
		}
		return scripted.Say("Told at last.")
	})
	writer.Record = true
	talker := scripted.Always(scripted.Say("answer"))
	talker.Record = true
	o := agent.Options{Model: talker, Middleware: chain(middleware.Summarise(middleware.SummaryOptions{Model: writer, Trigger: 1000, Keep: 300}))}
	th := newThread(t)
	turn, warned := 0, 0
	for ; warned == 0 && turn < 20; turn++ {
		th.say(o, fmt.Sprint("q", turn, " ", long("river", 150)))
		if slices.Contains(th.warnings(), "summary_failed") {
			warned++
		}
	}
	s := value(th, middleware.SummaryField)
	reqs := talker.Requests()
	last := reqs[len(reqs)-1]
	if warned == 0 || s.Text != "" || s.Upto == "" || s.Through != "" {
		t.Fatalf("warned %d times, the state keeps %+v", warned, s)
	}
	if strings.Contains(seen(last), "q0 river") || !strings.Contains(last.Messages[0].Text(), "left out") {
		t.Errorf("the model was shown %q", texts(last.Messages))
	}
	fails = false
	for ; s.Text == "" && turn < 40; turn++ {
		th.say(o, fmt.Sprint("q", turn, " ", long("river", 150)))
		s = value(th, middleware.SummaryField)
	}
	if material := seen(writer.Requests()[len(writer.Requests())-1]); s.Text != "Told at last." || s.Through != s.Upto || !strings.Contains(material, "Person: q0 river") {
		t.Errorf("the state keeps %+v, made of %.200q", s, material)
	}
}

// A thread whose messages were replaced is shown whole again.
func TestSummariseOfMessagesThatAreGoneIsNotShown(t *testing.T) {
	talker := scripted.Always(scripted.Say("answer"))
	talker.Record = true
	o := agent.Options{Model: talker, Middleware: chain(middleware.Summarise(middleware.SummaryOptions{Model: scripted.Always(scripted.Say("old things")), Trigger: 500, Keep: 100}))}
	th := newThread(t)
	for i := range 5 {
		th.say(o, fmt.Sprint("q", i, " ", long("river", 150)))
	}
	if _, err := th.run(o, item.Message{Role: item.Remove, ID: item.RemoveAll}, item.UserText("new", "Let us begin anew.")); err != nil {
		t.Fatal(err)
	}
	reqs := talker.Requests()
	if got := texts(reqs[len(reqs)-1].Messages); !slices.Equal(got, []string{"user: Let us begin anew."}) {
		t.Errorf("the model was shown %q", got)
	}
}

func TestSummariseSurvivesACrashAtEveryRecord(t *testing.T) {
	for n := 0; ; n++ {
		writer := scripted.Always(scripted.Say("In short."))
		talker := scripted.Always(scripted.Say("answer"))
		talker.Record = true
		o := agent.Options{Model: talker, Middleware: chain(middleware.Summarise(middleware.SummaryOptions{Model: writer, Trigger: 400, Keep: 100}))}
		build := func() *agentGraph { return graphOf(t, o) }
		var in []item.Message
		for i := range 6 {
			in = append(in, item.UserText(fmt.Sprint("u", i), long("river", 100)), item.AssistantText(fmt.Sprint("a", i), "yes"))
		}
		in = append(in, item.UserText("last", "And now?"))
		w := newWorld()
		w.restart(n)
		input := map[string]any{"messages": in}
		_, err := w.attempt(t.Context(), build(), input)
		whole := err == nil
		if !whole {
			w.restart(-1)
			if _, err := w.attempt(t.Context(), build(), input); err != nil {
				t.Fatalf("after %d records: %v", n, err)
			}
		}
		w.lawful(t)
		reqs := talker.Requests()
		if got := texts(reqs[len(reqs)-1].Messages); len(got) > 4 || !strings.Contains(got[0], "In short.") {
			t.Fatalf("after %d records the model was shown %q", n, got)
		}
		if whole {
			return
		}
	}
}
