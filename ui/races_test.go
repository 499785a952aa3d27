package ui_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// holder makes window.hold: the first request after it whose method and address match waits until release is called. It waits before it is
// sent, or, if it is late, with its answer in the hand. `answered` counts the answers that the page was given.
const holder = `{
	const real = window.fetch;
	window.answered = {};
	window.holds = [];
	window.hold = (match, late) => { let free; holds.push({ match, late, held: false, done: new Promise((r) => { free = r; }) }); const h = holds.at(-1); h.release = () => { free(); return new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))); }; return true; };
	window.fetch = async (to, init) => {
		const what = (init?.method ?? "GET") + " " + to;
		const h = holds.find((x) => !x.held && new RegExp(x.match).test(what));
		if (h) h.held = true;
		if (h && !h.late) await h.done;
		let answer = await real(to, init);
		if (h?.late) { const text = await answer.text(); await h.done; answer = new Response(text, { status: answer.status, headers: answer.headers }); }
		answered[what] = (answered[what] ?? 0) + 1;
		return answer;
	};
}`

// say asks in a thread by the wire, as another program does.
func (s *stage) say(thread, text string) {
	s.t.Helper()
	res, err := http.Post(s.url()+"/tasks", "application/json", strings.NewReader(fmt.Sprintf(`{"thread_id":%q,"input":%q}`, thread, text)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("POST /tasks: %d %v %s", res.StatusCode, err, body)
	}
}

const (
	threadA = "00000000-0000-4000-8000-00000000000a"
	threadB = "00000000-0000-4000-8000-00000000000b"
	// refreshed has the list of threads asked for, as coming back to the tab does.
	refreshed = `document.dispatchEvent(new Event("visibilitychange"))`
)

func TestAListThatComesLateBringsNothingBack(t *testing.T) {
	s := newStage(t)
	s.say(threadA, "Say: about barges")
	s.say(threadB, "Long 1 every 0s in words")
	p := browse(t).open(s.url())
	p.until("both are listed", `document.querySelectorAll(".thread").length === 2`)
	p.eval(holder, nil)

	// What is found for the letters before is not shown for those after them.
	p.eval(`hold("search-text", true)`, nil)
	p.eval(`document.querySelector(".rail-search").focus()`, nil)
	p.typed("unhur")
	p.until("the first search is on its way", `holds[0].held`)
	p.typed("riedly")
	p.until("the second has found it", `document.querySelector(".thread-line mark")?.innerText === "unhurriedly"`)
	p.eval(`holds[0].release()`, nil)
	if got := p.text(".thread-line mark"); got != "unhurriedly" {
		t.Errorf("after the late answer %q is marked, want what was asked for last", got)
	}
	p.eval(`{ const s = document.querySelector(".rail-search"); s.value = ""; s.dispatchEvent(new Event("input", { bubbles: true })); }`, nil)
	p.until("all are listed", `document.querySelectorAll(".thread .thread-tools").length === 2`)

	// A thread that was deleted meanwhile stays so.
	p.eval(`hold("POST /threads/search$", true); `+refreshed, nil)
	p.until("a list is on its way", `holds[1].held`)
	p.click(`.thread:has([href*="` + threadA + `"]) [aria-label^="Delete"]`)
	p.until("one is gone", `document.querySelectorAll(".thread").length === 1`)
	p.click(`.thread [aria-label^="Delete"]`) // ends the time to undo the one before
	p.until("both are gone", `document.querySelectorAll(".thread").length === 0`)
	p.eval(`{ window.came = ""; const seen = () => { came += document.querySelector(".thread-title")?.innerText ?? ""; }; new MutationObserver(seen).observe(document.querySelector(".rail"), { subtree: true, childList: true }); }`, nil)
	p.eval(`holds[1].release()`, nil)
	var came string
	if p.eval(`came`, &came); came != "" {
		t.Errorf("what was deleted is listed again: %q", came)
	}
	p.clean()
}

func TestAQuestionStaysThoughAnOlderListOfRunsComesLate(t *testing.T) {
	s := newStage(t)
	s.say(threadA, "Say: one")
	p := browse(t).open(s.url())
	p.until("it is listed", `document.querySelectorAll(".thread").length === 1`)
	p.eval(holder, nil)
	p.eval(`hold("/runs\\?limit", true); location.hash = "#/t/`+threadA+`"`, nil)
	p.until("the list is on its way", `holds[0].held`)
	p.ask("Long 400 every 10ms in words")
	p.until("it is being answered", `document.querySelector(".turn:last-child[data-status=working] .message")`)
	p.eval(`document.querySelector(".turn:last-child").dataset.mark = "the same"`, nil)
	p.eval(`holds[0].release()`, nil)
	p.until("the turn before it is there", `document.querySelectorAll(".turn").length === 2 && document.querySelector(".turn .message")?.innerText === "one"`)
	if !p.is(`document.querySelector(".turn:last-child").dataset.mark === "the same" && document.querySelector(".turn:last-child[data-status=working]")`) {
		t.Errorf("the question is not where it was: %.300s", p.text(".column"))
	}
	p.press("Stop")
	p.until("it has stopped", `document.querySelector(".turn:last-child[data-status=canceled]")`)
	p.clean()
}

func TestANameThatIsTypedStaysInItsPlaceWhileTheListMoves(t *testing.T) {
	s := newStage(t)
	s.say(threadA, "Say: about barges")
	s.say(threadB, "Say: about locks")
	p := browse(t).open(s.url())
	order := `[...document.querySelectorAll(".rail li a.list-row[href*='/t/'], .rail li .rename")].map((e) => e.href?.at(-1) ?? "renamed").join(" ")`
	p.until("the newer one is first", order+` === "b a"`)
	p.eval(holder, nil)
	p.click(`.thread:has([href*="` + threadA + `"]) [aria-label^="Rename"]`)
	p.until("it can be renamed", `document.activeElement?.classList.contains("rename")`)
	p.typed("Half a na")
	s.say(threadA, "Clean up") // which asks a person: the thread goes to those that wait
	// The list is asked for twice: once for each kind of what is told of it.
	p.eval(`answered = {}; `+refreshed, nil)
	p.until("the list has come", `answered["POST /threads/search"] >= 2`)
	p.eval(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))`, nil)
	if !p.is(`document.activeElement?.classList.contains("rename") && document.activeElement.value === "Half a na"`) {
		t.Errorf("the field is gone or has lost the focus: %q", p.text(".rail-body"))
	}
	p.typed("me")
	p.key("Enter", 0)
	p.until("it has its whole name, and its new place", order+` === "a b" && document.querySelector(".thread-title").innerText === "Half a name" && document.querySelector(".thread-asks")`)
	p.clean()
}

func TestTwoThingsThatAreForgottenAtOnceAreBothGone(t *testing.T) {
	s := newStageWith(t, "whole")
	p := browse(t).open(s.url() + "/#/memory")
	for _, fact := range []string{"I sail.", "I row.", "I swim."} {
		p.fill(".shelf input", fact)
		p.press("Remember")
		p.until("it is remembered", `[...document.querySelectorAll(".fact .grow")].some((e) => e.innerText === `+quote(fact)+`) && document.querySelector(".shelf form .field").value === ""`)
	}
	p.eval(holder, nil)
	p.eval(`hold("DELETE .*/facts/"); for (const n of ["I sail.", "I row."]) document.querySelector('[aria-label="Forget: ' + n + '"]').click()`, nil)
	p.until("one is forgotten, and the other on its way", `holds[0].held && document.querySelectorAll(".fact").length === 2`)
	p.eval(`holds[0].release()`, nil)
	p.until("both are gone", `document.querySelectorAll(".fact").length === 1 && document.querySelector(".fact").innerText.includes("I swim.")`)
	p.clean()
}
