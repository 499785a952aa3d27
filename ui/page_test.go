package ui_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// words is what a text is to a reader: its letters and digits, without how they are set.
const words = `(text) => text.replace(/[^\p{L}\p{N}]/gu, "")`

// answerIs reports in the browser whether the last answer has all the words of a text, and no others.
func answerIs(want string) string {
	return `(` + words + `)([...document.querySelectorAll(".turn:last-child .message")].map((e) => e.innerText).join("")) === (` + words + `)(` + quote(plain(want)) + `)`
}

// plain is a Markdown text as it is read: the marks of headings, lists and tables are not shown.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|--") {
			continue
		}
		if n, rest, ok := strings.Cut(line, ". "); ok && len(n) <= 2 {
			line = rest
		}
		b.WriteString(line)
	}
	return b.String()
}

// object is what the server has of a task.
func (s *stage) object(id string) (o struct {
	Status string
	Output []struct {
		Type      string
		Status    string
		BlockList []struct{ Text string } `json:"block_list"`
	}
}) {
	s.t.Helper()
	s.get("/tasks/"+id, &o)
	return o
}

func (s *stage) get(path string, v any) {
	s.t.Helper()
	res, err := http.Get(s.url() + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(v); err != nil {
		s.t.Fatalf("GET %s: %v", path, err)
	}
}

func (s *stage) threads() int {
	s.t.Helper()
	res, err := http.Post(s.url()+"/threads/count", "application/json", strings.NewReader("{}"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var n int
	if err := json.NewDecoder(res.Body).Decode(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

const complete = `document.querySelector(".turn:last-child[data-status=completed] .foot-row")`

func TestANewcomerAsksAnExampleAndOpensACitation(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.until("it says what answers here", `document.querySelector(".offline")?.innerText.includes("offline model")`)
	if n := strings.Count(p.text(".examples"), "\n"); n < 3 {
		t.Errorf("the first screen has no three examples: %q", p.text(".examples"))
	}
	p.click(".examples button")
	p.until("the example is answered", complete)
	p.until("it has an address of its own", `location.hash.startsWith("#/t/")`)

	p.key("O", 2|8)
	p.until("there is a new question", `location.hash === "#/"`)
	p.ask("After a server crash, what must a browser do?")
	p.until("the answer is complete", complete)
	p.eval(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } })`, nil)
	p.click(`.foot-row [aria-label="Copy"]`)
	p.until("the answer is copied as it was written", `window.copied?.includes("**Keep the last number.**") && copied.includes("[^3]")`)
	if name, text := p.download(func() { p.press("Save as Markdown") }); name != "after-a-server-crash-what-must-a-browser-do.md" || !strings.Contains(text, "**Keep the last number.**") {
		t.Errorf("%s was saved, with %.80q", name, text)
	}
	if got := p.text(".work-head"); !strings.Contains(got, "thought, search, sub-agent") {
		t.Errorf("the card says %q, want what was done", got)
	}
	p.until("code is coloured", `document.querySelector(".md-code .hljs-keyword")`)
	if got, want := p.text(".message .chip"), "1\n2\n3"; got != want {
		t.Errorf("citations are %q, want %q", got, want)
	}
	p.click(".message li:nth-child(2) .chip")
	p.until("the passage is open with its quote", `document.querySelector(".drawer mark")?.innerText.startsWith("Readers may come and go")`)
	p.key("]", 0)
	p.until("the next source is shown", `document.querySelector(".drawer h3").innerText === "One log, many readers"`)
	p.key("Escape", 0)
	p.until("the drawer is closed, and the focus is back", `!document.querySelector(".drawer") && document.activeElement.classList.contains("chip")`)
	p.click(".work-head")
	p.click(".agent-head")
	p.until("the sub-agent's words are inside", `document.querySelector(".agent-body .md")?.innerText.includes("Safari does the same")`)
	p.clean()
}

func TestAReloadInTheMiddleOfAWordAndAKilledServerLoseNothing(t *testing.T) {
	s := newStage(t)
	c := browse(t)
	p := c.open(s.url())
	p.ask("Tell the story in two parts")
	p.until("some of it is written", `document.querySelectorAll(".message li").length > 2`)
	p.reload()
	p.until("it goes on after the reload, to the middle of a word", `document.querySelector(".message li:nth-child(12)")?.innerText.endsWith(", unhur")`)
	told := p.watch(river)

	s.kill()
	p.until("a sign shows that the line is down", `document.querySelector(".sign")?.innerText.includes("No connection")`)
	// That it is back is shown for three seconds, which may pass between two looks.
	p.eval(`window.back = false; new MutationObserver(() => { back ||= document.querySelector(".sign.ok") !== null; }).observe(document.body, { subtree: true, childList: true, attributes: true })`, nil)
	s.goOn()
	s.start()
	p.until("a sign shows that it is back", `back`)
	p.until("the answer is complete", complete)
	p.until("it is the whole story, letter by letter", answerIs(river))
	p.until("the sign is gone", `!document.querySelector(".sign")`)
	told()

	second := c.open(s.url() + "/" + hash(p))
	second.until("a second browser shows the same", answerIs(river))
	if a, b := p.text(".message"), second.text(".message"); a != b {
		t.Errorf("two tabs differ:\n%q\n%q", a, b)
	}
	p.clean()
	second.clean()
}

func TestACutNetworkDoublesNothing(t *testing.T) {
	n := newNetwork(t, newStage(t))
	p := browse(t).open(n.url())
	p.ask("Tell the story of the river")
	told := p.watch(river)
	for _, items := range []string{"2", "6", "10"} {
		p.until("some of it is written", `document.querySelectorAll(".message li").length >= `+items+` || `+complete)
		n.cut(true)
		time.Sleep(100 * time.Millisecond) // so that something is missed
		n.cut(false)
	}
	p.until("the answer is complete", complete)
	p.until("it is the whole story, letter by letter", answerIs(river))
	p.until("the sign is gone", `!document.querySelector(".sign")`)
	told()
}

func TestALineThatFellSilentWhileTheComputerSleptIsTakenUpAgain(t *testing.T) {
	n := newNetwork(t, newStage(t))
	p := browse(t).open(n.url())
	// After so long without a heartbeat the page takes a line as lost; the test says when that is.
	p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{ const real = window.setTimeout; window.setTimeout = (f, ms, ...more) => { if (ms === 16000) window.silent = f; return real(f, ms, ...more); }; }`}, nil)
	p.reload()
	p.ask("Tell the story of the river")
	told := p.watch(river)
	p.until("some of it is written", `document.querySelectorAll(".message li").length >= 2`)
	n.hush()
	p.eval(`silent()`, nil)
	p.until("the answer is complete", complete)
	p.until("it is the whole story, letter by letter", answerIs(river))
	told()
	p.clean()
}

// watch looks at every picture that the browser draws: what is shown is always a beginning of the story. What it gives back
// says whether that was so.
func (p *tab) watch(story string) func() {
	p.t.Helper()
	p.eval(`{
		const words = `+words+`, story = words(`+quote(plain(story))+`);
		window.wrong = ""; window.pictures = 0;
		const look = () => {
			const shown = words(document.querySelector(".message")?.innerText.replace("incomplete", "") ?? "");
			if (!story.startsWith(shown)) window.wrong ||= shown;
			window.pictures++;
			requestAnimationFrame(look);
		};
		look();
	}`, nil)
	return func() {
		p.t.Helper()
		var wrong string
		var pictures int
		p.eval(`window.wrong`, &wrong)
		p.eval(`window.pictures`, &pictures)
		if wrong != "" || pictures < 3 {
			p.t.Errorf("of %d pictures one showed %q, which is no beginning of the story", pictures, wrong)
		}
	}
}

func hash(p *tab) string {
	var h string
	p.eval(`location.hash`, &h)
	return h
}

func TestTwoTabsShowTheSameLettersWhileTheyAreWritten(t *testing.T) {
	s := newStage(t)
	c := browse(t)
	a := c.open(s.url())
	a.ask("Tell the story in two parts")
	a.until("it begins", `document.querySelector(".message li")`)
	b := c.open(s.url() + "/" + hash(a))
	b.until("the second tab follows", `document.querySelector(".md.live li:nth-child(12)")?.innerText.endsWith(", unhur")`)
	s.goOn()
	b.until("the answer is complete there", complete)
	a.until("the answer is complete here", complete)
	if x, y := a.text(".turn"), b.text(".turn"); x != y {
		t.Errorf("the tabs differ:\n%q\n%q", x, y)
	}

	// What one tab asks, the other shows.
	b.ask("Say: from the second tab")
	a.until("the first tab shows the second's question", `document.querySelector(".turn:last-child .bubble")?.innerText === "Say: from the second tab"`)
	a.until("and its answer", answerIs("from the second tab"))
	a.clean()
	b.clean()
}

func TestStoppingShowsWhatTheServerKept(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Tell the story in two parts")
	p.until("some of it is written", `document.querySelectorAll(".message li").length > 1`)
	p.click(".send.stop")
	p.until("it has stopped", `document.querySelector(".turn[data-status=canceled] .note")`)
	p.reload()
	p.until("it is still stopped", `document.querySelector(".turn[data-status=canceled] .note")`)
	var id string
	p.eval(`document.querySelector(".turn").dataset.task`, &id)
	kept := ""
	for _, it := range s.object(id).Output {
		for _, b := range it.BlockList {
			kept += b.Text
		}
	}
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("#*`|. \n\t-", r) || r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	if got, want := letters(strings.ReplaceAll(p.text(".message"), "incomplete", "")), letters(kept); got != want {
		t.Errorf("the page shows %q, the server has kept %q", got, want)
	}
	p.clean()
}

func TestAQuestionWaitsForItsTurnAndCanBeTakenBack(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Tell the story in two parts")
	p.until("it begins", `document.querySelector(".message li")`)
	p.ask("Say: first in the queue")
	p.ask("Say: never said")
	p.until("both wait", `document.querySelectorAll(".queued").length === 2`)
	p.until("in the order in which they were asked", `document.querySelectorAll(".queued")[1].innerText.includes("never said")`)
	p.eval(`document.querySelectorAll(".queued")[1].querySelector(".icon-button").click()`, nil)
	p.until("one is taken back", `document.querySelectorAll(".queued").length === 1`)
	p.click(".send.stop")
	p.until("the other is answered", answerIs("first in the queue"))
	if got := p.text(".turn"); strings.Contains(got, "never said") {
		t.Errorf("what was taken back is there: %q", got)
	}
	p.clean()
}

func TestAQuestionToAPersonIsFoundAgainAndAnsweredInPlace(t *testing.T) {
	s := newStage(t)
	c := browse(t)
	p := c.open(s.url())
	p.ask("Clean up the exports")
	p.until("it asks", `document.querySelector(".ask")?.innerText.includes("Delete 61 files?")`)
	if got := p.text(".ask"); !strings.Contains(got, "exports/2019") {
		t.Errorf("the question does not say what is to be done: %q", got)
	}
	s.kill()
	s.start()
	fresh := c.open(s.url())
	fresh.until("the list marks it", `document.querySelector(".thread-asks")?.innerText === "Delete 61 files?"`)
	fresh.until("so does the title of the window", `document.title.startsWith("(1)")`)
	fresh.click(".thread a")
	fresh.until("the question is there again", `document.querySelector(".ask .button")`)
	fresh.click(".ask .button")
	fresh.until("it goes on with the answer", answerIs("Done: the person said Allow once."))
	if got := fresh.text(".answered"); !strings.Contains(got, "Allow once") {
		t.Errorf("what was answered is shown as %q", got)
	}
	p.until("the other browser sees that it was answered", answerIs("Done: the person said Allow once."))
	fresh.until("the mark is gone", `!document.querySelector(".thread-asks")`)

	p.visit(s.url() + "/#/")
	p.ask("Clean up on cue")
	p.until("the list marks it", `document.querySelector(".thread-asks")`)
	p.eval(`for (let i = setInterval(() => {}, 1e9); i > 0; i--) clearInterval(i)`, nil) // the list is not asked for by the clock any more
	p.click(".ask .button")
	p.until("the mark goes with the answer, while it works", `!document.querySelector(".thread-asks") && document.querySelector(".turn:last-child[data-status=working]")`)
	s.goOn()
	p.until("it is done", complete)

	p.visit(s.url() + "/#/")
	p.ask("How much freight is there?")
	p.click(".ask textarea")
	p.eval(`document.querySelector(".ask textarea").focus()`, nil)
	p.typed("Only coal")
	p.key("Enter", 0)
	p.until("free text is an answer too", answerIs("You mean: Only coal."))
	p.clean()
	fresh.clean()
}

func TestAnEditedQuestionIsABranchAndBothStay(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Say: one")
	p.until("it is answered", answerIs("one"))
	p.ask("Say: two")
	p.until("it is answered", answerIs("two"))
	p.click(`.turn:first-child [aria-label="Edit the question"]`)
	p.until("it can be edited", `document.querySelector(".editing textarea")`)
	p.eval(`document.querySelector(".editing textarea").select()`, nil)
	p.typed("Say: another")
	p.key("Enter", 0)
	p.until("the branch is answered", `document.querySelectorAll(".turn").length === 1 && `+answerIs("another"))
	if got := p.text(".versions"); !strings.Contains(got, "2 / 2") {
		t.Errorf("the versions are %q, want 2 / 2", got)
	}
	p.click(`[aria-label="Earlier version"]`)
	p.until("the first branch is whole", `document.querySelectorAll(".turn").length === 2 && `+answerIs("two"))
	p.ask("Say: three") // on the branch that is not the latest
	p.until("it goes on there", `document.querySelectorAll(".turn").length === 3 && `+answerIs("three"))
	before := p.text(".turn")
	p.reload()
	p.until("a reload shows the same branch", `document.querySelectorAll(".turn .foot-row").length === 3`)
	if got := p.text(".turn"); got != before {
		t.Errorf("after a reload: %q, before: %q", got, before)
	}
	p.click(`.turn:last-child [aria-label="Answer again"]`)
	p.until("there is a second answer", `document.querySelector(".turn:last-child .versions")?.innerText.includes("2 / 2") && `+answerIs("three"))
	p.clean()
}

func TestThreadsAreFoundRenamedAndDeletedWithUndo(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	for _, q := range []string{"Say: about barges", "Say: about locks"} {
		p.visit(s.url() + "/#/")
		p.ask(q)
		p.until("it is answered", complete)
	}
	p.until("both are listed", `document.querySelectorAll(".thread").length === 2`)
	p.eval(`document.querySelector(".rail-search").focus()`, nil)
	p.typed("barg")
	p.until("one is found", `document.querySelectorAll(".thread").length === 1`)
	p.click(`.thread [aria-label^="Rename"]`)
	p.until("it can be renamed", `document.querySelector(".rename")`)
	p.typed("Barges <b>& co</b>")
	p.key("Enter", 0)
	p.eval(`const s = document.querySelector(".rail-search"); s.value = ""; s.dispatchEvent(new Event("input", { bubbles: true }))`, nil)
	p.until("it has its name", `[...document.querySelectorAll(".thread-title")].some((e) => e.innerText === "Barges <b>& co</b>")`)
	p.key("k", 2)
	p.until("the palette is open", `document.querySelector(".palette-input")`)
	p.typed("co</b>")
	p.until("it is found there too", `document.querySelector(".palette li")?.innerText.includes("Barges")`)
	p.key("Enter", 0)
	p.until("it is opened", `document.querySelector(".bar-title")?.innerText.startsWith("Barges")`)
	// There are ten seconds to undo it, which a busy machine may need between two commands to its browser: the page does both.
	var left int
	p.eval(`new Promise((done) => {
		document.querySelector('.thread.selected [aria-label^="Delete"]').click();
		const undo = () => { const b = document.querySelector(".undo .link"); if (!b) { setTimeout(undo); return; } const n = document.querySelectorAll(".thread").length; b.click(); done(n); };
		undo();
	})`, &left)
	if left != 1 {
		t.Errorf("%d threads are listed while one can be taken back, want 1", left)
	}
	p.until("it is back", `document.querySelectorAll(".thread").length === 2`)
	p.click(`.thread [aria-label^="Delete"]`)
	p.until("one is gone", `document.querySelectorAll(".thread").length === 1`)
	p.do("Page.navigate", map[string]any{"url": "about:blank"}, nil) // leaving the page ends the time to undo
	for deadline := time.Now().Add(patience); s.threads() != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server still has %d threads, want 1", s.threads())
		}
	}
}

