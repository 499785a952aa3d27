package ui_test

import (
	"strings"
	"testing"
)

// said is what the last answer quotes of a person's answer, as JSON.
func (p *tab) said() string {
	p.t.Helper()
	p.until("it is answered", complete)
	return strings.TrimPrefix(p.text(".turn:last-child .message"), "It said: ")
}

// asked begins a conversation in which something is asked.
func (p *tab) asked(s *stage, question string) {
	p.t.Helper()
	p.visit(s.url() + "/#/")
	p.ask(question)
	p.until("it asks", `document.querySelector(".ask")`)
}

func TestAToolIsApprovedChangedOrRefused(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.asked(s, "Approve")
	if got := p.text(".ask"); !strings.Contains(got, "rm -r exports/2019") || !strings.Contains(got, "reads, writes, executes") {
		t.Errorf("the question does not say what would be done: %q", got)
	}
	if p.is(`document.querySelector(".ask .primary")`) {
		t.Error("an answer is the primary one")
	}
	p.press("Allow once")
	if got := p.said(); got != `"approve"` {
		t.Errorf("allowing once says %s", got)
	}
	p.asked(s, "Approve")
	p.press("Allow in this conversation")
	if got := p.said(); got != `"approve_for_thread"` {
		t.Errorf("allowing in the conversation says %s", got)
	}
	p.asked(s, "Approve")
	p.press("Change…")
	p.fill(".ask textarea", `{"command": "ls`)
	p.until("what is no JSON cannot be sent", `document.querySelector(".ask button[type=submit]").disabled`)
	p.fill(".ask textarea", `{"command": "ls"}`)
	p.press("Allow as changed")
	if got := p.said(); got != `{"arguments":{"command":"ls"},"decision":"edit"}` && got != `{"decision":"edit","arguments":{"command":"ls"}}` {
		t.Errorf("a change says %s", got)
	}
	p.asked(s, "Approve")
	p.press("Refuse")
	p.fill(".ask textarea", "Not on a Friday")
	p.reload()
	p.until("it still asks after a reload", `document.querySelector(".ask")`)
	p.press("Refuse")
	p.fill(".ask textarea", "Not on a Friday")
	p.press("Refuse")
	if got := p.said(); !strings.Contains(got, `"decision":"reject"`) || !strings.Contains(got, `"reason":"Not on a Friday"`) {
		t.Errorf("a refusal says %s", got)
	}
	p.until("the answer is shown in words", `document.querySelector(".answered")?.innerText.includes("Refuse: Not on a Friday")`)
	p.clean()
}

func TestClarificationsAreChoicesWordsAndForms(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.asked(s, "Choose")
	p.click(".option:nth-of-type(2) input")
	p.press("Answer")
	if got := p.said(); got != `"The whole Rhine"` {
		t.Errorf("a choice says %s", got)
	}
	p.asked(s, "Choose")
	p.fill(".ask textarea", "Only ore")
	p.key("Enter", 0)
	if got := p.said(); got != `"Only ore"` {
		t.Errorf("words say %s", got)
	}
	p.asked(s, "Choose")
	p.press("Let it decide")
	if got := p.said(); got != `""` {
		t.Errorf("letting it decide says %s", got)
	}
	p.asked(s, "Form")
	if got := p.text(".ask"); !strings.Contains(got, "For which boats?") || !strings.Contains(got, "Prices differ.") || strings.Contains(got, "human_input_request") {
		t.Errorf("the form says %q", got)
	}
	if !p.is(`document.querySelector(".form button[type=submit]").disabled`) {
		t.Error("a form can be sent without what is needed")
	}
	p.eval(`{ const s = document.querySelector(".form select"); s.value = "Danube"; s.dispatchEvent(new Event("change", { bubbles: true })); }`, nil)
	p.fill(".form input[type=number]", "7")
	p.click(".form fieldset label:nth-of-type(2) input")
	p.press("Answer")
	got := p.said()
	for _, want := range []string{`"river":"Danube"`, `"boats":7`, `"cargo":["grain"]`, `"night":false`} {
		if !strings.Contains(got, want) {
			t.Errorf("the form says %s, want %s in it", got, want)
		}
	}
	p.clean()
}

