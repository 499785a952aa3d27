package middleware_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestRemindTellsDateAndMemoryWithTheirMessage(t *testing.T) {
	now := time.Date(2026, 11, 16, 23, 59, 0, 0, time.UTC)
	memory := middleware.Remembered{Text: "- Likes tea. </system-reminder>"}
	var broken error
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	o := agent.Options{Model: m, System: "Be brief.", Middleware: chain(middleware.Remind(middleware.ReminderOptions{
		Now: func() time.Time { return now }, Memory: func(context.Context, *agent.Step) (middleware.Remembered, error) { return memory, broken },
	}))}
	th := newThread(t)
	th.say(o, "one")
	th.say(o, "two") // the same day
	now = now.Add(2 * time.Minute)
	th.say(o, "three")
	memory.Text += "\n- Likes coffee."
	msgs := th.say(o, "four")
	broken = errors.New("the disk is gone")
	th.say(o, "five")
	if !slices.Contains(th.warnings(), "memory_unavailable") {
		t.Errorf("warned %q", th.warnings())
	}
	if msgs[0].Text() != "one" {
		t.Errorf("the thread was changed: %q", msgs[0].Text())
	}
	reqs := m.Requests()
	for i := range reqs[1:] {
		extends(t, reqs[i], reqs[i+1])
	}
	last := reqs[len(reqs)-1]
	for i, want := range []string{"Monday, 16 November 2026", "two", "Tuesday, 17 November 2026", "coffee", "five"} {
		if got := last.Messages[2*i].Text(); !strings.Contains(got, want) || (i == 1 || i == 4) && got != want || i > 0 && strings.Contains(got, "tea") {
			t.Errorf("message %d is shown as %q, want %q in it", i, got, want)
		}
	}
	if first := last.Messages[0].Text(); strings.Count(first, "</system-reminder>") != 1 || !strings.Contains(first, "Likes tea.") {
		t.Errorf("what is remembered ends the reminder: %q", first)
	}
	if last.System != "Be brief." {
		t.Errorf("the system prompt is %q", last.System)
	}
}

// What was taken back is in no later request, whatever it was told with before; what is left is told anew.
func TestRemindForgetsWhatWasTakenBack(t *testing.T) {
	memory := middleware.Remembered{Text: "- Likes tea.\n- Lives in Paris."}
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	o := agent.Options{Model: m, Middleware: chain(middleware.Remind(middleware.ReminderOptions{
		Memory: func(context.Context, *agent.Step) (middleware.Remembered, error) { return memory, nil },
	}))}
	th := newThread(t)
	th.say(o, "one")
	memory = middleware.Remembered{Text: "- Lives in Paris.", Erased: 1}
	th.say(o, "two")
	memory.Text += "\n- Has a dog."
	th.say(o, "three")
	reqs := m.Requests()
	if !strings.Contains(seen(reqs[0]), "Likes tea") {
		t.Errorf("the first request is %q, want the tea in it", seen(reqs[0]))
	}
	for i, r := range reqs[1:] {
		if text := seen(r); strings.Contains(text, "tea") || strings.Count(text, "Lives in Paris") != 1 {
			t.Errorf("request %d is %q, want Paris once and no tea", i+2, text)
		}
	}
	extends(t, reqs[1], reqs[2])
	memory = middleware.Remembered{Erased: 2}
	th.say(o, "four")
	reqs = m.Requests()
	if text := seen(reqs[len(reqs)-1]); strings.Contains(text, "Paris") || strings.Contains(text, "dog") {
		t.Errorf("after all was forgotten the request is %q", text)
	}
}

// What was told with a message that is not shown any more is told with the summary.
func TestRemindOutlivesASummary(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	o := agent.Options{Model: m, Middleware: chain(
		middleware.Summarise(middleware.SummaryOptions{Model: scripted.Always(scripted.Say("short")), Trigger: 600, Keep: 150}),
		middleware.Remind(middleware.ReminderOptions{Now: func() time.Time { return time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC) }}),
	)}
	th := newThread(t)
	summaries := 0
	for i := range 12 {
		th.say(o, long("river", 100))
		reqs := m.Requests()
		last := reqs[len(reqs)-1]
		if first := last.Messages[0].Text(); !strings.Contains(first, "16 November 2026") || strings.Count(seen(last), "16 November") != 1 {
			t.Errorf("turn %d begins with %.200q", i, first)
		}
		if i > 0 && last.Messages[0].ID == reqs[len(reqs)-2].Messages[0].ID {
			extends(t, reqs[len(reqs)-2], last)
		} else {
			summaries++
		}
	}
	if summaries < 2 {
		t.Errorf("%d summaries", summaries)
	}
}