func TestAFailureSaysWhy(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Fail in the middle")
	p.until("it says why", `document.querySelector(".note.fail")?.innerText.includes("quota used up until 14:00")`)
	var id string
	p.eval(`document.querySelector(".turn").dataset.task`, &id)
	if o := s.object(id); o.Status != "failed" {
		t.Errorf("the server says %q", o.Status)
	}
	p.press("Try again")
	p.until("another try is another version", `document.querySelector(".versions")?.innerText.includes("2 / 2") && document.querySelector(".note.fail")`)
	p.clean()
}

func TestTheInspectorShowsWhatAReaderSawAtAnyEvent(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("After a server crash, what must a browser do?")
	p.until("the answer is complete", complete)
	p.click(`.foot-row [aria-label="Inspect"]`)
	p.until("there are frames", `document.querySelectorAll(".event").length > 20`)
	for _, lane := range []string{".bit.turn", ".bit.tool", ".bit.agent-bit", ".bit.life"} {
		if !p.is(`document.querySelector(` + quote(lane) + `)`) {
			t.Errorf("the lanes have no %s", lane)
		}
	}
	whole := p.text(".pane:last-child .message")
	p.eval(`location.hash = location.hash.split("?")[0] + "?seq=3"`, nil)
	p.until("it is scrubbed", `document.querySelector(".pane .raw")?.innerText.includes('"sequence_number": 3')`)
	if got := p.text(".pane:last-child .message"); got == whole {
		t.Error("at event 3 a reader has seen everything")
	}
	p.key("ArrowRight", 0)
	p.until("a key goes on by one", `document.querySelector(".pane .raw")?.innerText.includes('"sequence_number": 4')`)
	p.eval(`for (const _ of "ab") dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }))`, nil)
	p.until("two keys before the next picture go on by two", `document.querySelector(".pane .raw")?.innerText.includes('"sequence_number": 6')`)
	// Keys that are somebody else's: those of a list of choices, and the browser's own.
	p.eval(`document.querySelector('[title="Speed"]').dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })); dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", altKey: true })); dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }))`, nil)
	p.until("only the last counts", `document.querySelector(".pane .raw")?.innerText.includes('"sequence_number": 7')`)
	p.eval(`{ const s = document.querySelector('[title="Speed"]'); s.value = "64"; s.dispatchEvent(new Event("change", { bubbles: true })); }`, nil)
	p.eval(`location.hash = location.hash.split("?")[0] + "?seq=" + (Number(/(\d+) events/.exec(document.querySelector("main").innerText)[1]) - 60)`, nil)
	p.press("Play")
	p.until("it is played to its end", `document.querySelector(".pane:last-child .message")?.innerText === `+quote(whole))
	p.clean()
}