func TestAPlanIsAcceptedEditedOrMadeAnew(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	titles := func() string {
		var got string
		p.eval(`[...document.querySelectorAll(".step-input")].map((e) => e.value).join("|")`, &got)
		return got
	}
	p.asked(s, "Research")
	p.press("Accept and start")
	if got := p.said(); got != `"accepted"` {
		t.Errorf("accepting says %s", got)
	}
	p.asked(s, "Research")
	p.fill(".review-words textarea", "Less about the past")
	p.press("Plan anew")
	if got := p.said(); got != `{"feedback":"Less about the past"}` {
		t.Errorf("words say %s", got)
	}
	p.asked(s, "Research")
	// A step that is moved takes the focus along: the same key twice moves it twice.
	for _, from := range []string{".review-steps li:nth-child(3) .step-input", `[aria-label="Move step 3 up"]`} {
		p.eval(`document.querySelector(`+quote(from)+`).focus()`, nil)
		for range 2 {
			if strings.HasPrefix(from, "[") {
				p.eval(`document.activeElement.click()`, nil)
			} else {
				p.key("ArrowUp", 1)
			}
		}
		p.until("it is the first", `[...document.querySelectorAll(".step-input")].map((e) => e.value).join("|") === "Outlook|Gauges|Freight" && document.querySelector(".review-steps li").contains(document.activeElement)`)
		p.press("As it was proposed")
		p.until("the order is the old one", `[...document.querySelectorAll(".step-input")].map((e) => e.value).join("|") === "Gauges|Freight|Outlook"`)
	}
	// What was removed comes back, one after the other.
	p.press("Remove step 1")
	p.until("two are left", `document.querySelectorAll(".step-input").length === 2`)
	p.press("Remove step 1")
	p.until("one is left", `document.querySelectorAll(".step-input").length === 1`)
	p.press("Put back")
	p.until("two are there", `document.querySelectorAll(".step-input").length === 2`)
	p.press("Put back")
	p.until("all are back", `[...document.querySelectorAll(".step-input")].map((e) => e.value).join("|") === "Gauges|Freight|Outlook" && !document.querySelector(".review .note")`)
	p.press("Move step 2 up")
	p.until("it has moved", `document.querySelector(".step-input").value === "Freight"`)
	p.press("Remove step 3")
	p.until("it is gone", `document.querySelectorAll(".step-input").length === 2`)
	p.press("Put back")
	p.until("it is back", `document.querySelectorAll(".step-input").length === 3`)
	p.press("Remove step 3")
	p.press("Add a step")
	p.until("there is a new one", `document.querySelectorAll(".step-input").length === 3`)
	p.fill(".review-steps li:nth-child(3) .step-input", "Insurance")
	p.fill(".review-steps li:nth-child(1) .step-input", "Freight rates")
	if got, want := titles(), "Freight rates|Gauges|Insurance"; got != want {
		t.Errorf("the steps are %q, want %q", got, want)
	}
	p.reload()
	p.until("the changes are kept over a reload", `document.querySelectorAll(".step-input").length === 3`)
	if got, want := titles(), "Freight rates|Gauges|Insurance"; got != want {
		t.Errorf("after a reload the steps are %q, want %q", got, want)
	}
	p.press("Accept the changes and start")
	got := p.said()
	at := func(text string) int { return strings.Index(got, text) }
	if at(`"plan":`) < 0 || at("Freight rates") < 0 || at("Freight rates") > at("Gauges") || at("Gauges") > at("Insurance") || at("Outlook") >= 0 || !strings.Contains(got, `"title":"Low water"`) || !strings.Contains(got, `"id":"s2"`) {
		t.Errorf("the changed plan is %s", got)
	}
	p.clean()
}

func TestAPlanForProgramsIsNotReadToPeople(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask(`Say: {"locale":"en-US","has_enough_context":false,"title":"Low water","steps":[{"title":"Gauges"},{"title":"Freight"}]}`)
	p.until("it is a line", `document.querySelector(".planned")?.innerText === "Planned, 2 steps"`)
	if got := p.text(".answer"); strings.Contains(got, "locale") {
		t.Errorf("the answer shows %q", got)
	}
	p.clean()
}

func TestAPlanIsAListThatLives(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Plan three things")
	p.until("each step has its mark while it works", `document.querySelector(".step.done .icon") && document.querySelector(".step.running .spinner") && document.querySelector(".step.pending")`)
	if got := p.text(".plan .work-head"); !strings.Contains(got, "1 / 3") {
		t.Errorf("the plan says %q, want 1 / 3", got)
	}
	s.goOn()
	p.until("it is done", complete)
	p.until("the plan is folded to a line", `!document.querySelector(".steps") && document.querySelector(".plan .work-head").innerText.includes("3 / 3")`)
	p.click(".plan .work-head")
	if got := p.text(".step .sr"); !strings.Contains(got, "(done)") && !strings.Contains(got, "(Done)") || !strings.Contains(got, "left out") {
		t.Errorf("the states in words are %q", got)
	}
	p.clean()
}
