package lead_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// asking is a model that asks, and then says what it was told.
func asking(args string) *scripted.Model {
	return scripted.Sequence(scripted.Call("ask", lead.ClarifyTool, args), scripted.Say("Thank you."))
}

func TestClarificationIsAnsweredInEveryFormThatFrontEndsSend(t *testing.T) {
	const choice = `{"question":"Which?","clarification_type":"approach_choice","options":["red","blue"]}`
	const form = `{"question":"Tell me.","fields":[{"name":"age","type":"number","required":true},{"name":"colour","label":"Your colour","type":"select","options":["red","blue"]},
		{"name":"when","type":"date"},{"name":"sure","type":"checkbox"},{"name":"tags","type":"multi_select","options":["a","b"]}]}`
	for name, c := range map[string]struct{ args, answer, want string }{
		"text":              {`{"question":"Who?"}`, `"me"`, "The person answered: me"},
		"an object":         {`{"question":"Who?"}`, `{"value":"me"}`, "The person answered: me"},
		"a response":        {`{"question":"Who?"}`, `{"human_input_response":{"value":"me"}}`, "The person answered: me"},
		"a number":          {`{"question":"How many?"}`, `7`, "The person answered: 7"},
		"nothing":           {`{"question":"Who?"}`, `""`, "The person gave no answer."},
		"an option":         {choice, `"blue"`, "The person chose: blue"},
		"an option's id":    {choice, `{"option_id":"option-1"}`, "The person chose: red"},
		"something else":    {choice, `"green"`, "The person answered: green"},
		"a form":            {form, `{"age":7,"colour":"blue","tags":["a","b"]}`, "The person filled in the form:\n- age: 7\n- Your colour: blue\n- tags: a, b"},
		"a wrapped form":    {form, `{"fields":{"age":"7","sure":true,"when":"2026-11-16"}}`, "- when: 2026-11-16\n- sure: true"},
		"words for a form":  {form, `"I will not say"`, "The person answered: I will not say"},
		"a list for a text": {`{"question":"Which?"}`, `["a","b"]`, "The person answered: a, b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, asking(c.args), `{}`, lead.Options{})
			w.say("Help.")
			if !strings.Contains(w.question(), `"kind":"human_input_request"`) || w.res.Status != event.Interrupted {
				t.Fatalf("asked %s", w.question())
			}
			if got := eventsOf[event.InterruptRaised](w)[0].Ask; got != event.AskClarification {
				t.Errorf("it is asked as %q", got)
			}
			w.answer(c.answer)
			if got := w.result("ask"); !strings.Contains(got, c.want) {
				t.Errorf("the model was told %q, want %q", got, c.want)
			}
		})
	}
}

func TestAFormThatIsFilledInWronglyIsAskedForAgain(t *testing.T) {
	w := newWorld(t, asking(`{"question":"When?","fields":[{"name":"day","label":"The day","type":"date","required":true},{"name":"n","type":"number"}]}`), `{}`, lead.Options{})
	w.say("Help.")
	for _, c := range []struct{ answer, problem string }{
		{`{"n":1}`, "The day is needed"}, {`{"day":"tomorrow"}`, "The day must be a date"}, {`{"day":"2026-11-16","n":"x"}`, "n must be a number"},
	} {
		w.answer(c.answer)
		if got := w.question(); !strings.Contains(got, c.problem) {
			t.Fatalf("after %s it asks %s, want the problem %q", c.answer, got, c.problem)
		}
	}
	w.answer(`{"day":"2026-11-16","n":"1"}`)
	if got := w.result("ask"); !strings.Contains(got, "The day: 2026-11-16") {
		t.Errorf("the model was told %q", got)
	}
}

func TestAQuestionThatCannotBeShownIsTheModelsMistake(t *testing.T) {
	for name, args := range map[string]string{
		"both":         `{"question":"?","options":["a"],"fields":[{"name":"a","type":"text"}]}`,
		"twice":        `{"question":"?","fields":[{"name":"a","type":"text"},{"name":"a","type":"text"}]}`,
		"no options":   `{"question":"?","fields":[{"name":"a","type":"select"}]}`,
		"no type":      `{"question":"?","fields":[{"name":"a"}]}`,
		"too long":     `{"question":"` + strings.Repeat("x", 17_000) + `"}`,
		"long options": `{"question":"?","options":["` + strings.Repeat("x", 201) + `"]}`,
	} {
		w := newWorld(t, asking(args), `{}`, lead.Options{})
		w.say("Help.")
		if w.res.Status != event.Success || w.result("ask") == "" {
			t.Errorf("%s: the run ended %s, and the model was told %q", name, w.res.Status, w.result("ask"))
		}
	}
}

