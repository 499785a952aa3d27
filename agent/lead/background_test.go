package lead_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// elsewhere notes what it was asked to do, by several calls at once.
type elsewhere struct {
	mu        sync.Mutex
	started   []lead.Work
	cancelled []string
	status    event.Status
	err       error
}

func (e *elsewhere) Start(_ context.Context, w lead.Work) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, w)
	return w.Thread + ".work", e.err
}

func (e *elsewhere) Look(_ context.Context, _, _ string, t lead.BackgroundTask) (lead.BackgroundTask, error) {
	t.Status = e.status
	return t, e.err
}

func (e *elsewhere) Cancel(_ context.Context, _, _ string, t lead.BackgroundTask) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancelled = append(e.cancelled, t.ID)
	return e.err
}

func later(id string) item.ToolCall {
	return item.ToolCall{CallID: id, Name: lead.TaskTool, Arguments: `{"description":"work ` + id + `","prompt":"do it","subagent_type":"researcher","background":true}`}
}

func TestATaskInTheBackgroundIsBegunLookedAtAndCancelled(t *testing.T) {
	m := scripted.Sequence(
		scripted.Parallel(later("c1"), later("c2"), later("c3")), scripted.Parallel(later("c4")),
		scripted.Call("l1", lead.ListBackgroundTool, `{}`), scripted.Call("x1", lead.CancelBackgroundTool, `{"task_id":"c2"}`),
		scripted.Call("x2", lead.CancelBackgroundTool, `{"task_id":"c9"}`), scripted.Say("They work."))
	bg := &elsewhere{status: event.Success}
	w := newWorld(t, m, `{"subagent_enabled":true}`, lead.Options{})
	w.base.Background = bg
	w.say("Go.")
	if len(bg.started) != 3 || bg.started[0].Agent != "researcher" || bg.started[0].Prompt != "do it" || bg.started[0].Thread != "thread" || bg.started[0].Timeout == 0 {
		t.Errorf("begun were %+v", bg.started)
	}
	if !strings.Contains(w.result("c4"), "3 background tasks are at work, which is the limit") {
		t.Errorf("the fourth one: %q", w.result("c4"))
	}
	if got := w.result("l1"); !strings.Contains(got, "c1: researcher, success: work c1") {
		t.Errorf("listed was %q", got)
	}
	if !slices.Equal(bg.cancelled, []string{"c2"}) || !strings.Contains(w.result("x2"), `no background task "c9"`) {
		t.Errorf("cancelled were %q; the other: %q", bg.cancelled, w.result("x2"))
	}
	var states []string
	for _, task := range get(w, lead.BackgroundTasks) {
		states = append(states, task.ID+" "+string(task.Status)+" "+task.Thread)
	}
	if want := []string{"c1 running thread.work", "c2 cancelled thread.work", "c3 running thread.work"}; !slices.Equal(states, want) {
		t.Errorf("the state has %q, want %q", states, want)
	}
	if len(eventsOf[event.TaskStarted](w)) != 0 {
		t.Error("the run has sub-agents of its own")
	}
}

func TestWorkThatCannotBeBegunIsTheModelsToKnow(t *testing.T) {
	m := scripted.Sequence(scripted.Parallel(later("c1")), scripted.Say("It cannot be."))
	w := newWorld(t, m, `{"subagent_enabled":true}`, lead.Options{})
	w.base.Background = &elsewhere{err: errors.New("there is no room")}
	w.say("Go.")
	if got := w.result("c1"); !strings.Contains(got, "there is no room") || len(get(w, lead.BackgroundTasks)) != 0 {
		t.Errorf("the model was told %q; the state has %+v", got, get(w, lead.BackgroundTasks))
	}
}

func TestTheLatestOfABackgroundTaskCountsAndItsEndStays(t *testing.T) {
	m := scripted.Always(scripted.Say("Yes."))
	w := newWorld(t, m, `{}`, lead.Options{})
	w.run.Configurable = json.RawMessage(`{}`)
	for _, in := range []string{
		`[{"task_id":"a","subagent_type":"x","status":"running"},{"task_id":"b","subagent_type":"x","status":"running"}]`,
		`[{"task_id":"a","subagent_type":"x","status":"success","result":"r"}]`, `[{"task_id":"a","subagent_type":"x","status":"running"}]`,
	} {
		w.execute(executionOf(`{"messages":[{"type":"human","content":"go"}],"background_tasks":` + in + `}`))
	}
	got := get(w, lead.BackgroundTasks)
	if len(got) != 2 || got[0].Status != event.Success || got[0].Result != "r" || got[1].Ended() {
		t.Errorf("the state has %+v", got)
	}
}

// A run that is work for a sub-agent is that sub-agent: nobody is asked, and it delegates nothing.
func TestARunCanBeASubAgent(t *testing.T) {
	m := scripted.Always(scripted.Say("Yes."))
	m.Record = true
	w := newWorld(t, m, `{"subagent_enabled":true,"subagent_type":"researcher"}`, lead.Options{}, testTools()...)
	w.say("Find out.")
	r := m.Requests()[0]
	var names []string
	for _, tl := range r.Tools {
		names = append(names, tl.Name)
	}
	if !strings.Contains(r.System, "You are a researcher.") || slices.Contains(names, lead.TaskTool) || slices.Contains(names, lead.ClarifyTool) ||
		slices.Contains(names, "write_file") || !slices.Contains(names, "read_file") {
		t.Errorf("it is %q with %q", r.System, names)
	}
	_, err := w.factory.Graph(t.Context(), lead.Run{Configurable: json.RawMessage(`{"subagent_type":"nobody"}`)}, w.base)
	var wish *model.WishError
	if !errors.As(err, &wish) || wish.Setting != lead.SubagentKey {
		t.Errorf("a sub-agent that there is not: %v", err)
	}
}

func TestAModelNamesAThreadWhereTheInstallationWantsIt(t *testing.T) {
	for name, c := range map[string]struct {
		answer scripted.Script
		want   string
	}{
		"a name":  {scripted.Say("“Rivers of the North.”"), "Rivers of the North"},
		"nothing": {scripted.Fail(&model.Error{Class: model.BadRequest, Message: "no"}), "Which rivers are there"},
	} {
		m := scripted.New(func(r model.Request) scripted.Script {
			if strings.HasPrefix(r.System, "You name conversations") {
				return c.answer
			}
			return scripted.Say("Two.")
		})
		w := newWorld(t, m, `{}`, lead.Options{ModelTitles: true})
		w.say("Which rivers are there?")
		if got := get(w, lead.Title); got != c.want || w.res.Status != event.Success || len(w.messages()) != 2 {
			t.Errorf("%s: the thread is called %q (%s, %d messages), want %q", name, got, w.res.Status, len(w.messages()), c.want)
		}
	}
}
