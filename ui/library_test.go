package ui_test

import (
	"strings"
	"testing"
)

func TestWordsAreFoundInTheTextsOfThreads(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	for _, q := range []string{"Say: the ferry at Kaub <b>sleeps</b>", "Say: the lock at Iffezheim"} {
		p.visit(s.url() + "/#/")
		p.ask(q)
		p.until("it is answered", complete)
	}
	p.until("both are listed", `document.querySelectorAll(".thread").length === 2`)
	p.click(`.thread [aria-label^="Rename"]`)
	p.until("it can be renamed", `document.querySelector(".rename")`)
	p.typed("Locks")
	p.key("Enter", 0)
	p.until("it has its name", `[...document.querySelectorAll(".thread-title")].some((e) => e.innerText === "Locks")`)
	p.eval(`document.querySelector(".rail-search").focus()`, nil)
	p.typed("iffezheim")
	p.until("the line that has it is shown", `document.querySelector(".thread-line mark")?.innerText === "Iffezheim"`)
	if got := p.text(".rail .thread-title"); got != "Locks" {
		t.Errorf("found %q, want the thread that has it in its text", got)
	}
	p.click(".thread-line")
	p.eval(`document.querySelector(".thread-line").closest("a").click()`, nil)
	p.until("it opens", `document.querySelector(".bar-title")?.innerText === "Locks"`)
	p.fill(".rail-search", "no such words")
	p.until("nothing is found", `document.querySelector(".rail-empty")?.innerText === "Nothing found."`)
	p.clean()
}

func TestAPinnedThreadStaysAboveTheOthers(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	for _, q := range []string{"Say: first", "Say: second"} {
		p.visit(s.url() + "/#/")
		p.ask(q)
		p.until("it is answered", complete)
	}
	p.until("both are listed", `document.querySelectorAll(".thread").length === 2`)
	p.eval(`document.querySelectorAll('.thread [aria-label^="Pin"]')[1].click()`, nil)
	p.until("it is pinned", `document.querySelector(".rail-body section h2")?.innerText === "Pinned"`)
	p.reload()
	p.until("it is pinned after a reload", `document.querySelector(".rail-body section h2")?.innerText === "Pinned" && document.querySelector(".thread-title").innerText === "Say: first"`)
	p.click(`.thread [aria-label^="Unpin"]`)
	p.until("it is not any more", `document.querySelector(".rail-body section h2")?.innerText === "Today"`)
	p.clean()
}

func TestTheLibraryShowsWhatTheServerHas(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Say: something that costs")
	p.until("it is answered", complete)
	p.visit(s.url() + "/#/models")
	p.until("models are listed", `document.querySelectorAll(".card").length === 3`)
	if got := p.text(".card"); !strings.Contains(got, "thinker") || !strings.Contains(got, "no key") || !strings.Contains(got, "usual") {
		t.Errorf("the models are %q", got)
	}
	p.visit(s.url() + "/#/usage")
	p.until("usage is summed", `document.querySelectorAll(".figures tbody tr").length === 2 && document.querySelector(".figure")?.innerText === "1"`)
	p.visit(s.url() + "/#/agents")
	p.until("assistants are listed", `document.querySelector(".cards")?.innerText.includes("research")`)
	p.visit(s.url() + "/#/documents")
	p.fill(".shelf input", "anything")
	p.key("Enter", 0)
	p.until("what the server does not have is said", `document.querySelector(".shelf .note")?.innerText === "This server does not offer it."`)
	p.key("k", 2)
	p.until("the palette is open", `document.querySelector(".palette-input")`)
	p.typed("Usage")
	p.until("pages are found there", `document.querySelector(".palette li")?.innerText === "Usage"`)
	p.key("Enter", 0)
	p.until("it is opened", `location.hash === "#/usage"`)
	p.clean()
}

func TestDocumentsAreSearchedOnTheirPage(t *testing.T) {
	s := newStageWith(t, "offline")
	p := browse(t).open(s.url() + "/#/documents")
	p.fill(".shelf input", "resume a stream")
	p.key("Enter", 0)
	p.until("passages are found", `document.querySelectorAll(".finds .find").length > 1 && document.querySelector(".snippet mark")`)
	p.click(".finds summary")
	p.until("the whole passage can be read", `document.querySelector(".finds details[open] .passage")?.innerText.length > 40`)
	p.clean()
}

func TestTheInspectorShowsStatesStepsAndOtherWiresAndForks(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("After a server crash, what must a browser do?")
	p.until("the answer is complete", complete)
	p.click(`.foot-row [aria-label="Inspect"]`)
	p.until("checkpoints stand among the frames", `document.querySelectorAll(".diamond").length >= 4`)
	if !p.is(`(() => { const at = [...document.querySelectorAll(".diamond")].map((d) => parseFloat(d.style.left)); return at.every((x, i) => i === 0 || x >= at[i - 1]) && at.at(-1) > 50; })()`) {
		t.Error("checkpoints do not stand in the order of the run")
	}
	p.press("Time and tokens by step")
	p.until("each step has its time and tokens", `[...document.querySelectorAll(".figures tbody tr")].length >= 4 && /\d/.test(document.querySelector(".figures tbody tr:nth-child(2)").innerText)`)
	p.press("Checkpoints")
	p.until("the last change of the state is shown", `document.querySelector(".state-pane .diff-line.new")?.innerText.length > 1`)
	p.press("updates")
	p.until("LangGraph's frames are listed", `document.querySelectorAll(".wire-frames li").length >= 3 && document.querySelector(".pane .raw")?.innerText.includes("{")`)
	p.press("task")
	p.eval(`document.querySelectorAll(".diamond")[3].click()`, nil)
	p.until("a checkpoint in the middle is chosen", `document.querySelectorAll(".diamond")[3].classList.contains("here")`)
	var before string
	p.eval(`location.hash.split("?")[0]`, &before)
	p.press("Fork from here")
	p.until("the fork has a run of its own", `location.hash.startsWith("#/run/") && !location.hash.startsWith(`+quote(before)+`)`)
	p.until("which ends", `[...document.querySelectorAll(".event")].at(-1)?.innerText.includes("completed")`)
	p.press("To the conversation")
	p.until("it is another version of the same question", `document.querySelector(".versions")?.innerText.includes("2 / 2")`)
	p.clean()
}