// Removing the middleware "clarification" fails this: there is no such tool then.
func TestClarificationTurnsIntoWhatTheRunSaysWhereNobodyAnswers(t *testing.T) {
	for settings, want := range map[string]string{
		`{"disable_clarification":true}`: "best guess", `{"non_interactive":true}`: `there is no tool "ask_clarification"`,
	} {
		w := newWorld(t, asking(`{"question":"Who?"}`), settings, lead.Options{}, risky{name: "do"})
		w.say("Help.")
		if got := w.result("ask"); !strings.Contains(got, want) || w.res.Status != event.Success {
			t.Errorf("%s: the model was told %q and the run ended %s; want %q", settings, got, w.res.Status, want)
		}
	}
}

func rules(list ...lead.Rule) lead.Options { return lead.Options{Rules: lead.Rules{List: list}} }

func call(id, s string) item.ToolCall {
	return item.ToolCall{CallID: id, Name: "do", Arguments: `{"s":"` + s + `"}`}
}

// Removing the middleware "approval" fails this: the call is made without a question.
func TestApprovalIsReadInEveryFormThatFrontEndsSend(t *testing.T) {
	for name, c := range map[string]struct {
		answer, want string
		calls        int
	}{
		"a word":               {`"approve"`, "do did it", 1},
		"true":                 {`true`, "do did it", 1},
		"an object":            {`{"decision":"approve"}`, "do did it", 1},
		"LangChain's":          {`{"decisions":[{"type":"approve"}]}`, "do did it", 1},
		"the inbox's":          {`[{"type":"accept","args":null}]`, "do did it", 1},
		"no":                   {`"no"`, "The person rejected this call. ", 0},
		"words":                {`"not on a Sunday"`, "rejected this call: not on a Sunday", 0},
		"a reason":             {`{"decision":"reject","reason":"too dear"}`, "rejected this call: too dear", 0},
		"LangChain's no":       {`{"decisions":[{"type":"reject","message":"too dear"}]}`, "rejected this call: too dear", 0},
		"the inbox's words":    {`[{"type":"response","args":"too dear"}]`, "rejected this call: too dear", 0},
		"an edit":              {`{"decision":"edit","arguments":{"s":"that"}}`, "changed the arguments before the call was made, to: {\"s\":\"that\"}do did that", 1},
		"an edit as text":      {`{"decision":"edit","arguments":"{\"s\":\"that\"}"}`, "do did that", 1},
		"LangChain's edit":     {`{"decisions":[{"type":"edit","edited_action":{"name":"do","args":{"s":"that"}}}]}`, "do did that", 1},
		"the inbox's edit":     {`[{"type":"edit","args":{"action":"do","args":{"s":"that"}}}]`, "do did that", 1},
		"an edit that is none": {`{"decision":"edit","arguments":{"s":7}}`, "changed the arguments", 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			m := scripted.Sequence(scripted.Parallel(call("c1", "it")), scripted.Say("Done."))
			w := newWorld(t, m, `{}`, rules(lead.Rule{Tool: "do", Do: lead.Ask}), risky{name: "do", calls: &calls})
			w.say("Do it.")
			if calls != 0 || !strings.Contains(w.question(), `"tool":"do"`) {
				t.Fatalf("it was called %d times before it asked %s", calls, w.question())
			}
			w.answer(c.answer)
			if got := w.result("c1"); !strings.Contains(got, c.want) || calls != c.calls || w.res.Status != event.Success {
				t.Errorf("the model was told %q, the tool called %d times, %s; want %q, %d", got, calls, w.res.Status, c.want, c.calls)
			}
		})
	}
}

func TestAnAnswerThatSaysNothingApprovesNothing(t *testing.T) {
	calls := 0
	m := scripted.Sequence(scripted.Parallel(call("c1", "it")), scripted.Say("Done."))
	w := newWorld(t, m, `{}`, rules(lead.Rule{Tool: "do", Do: lead.Ask}), risky{name: "do", calls: &calls})
	w.say("Do it.")
	for _, answer := range []string{`{}`, `""`, `null`, `"edit"`, `{"decision":"edit"}`, `{"decision":"edit","arguments":[1]}`, `[]`, `7`, `{"decision":"perhaps"}`, `{"decisions":[]}`} {
		w.answer(answer)
		if calls != 0 || !strings.Contains(w.question(), `"problem":`) {
			t.Fatalf("after %s: called %d times, asks %s", answer, calls, w.question())
		}
	}
	w.answer(`"yes"`)
	if calls != 1 {
		t.Errorf("it was called %d times, want once", calls)
	}
}

func TestWhatIsApprovedForTheThreadIsNotAskedAgain(t *testing.T) {
	calls := 0
	m := scripted.Sequence(scripted.Parallel(call("c1", "one")), scripted.Parallel(call("c2", "two")), scripted.Say("Done."), scripted.Parallel(call("c3", "three")), scripted.Say("Done."))
	w := newWorld(t, m, `{}`, rules(lead.Rule{Group: "hands", Do: lead.Ask}), risky{name: "do", group: "hands", calls: &calls})
	w.say("Do it.")
	w.answer(`"approve_for_thread"`)
	w.say("And again.")
	if calls != 3 || w.res.Status != event.Success || !slices.Equal(get(w, lead.Approved.Field), []string{"do"}) {
		t.Errorf("called %d times, %s, approved %v; want 3 calls after one question", calls, w.res.Status, get(w, lead.Approved.Field))
	}
}

