package lead_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// Removing the middleware "todos" fails this: there is no list, no plan and no reminder.
func TestTodosAreStateAndAPlanThatPeopleSeeChange(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("t1", lead.TodosTool, `{"todos":[{"content":"look","status":"in_progress"},{"content":"tell","status":"pending"}]}`),
		scripted.Call("t2", lead.TodosTool, `{"todos":[{"content":"look","status":"completed"},{"content":"tell","status":"in_progress"}]}`),
		scripted.Say("Done."))
	w := newWorld(t, m, `{"is_plan_mode":true}`, lead.Options{})
	w.say("Plan it.")
	want := []lead.Todo{{Content: "look", Status: "completed"}, {Content: "tell", Status: "in_progress"}}
	if got := get(w, lead.Todos); !reflect.DeepEqual(got, want) {
		t.Errorf("got todos %+v, want %+v", got, want)
	}
	plans := eventsOf[event.PlanUpdated](w)
	if len(plans) != 2 || plans[0].Steps[0].Status != "running" || plans[1].Steps[0].Status != "done" || plans[1].Steps[1].Title != "tell" {
		t.Errorf("people were told of %+v", plans)
	}
}

// Removing the middleware "durable" fails this.
func TestTodosAndDelegationsAreBroughtToMindWhenOlderMessagesAreLeftOut(t *testing.T) {
	m := scripted.Always(scripted.Say("Yes."))
	m.Record = true
	w := newWorld(t, m, `{"is_plan_mode":true}`, lead.Options{})
	w.execute(graph.Execution{Input: json.RawMessage(`{"messages":[{"type":"human","id":"old","content":"Begin."},{"type":"ai","id":"said","content":"I begin."},{"type":"human","content":"Go on."}],
		"todos":[{"content":"tell","status":"pending"}],"delegations":[{"id":"c1","subagent_type":"researcher","description":"rivers","status":"success","result":"They rise."}],
		"summary":{"text":"We began.","tokens":3,"upto":"said"}}`)})
	var shown string
	for _, msg := range m.Requests()[0].Messages {
		shown += msg.Text()
	}
	for _, want := range []string{"We began.", "todo [pending] tell", "rivers was given to researcher (success): They rise."} {
		if !strings.Contains(shown, want) {
			t.Errorf("the model was shown %q, which lacks %q", shown, want)
		}
	}
	if strings.Contains(shown, "I begin.") || len(w.messages()) != 4 {
		t.Errorf("the model was shown %q; the thread has %d messages, want 4", shown, len(w.messages()))
	}
}

// Removing the middleware "title" fails this.
func TestATitleIsTheBeginningOfWhatWasAskedFirst(t *testing.T) {
	for asked, want := range map[string]string{
		"Hello":                               "Hello",
		"What is the weather in Paris today?": "What is the weather in Paris…",
		"  two\n words? ":                     "two words",
		strings.Repeat("永", 80):               strings.Repeat("永", 59) + "…",
		"?":                                   "",
	} {
		w := newWorld(t, scripted.Always(scripted.Say("Yes.")), `{}`, lead.Options{})
		w.say(asked)
		w.say("something else")
		want := want
		if want == "" {
			want = "something else"
		}
		if got := get(w, lead.Title); got != want {
			t.Errorf("%q is called %q, want %q", asked, got, want)
		}
	}
}

func TestATitleThatSomebodyGaveStays(t *testing.T) {
	w := newWorld(t, scripted.Always(scripted.Say("Yes.")), `{}`, lead.Options{})
	w.execute(graph.Execution{Input: json.RawMessage(`{"messages":[{"type":"human","content":"Hi."}],"title":"Mine"}`)})
	if got := get(w, lead.Title); got != "Mine" {
		t.Errorf("it is called %q", got)
	}
}

// Removing the middleware "thread_data" fails this; removing "state" leaves the artifacts out.
func TestAFileIsWrittenAndPresented(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("w1", "write_file", `{"path":"/mnt/user-data/outputs/a.md","content":"hello"}`),
		scripted.Parallel(item.ToolCall{CallID: "p1", Name: "present_files", Arguments: `{"filepaths":["/mnt/user-data/outputs/a.md"]}`},
			item.ToolCall{CallID: "p2", Name: "present_files", Arguments: `{"filepaths":["/mnt/user-data/outputs/a.md"]}`}),
		scripted.Say("There."))
	w := newWorld(t, m, `{}`, lead.Options{}, files.Tools(files.Options{})...)
	w.folder = t.TempDir()
	w.say("Write.")
	if got := get(w, lead.Artifacts.Field); !slices.Equal(got, []string{"/mnt/user-data/outputs/a.md"}) {
		t.Errorf("artifacts are %q", got)
	}
	if got := get(w, lead.ThreadData); got == nil || got.Outputs != "/mnt/user-data/outputs" {
		t.Errorf("the folders are %+v", got)
	}
}