func TestLanguageThemeAndWidthCanBeChanged(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.click(".rail footer button")
	p.until("the settings are open", `document.querySelector(".settings")`)
	p.eval(`[...document.querySelectorAll(".segmented button")].find((b) => b.innerText === "中文").click()`, nil)
	p.until("the page is Chinese", `document.documentElement.lang === "zh-CN" && document.body.innerText.includes("你想了解什么？")`)
	p.eval(`[...document.querySelectorAll(".segmented button")].find((b) => b.innerText === "深色").click()`, nil)
	p.until("the page is dark", `document.documentElement.dataset.theme === "dark"`)
	p.reload()
	p.until("both are remembered", `document.documentElement.lang === "zh-CN" && document.documentElement.dataset.theme === "dark"`)
	for _, width := range []int{320, 390, 800, 1360} {
		p.size(width, 800, width < 760)
		if !p.is(`document.documentElement.scrollWidth <= innerWidth`) {
			t.Errorf("at %d pixels the page scrolls sideways", width)
		}
	}
	p.clean()
}

func TestTheFirstViewIsSmall(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.until("the first screen is there", `document.querySelector(".examples")`)
	var sizes []struct {
		Name string
		Size int
	}
	p.eval(`performance.getEntriesByType("resource").filter((r) => r.name.includes("/page/")).map((r) => ({ Name: r.name, Size: r.encodedBodySize }))`, &sizes)
	total := 0
	for _, r := range sizes {
		total += r.Size
	}
	if total == 0 || total > 150_000 {
		t.Errorf("the first view loads %d bytes, want at most 150000: %v", total, sizes)
	}
}