func TestSeveralQuestionsMayBePending(t *testing.T) {
	calls := 0
	m := scripted.Sequence(scripted.Parallel(call("c1", "one"), call("c2", "two"), item.ToolCall{CallID: "c3", Name: lead.ClarifyTool, Arguments: `{"question":"Who?"}`}), scripted.Say("Done."))
	w := newWorld(t, m, `{}`, rules(lead.Rule{Risk: tool.Writes, Do: lead.Ask}), risky{name: "do", risk: tool.Writes, calls: &calls})
	w.say("Do it.")
	if len(w.res.Interrupts) != 3 {
		t.Fatalf("%d questions are asked, want 3", len(w.res.Interrupts))
	}
	answers := map[string]any{}
	for _, i := range w.res.Interrupts {
		switch v := string(i.Value); {
		case strings.Contains(v, `"one"`):
			answers[i.ID] = "yes"
		case strings.Contains(v, `"two"`):
			answers[i.ID] = "no"
		default:
			answers[i.ID] = "me"
		}
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	w.answer(string(raw))
	if calls != 1 || w.result("c1") != "do did one" || !strings.Contains(w.result("c2"), "rejected") || !strings.Contains(w.result("c3"), "me") {
		t.Errorf("called %d times: %q, %q, %q", calls, w.result("c1"), w.result("c2"), w.result("c3"))
	}
}

func TestRulesFitByNameGroupAndRiskAndTheFirstCounts(t *testing.T) {
	r := lead.Rules{List: []lead.Rule{{Tool: "ls", Do: lead.Allow}, {Group: "files", Risk: tool.Writes, Do: lead.Ask}, {Risk: tool.Executes | tool.Spends, Do: lead.Deny}}}
	for name, c := range map[string]struct {
		spec       tool.Spec
		unattended bool
		want       lead.Verdict
	}{
		"by name":        {tool.Spec{Name: "ls", Risk: tool.Executes}, false, lead.Allow},
		"by both":        {tool.Spec{Name: "w", Group: "files", Risk: tool.Reads | tool.Writes}, false, lead.Ask},
		"half of it":     {tool.Spec{Name: "w", Group: "web", Risk: tool.Writes}, false, lead.Allow},
		"one class":      {tool.Spec{Name: "x", Risk: tool.Spends}, false, lead.Deny},
		"nobody there":   {tool.Spec{Name: "w", Group: "files", Risk: tool.Writes}, true, lead.Deny},
		"nothing fits":   {tool.Spec{Name: "y"}, true, lead.Allow},
		"denied anyhow":  {tool.Spec{Name: "x", Risk: tool.Executes}, true, lead.Deny},
		"allowed anyhow": {tool.Spec{Name: "ls", Group: "files", Risk: tool.Writes}, true, lead.Allow},
	} {
		if got := r.Of(c.spec, c.unattended); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	r.Unattended = lead.Allow
	if got := r.Of(tool.Spec{Name: "w", Group: "files", Risk: tool.Writes}, true); got != lead.Allow {
		t.Errorf("unattended calls that the policy allows: got %s", got)
	}
	for _, bad := range []lead.Rules{{List: []lead.Rule{{Do: "perhaps"}}}, {Unattended: lead.Ask}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

// Whatever a front end answers, the run goes on or asks again, and no call is made twice.
func FuzzAnswersNeverBreakTheRun(f *testing.F) {
	for _, s := range []string{`"approve"`, `{"decision":"edit","arguments":{"s":"x"}}`, `[{"type":"accept"}]`, `{"decisions":[{"type":"edit","edited_action":{"args":{}}}]}`, `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		if !json.Valid([]byte(answer)) {
			return
		}
		calls := 0
		m := scripted.Sequence(scripted.Parallel(call("c1", "it"), item.ToolCall{CallID: "c2", Name: lead.ClarifyTool, Arguments: `{"question":"?","fields":[{"name":"a","type":"number"}]}`}), scripted.Say("Done."))
		w := newWorld(t, m, `{}`, rules(lead.Rule{Tool: "do", Do: lead.Ask}), risky{name: "do", calls: &calls})
		w.say("Do it.")
		answers := map[string]json.RawMessage{}
		for _, i := range w.res.Interrupts {
			answers[i.ID] = json.RawMessage(answer)
		}
		raw, err := json.Marshal(answers)
		if err != nil {
			t.Fatal(err)
		}
		w.answer(string(raw))
		if calls > 1 || calls == 1 && w.result("c1") == "" && w.res.Status == event.Success {
			t.Errorf("called %d times, told %q", calls, w.result("c1"))
		}
	})
}