// Removing the middleware "model_settings" fails this.
func TestACustomAgentSetsWhatItWantsOfModelCalls(t *testing.T) {
	temp := 0.25
	m := scripted.Always(scripted.Say("Yes."))
	m.Record = true
	w := newWorld(t, m, `{"agent_name":"cool"}`, lead.Options{Agents: agents{{Name: "cool", Temp: &temp, MaxTokens: 99, Soul: "You are cool."}}})
	w.say("Hi.")
	if r := m.Requests()[0]; r.Temp == nil || *r.Temp != temp || r.MaxTokens != 99 || !strings.Contains(r.System, "You are cool.") {
		t.Errorf("the model was asked %+v", r)
	}
}

// askedOf is what a model was asked first, without what the program added.
func askedOf(r model.Request) string {
	var text string
	for _, b := range r.Messages[0].Content {
		if !strings.HasPrefix(b.Text, "<system-reminder>") {
			text += b.Text
		}
	}
	return text
}

// team is a model that delegates, and answers as whoever it is asked to be.
func team(t testing.TB, w **world, calls ...item.ToolCall) model.Model {
	return scripted.New(func(r model.Request) scripted.Script {
		asked := askedOf(r)
		switch {
		case asked == "wait":
			return scripted.Say("I wait.").Do(func(ctx context.Context) error {
				if !(*w).control.CancelTask("c2") {
					t.Error("it works and cannot be cancelled")
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
		case asked != "Go.":
			return scripted.Say("I did " + asked)
		case r.Messages[len(r.Messages)-1].Role == item.Tool:
			return scripted.Say("All done.")
		}
		return scripted.Parallel(calls...)
	})
}

func task(id, kind, prompt string) item.ToolCall {
	return item.ToolCall{CallID: id, Name: lead.TaskTool, Arguments: fmt.Sprintf(`{"description":"work %s","prompt":%q,"subagent_type":%q}`, id, prompt, kind)}
}

func TestSubAgentsWorkBesideEachOtherAndOneIsCancelledAlone(t *testing.T) {
	var w *world
	m := team(t, &w, task("c1", "general-purpose", "this"), task("c2", "researcher", "wait"), task("c3", "writer", "that"), task("c4", "writer", "x"))
	w = newWorld(t, m, `{"subagent_enabled":true}`, lead.Options{Agents: agents{{Name: "writer", Description: "Writes."}}}, testTools()...)
	w.say("Go.")
	got := get(w, lead.Delegations)
	want := []lead.Delegation{
		{ID: "c1", Agent: "general-purpose", Description: "work c1", Status: event.Success, Result: "I did this"},
		{ID: "c2", Agent: "researcher", Description: "work c2", Status: event.Cancelled, Result: `agent "researcher" failed: it was cancelled`},
		{ID: "c3", Agent: "writer", Description: "work c3", Status: event.Success, Result: "I did that"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the ledger has %+v\nwant %+v", got, want)
	}
	if !strings.Contains(w.result("c4"), "3 at once are the limit") {
		t.Errorf("the fourth one: %q", w.result("c4"))
	}
}

func TestSubAgentsAreLimitedInNumberTimeAndTools(t *testing.T) {
	var w *world
	m := team(t, &w, task("c1", "slow", "this"), task("c2", "general-purpose", "that"), task("c3", "general-purpose", "more"))
	w = newWorld(t, m, `{"subagent_enabled":true,"max_total_subagents":2}`, lead.Options{Agents: agents{{Name: "slow", Timeout: time.Nanosecond}}}, testTools()...)
	w.say("Go.")
	var ended []string
	for _, d := range get(w, lead.Delegations) {
		ended = append(ended, string(d.Status))
	}
	refused := 0
	for _, id := range []string{"c1", "c2", "c3"} {
		if strings.Contains(w.result(id), "are the limit for one question") {
			refused++
		}
	}
	if refused != 1 || len(ended) != 2 {
		t.Errorf("%d were refused and %q ended; want one and two", refused, ended)
	}
	a, err := assemble(t, lead.Run{ID: "run", Configurable: json.RawMessage(`{"subagent_enabled":true}`)}, lead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Subagents {
		if s.Name == "researcher" && slices.Contains(s.Tools, "write_file") || slices.Contains(s.Tools, lead.TaskTool) {
			t.Errorf("%s has %v", s.Name, s.Tools)
		}
	}
}

func TestASubAgentThatTakesTooLongIsToldAsSuch(t *testing.T) {
	var w *world
	m := scripted.New(func(r model.Request) scripted.Script {
		if askedOf(r) != "Go." {
			return scripted.Stall()
		}
		if r.Messages[len(r.Messages)-1].Role == item.Tool {
			return scripted.Say("All done.")
		}
		return scripted.Parallel(task("c1", "slow", "this"))
	})
	w = newWorld(t, m, `{"subagent_enabled":true}`, lead.Options{Agents: agents{{Name: "slow", Timeout: time.Millisecond}}})
	w.say("Go.")
	if got := get(w, lead.Delegations); len(got) != 1 || got[0].Status != event.TimedOut || !strings.Contains(got[0].Result, "longer than 1ms") {
		t.Errorf("the ledger has %+v", got)
	}
}

// What a person approved within a sub-agent counts for the thread, and the other way round; files that it presents are the thread's.
func TestSubAgentsShareWhatWasApprovedAndPresented(t *testing.T) {
	m := scripted.New(func(r model.Request) scripted.Script {
		n := 0
		for _, msg := range r.Messages {
			if msg.Role == item.Tool {
				n++
			}
		}
		switch asked := askedOf(r); {
		case asked == "Go." && n == 0:
			return scripted.Parallel(task("c1", "general-purpose", "write"))
		case asked == "Go." && n == 1:
			return scripted.Call("w2", "write_file", `{"path":"/mnt/user-data/outputs/b.md","content":"hello"}`)
		case asked == "write" && n == 0:
			return scripted.Call("w1", "write_file", `{"path":"/mnt/user-data/outputs/a.md","content":"hello"}`)
		case asked == "write" && n == 1:
			return scripted.Call("p1", "present_files", `{"filepaths":["/mnt/user-data/outputs/a.md"]}`)
		}
		return scripted.Say("Done.")
	})
	w := newWorld(t, m, `{"subagent_enabled":true}`, rules(lead.Rule{Risk: tool.Writes, Do: lead.Ask}), files.Tools(files.Options{})...)
	w.folder = t.TempDir()
	w.say("Go.")
	if !strings.Contains(w.question(), "write_file") {
		t.Fatalf("asked %s", w.question())
	}
	w.answer(`"approve_for_thread"`)
	if w.res.Status != event.Success || !slices.Equal(get(w, lead.Approved.Field), []string{"write_file"}) || !slices.Equal(get(w, lead.Artifacts.Field), []string{"/mnt/user-data/outputs/a.md"}) {
		t.Errorf("%s, approved %q, artifacts %q", w.res.Status, get(w, lead.Approved.Field), get(w, lead.Artifacts.Field))
	}
}

// Two hundred runs at once, each with settings of its own, share a factory, tools and a model; none sees anything of another.
func TestRunsWithDifferentSettingsDoNotSeeEachOther(t *testing.T) {
	m := scripted.New(func(r model.Request) scripted.Script {
		var tools []string
		for _, tl := range r.Tools {
			tools = append(tools, tl.Name)
		}
		seen := fmt.Sprintf("%s|%v|%v|%v|%s", askedOf(r), slices.Contains(tools, lead.TodosTool), slices.Contains(tools, lead.TaskTool),
			slices.Contains(tools, lead.ClarifyTool), soulIn(r.System))
		return scripted.Say(seen).Usage(item.Usage{InputTokens: 1}) // counting would cost more than the runs
	})
	var custom agents
	for i := range 10 {
		custom = append(custom, lead.Definition{Name: fmt.Sprint("agent-", i), Soul: fmt.Sprintf("soul<%d>", i)})
	}
	shared := newWorld(t, m, "", lead.Options{Agents: custom}, testTools()...)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			plan, subs, quiet := i%2 == 0, i%3 == 0, i%5 == 0
			w := *shared
			w.mem = graph.NewMemory()
			w.run = lead.Run{ID: "run", Owner: fmt.Sprint(i), Configurable: json.RawMessage(fmt.Sprintf(
				`{"is_plan_mode":%v,"subagent_enabled":%v,"non_interactive":%v,"agent_name":"agent-%d"}`, plan, subs, quiet, i%10))}
			asked := fmt.Sprint("run ", i)
			w.say(asked)
			msgs := w.messages()
			want := fmt.Sprintf("%s|%v|%v|%v|soul<%d>", asked, plan, subs, !quiet, i%10)
			if got := msgs[len(msgs)-1].Text(); got != want {
				t.Errorf("run %d saw %q, want %q", i, got, want)
			}
			if got := get(&w, lead.Title); got != asked {
				t.Errorf("run %d is called %q", i, got)
			}
		})
	}
	wg.Wait()
}

func soulIn(system string) string {
	_, rest, _ := strings.Cut(system, "soul<")
	n, _, _ := strings.Cut(rest, ">")
	return "soul<" + n + ">"
}
