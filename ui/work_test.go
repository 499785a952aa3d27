package ui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hold makes actors wait once more, who come to where they need the cue.
func (s *stage) hold() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, cue)); err != nil {
		s.t.Fatal(err)
	}
}

// goOn lets actors on who wait for the cue.
func (s *stage) goOn() { s.t.Helper(); s.give(cue) }

// give gives the cue of a name.
func (s *stage) give(name string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// press clicks on the button with a name.
func (p *tab) press(name string) {
	p.t.Helper()
	find := `[...document.querySelectorAll("button")].find((b) => (b.getAttribute("aria-label") ?? b.innerText).trim() === ` + quote(name) + `)`
	p.until("there is a button "+name, find+` && !`+find+`.disabled`)
	p.eval(`{ const b = `+find+`; b.focus(); b.click(); }`, nil)
}

// fill writes into a field, in place of what it has.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	p.until("there is "+selector, `document.querySelector(`+quote(selector)+`)`)
	p.eval(`{ const e = document.querySelector(`+quote(selector)+`); e.focus(); e.select?.(); }`, nil)
	p.typed(text)
}

func TestACommandIsATerminalThatFollowsItsEnd(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Build it")
	p.until("its output grows while it works", `document.querySelector(".terminal")?.innerText.includes("line 40 of the build")`)
	text := p.text(".terminal-text")
	for _, want := range []string{"$ go build ./...", "go vet ./...", "ok   package one", "downloading 100%"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal has no %q: %q", want, text)
		}
	}
	if strings.Contains(text, "[32m") || strings.Contains(text, "10%\n") || strings.Contains(text, "downloading 10%") {
		t.Errorf("colours or what was written over are shown: %q", text)
	}
	p.until("it says how far it is", `document.querySelector(".progress progress")?.value === 3 && document.querySelector(".progress").innerText.includes("3 / 10 · compiling")`)
	p.until("it follows the end", `(() => { const e = document.querySelector(".terminal-text"); return e.scrollHeight > e.clientHeight && e.scrollHeight - e.scrollTop - e.clientHeight < 2; })()`)
	p.reload()
	p.until("it is there after a reload, while it works", `document.querySelector(".terminal")?.innerText.includes("line 40 of the build") && document.querySelector(".progress progress")?.value === 3`)
	s.goOn()
	p.until("it is done", complete)
	if p.is(`document.querySelector(".progress")`) {
		t.Error("what is done still tells its progress")
	}
	if got := p.text(".line-head .aside"); !strings.Contains(got, "exit code 2") {
		t.Errorf("the row says %q, want the exit code", got)
	}
	p.click(".line-head")
	p.until("all of it is kept", `document.querySelector(".terminal")?.innerText.includes("the last line")`)
	p.clean()
}

func TestThoughtsAndArgumentsAreSeenWhileTheyAreWritten(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Think and write")
	p.until("the line that is thought is shown", `document.querySelector(".line.working")?.innerText.includes("Thinking") && document.querySelector(".line .object").innerText === "It is"`)
	p.click(".line-head")
	p.until("it can be read", `document.querySelector(".thought em")?.innerText === "too low"`)
	p.eval(`window.from = Date.now()`, nil)
	s.give(cue)
	p.until("it goes on", `document.querySelector(".thought")?.innerText.includes("It is to be corrected.")`)
	p.until("some time has passed", `Date.now() - from > 200`)
	s.give("second " + cue)
	p.until("the change is seen while it is written", `document.querySelector(".diff")?.innerText.includes("half of") && [...document.querySelectorAll(".line.working .aside")].some((e) => e.innerText === "writing")`)
	if got := p.text(".diff-line.gone, .diff-line.new"); !strings.Contains(got, "return 25") || !strings.Contains(got, "return 26") || strings.Contains(got, "half of it") {
		t.Errorf("half of the arguments show %q", got)
	}
	p.until("the thought says how long it took", `/^[0-9.]+ s$|^[0-9]+:[0-9]+$/.test([...document.querySelectorAll(".line")].find((e) => e.innerText.includes("Thought"))?.querySelector(".aside").innerText ?? "")`)
	s.give("third " + cue)
	p.until("it is done", complete)
	p.click(".work-head")
	p.until("the thought is folded, and its first line shown", `document.querySelector(".line .object")?.innerText === "The gauge is too low."`)
	p.eval(`document.querySelectorAll(".line-head")[1].click()`, nil)
	p.until("all of the change is there", `document.querySelector(".diff")?.innerText.includes("# half of it")`)
	durations := func() string { return p.text(".line-head .aside") }
	live := durations()
	p.reload()
	p.until("it is there after a reload", complete)
	p.click(".work-head")
	p.until("both lines are there", `document.querySelectorAll(".line-head .aside").length === 2`)
	if got := durations(); got != live || !strings.Contains(live, " s") {
		t.Errorf("after a reload thought and call took %q, while they were looked at %q", got, live)
	}
	p.clean()
}

func TestAnEditIsADiffAndASearchIsAList(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Change the gauge")
	p.until("it is done", complete)
	p.click(".line-head")
	if got, want := p.text(".diff-line.gone")+"|"+p.text(".diff-line.new"), "−    return 25\n|+    return 26\n\n+    # corrected\n"; got != want {
		t.Errorf("the diff is %q, want %q", got, want)
	}
	if got := p.text(".diff figcaption"); !strings.Contains(got, "main.py") || !strings.Contains(got, "+2") || !strings.Contains(got, "−1") {
		t.Errorf("the head of the diff says %q", got)
	}
	p.visit(s.url() + "/#/")
	p.ask("Search the web")
	p.until("it is done", complete)
	p.click(".line-head")
	if got := p.text(".find"); !strings.Contains(got, "Low water on the Rhine") || !strings.Contains(got, "example.org") || !strings.Contains(got, "At Kaub the gauge fell") || !strings.Contains(got, "<b>Hostile</b>") {
		t.Errorf("the finds are %q", got)
	}
	if n := p.text(`a.find[href^="https:"] .name`); n != "Low water on the Rhine" || p.is(`document.querySelector('a[href^="javascript"]')`) {
		t.Errorf("links are %q, want the one page that has a harmless address", n)
	}
	p.clean()
}

// given puts files into the composer as a person does, by pasting or dropping.
func (p *tab) given(event string, files string) {
	p.t.Helper()
	p.givenAt("#composer", event, files)
}

// givenAt does so at a place of the page. It fails where the browser would leave the page to show the file.
func (p *tab) givenAt(place, event, files string) {
	p.t.Helper()
	p.until("files are taken", `document.querySelector(".composer input[type=file]")`)
	p.eval(`{ const data = new DataTransfer(); for (const f of `+files+`) data.items.add(f);
		const e = `+quote(event)+` === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
		if (document.querySelector(`+quote(place)+`).dispatchEvent(e)) throw new Error("the page leaves it to the browser"); }`, nil)
}

func TestFilesGoWithAQuestion(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.given("drop", `[new File(["a,b\n1,2\n"], "levels.csv"), new File(["x"], "<img src=x onerror=pwned=1>.txt")]`)
	p.until("both are chips", `document.querySelectorAll(".attached li").length === 2`)
	p.given("paste", `[new File(["y"], "third.txt")]`)
	p.until("the pasted one too", `document.querySelectorAll(".attached li").length === 3`)
	p.givenAt(".rail", "drop", `[new File(["z"], "fourth.txt")]`)
	p.until("one that is dropped beside the composer too", `document.querySelectorAll(".attached li").length === 4`)
	p.press("Remove fourth.txt")
	p.press("Remove third.txt")
	p.until("one can be taken out", `document.querySelectorAll(".attached li").length === 2`)
	p.ask("What did I upload?")
	p.until("it is answered", complete)
	if got := p.text(".message"); !strings.Contains(got, "levels.csv") || !strings.Contains(got, ".txt") {
		t.Errorf("the agent found %q, want the two files", got)
	}
	p.until("the chips are gone", `document.querySelectorAll(".attached li").length === 0`)
	p.reload()
	p.until("the question shows its files after a reload", `document.querySelectorAll(".sent li").length === 2`)
	p.press("Open levels.csv")
	p.until("a table is shown", `document.querySelector(".files-drawer td")?.innerText === "1"`)
	p.key("Escape", 0)
	p.until("it is closed", `!document.querySelector(".files-drawer")`)

	p.given("drop", `[{ __proto__: File.prototype }].slice(1).concat(Array.from({ length: 11 }, (_, i) => new File(["x"], i + ".txt")))`)
	p.until("what is too much is told before it is sent", `document.querySelector(".attached li.bad")?.innerText.includes("too many files")`)
	p.eval(`document.querySelector("#composer").focus()`, nil)
	p.typed("send it")
	p.until("it cannot be sent like this", `document.querySelector(".send").disabled`)
	p.press("Remove 10.txt")
	p.until("it can without", `!document.querySelector(".send").disabled`)
	if p.is(`"pwned" in window`) {
		t.Error("the name of a file has run")
	}
	p.clean()
}

func TestAnUploadThatFailsIsToldAndCanBeSentAgain(t *testing.T) {
	n := newNetwork(t, newStage(t))
	p := browse(t).open(n.url())
	p.given("drop", `[new File(["a"], "a.txt")]`)
	p.until("it is a chip", `document.querySelector(".attached li")`)
	n.cut(true)
	p.ask("What did I upload?")
	p.until("it says that it was not sent", `document.querySelector(".question-tools")?.innerText.includes("Not sent")`)
	n.cut(false)
	p.press("Send again")
	p.until("it is answered", complete)
	if got := p.text(".message"); !strings.Contains(got, "a.txt") {
		t.Errorf("the agent found %q, want the file", got)
	}
	p.clean()
}

func TestWhatAgentsLeaveIsListedAndSafelyShown(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Write the report")
	p.until("it is done", complete)
	p.until("the files are counted", `document.querySelector(".files-button .badge")?.innerText === "7"`)
	p.until("what was presented stands below the answer", `[...document.querySelectorAll(".presented li")].map((e) => e.innerText.split("\n")[0]).join("|") === "report.md|levels.csv"`)
	p.press("Open report.md")
	p.until("Markdown is set", `document.querySelector(".files-drawer .md strong")?.innerText === "25 cm"`)
	p.press("Source")
	p.until("its source can be read", `document.querySelector(".files-drawer pre")?.innerText.includes("**25 cm**")`)
	open := func(name string) {
		t.Helper()
		p.press("All files")
		p.until("the list is there", `document.querySelectorAll(".file-list li").length === 7`)
		p.eval(`[...document.querySelectorAll(".file-list button")].find((b) => b.innerText.includes(`+quote(name)+`)).click()`, nil)
	}
	open("levels.csv")
	p.until("CSV is a table", `[...document.querySelectorAll(".files-drawer td")].map((e) => e.innerText).join("|") === "Kaub|25|Ruhrort, harbour|153"`)
	open("main.py")
	p.until("code is coloured", `document.querySelector(".files-drawer .hljs-keyword")`)
	open("dot.png")
	p.until("a picture is shown", `document.querySelector(".files-drawer img")?.naturalWidth === 1`)
	open("data.bin")
	p.until("what cannot be shown says so", `document.querySelector(".files-drawer .drawer-body").innerText.includes("Download it")`)
	// A PDF stands in the browser's own reader, from our server and with the type that makes it one.
	open("paper.pdf")
	if p.is(`navigator.pdfViewerEnabled`) {
		p.until("a PDF is shown", `document.querySelector(".files-drawer iframe[title='paper.pdf']")?.src.endsWith("/paper.pdf?preview=true")`)
		p.until("it is read", `performance.getEntriesByType("resource").some((e) => e.name.endsWith("/paper.pdf?preview=true") && e.responseStatus === 200)`)
	} else {
		p.until("a browser without a reader says so", `document.querySelector(".files-drawer .drawer-body").innerText.includes("Download it")`)
	}
	var kind string
	if p.eval(`fetch("/threads/" + location.hash.split("/")[2] + "/artifacts/mnt/user-data/outputs/paper.pdf?preview=true").then((r) => r.headers.get("Content-Type") + " " + (r.headers.get("Content-Disposition") ?? "").split(";")[0])`, &kind); kind != "application/pdf inline" {
		t.Errorf("the PDF is served as %q", kind)
	}
	open("page.html")
	p.until("a page stands in a sandboxed frame", `document.querySelector(".files-drawer iframe")?.getAttribute("sandbox") === "allow-scripts"`)
	var origin string
	p.eval(`new Promise((done) => { const f = document.querySelector("iframe"); const see = () => { let inside = "opaque"; try { inside = String(f.contentDocument?.body?.innerText); if (inside === "null" || inside === "undefined") inside = "opaque"; } catch {} done(inside); }; f.addEventListener("load", see); setTimeout(see, 3000); })`, &origin)
	if origin != "opaque" || p.is(`"pwned" in window`) {
		t.Errorf("the page can be reached: %q", origin)
	}
	p.press("Close")
	p.until("the drawer is closed, and the focus is back", `!document.querySelector(".files-drawer") && document.activeElement.getAttribute("aria-label") === "Open report.md"`)
	for _, address := range []string{"?format=zip", "/mnt/user-data/outputs/report.md?download=true"} {
		var disposition string
		p.eval(`fetch("/threads/" + location.hash.split("/")[2] + "/artifacts`+address+`").then((r) => r.headers.get("Content-Disposition"))`, &disposition)
		if !strings.HasPrefix(disposition, "attachment") {
			t.Errorf("%s is %q, want a download", address, disposition)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, url := range p.requests {
		if strings.Contains(url, "evil") {
			t.Errorf("a request left for %s", url)
		}
	}
}

func TestModelThinkingAndAssistantAreChosenAndRemembered(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.until("there is a choice of models that can be used", `[...document.querySelectorAll(".pick select")].at(-1)?.options.length === 2`)
	pick := func(which int, value string) {
		p.eval(`{ const s = document.querySelectorAll(".pick select")[`+string(rune('0'+which))+`]; s.value = `+quote(value)+`; s.dispatchEvent(new Event("change", { bubbles: true })); }`, nil)
	}
	const think = `[...document.querySelectorAll(".pick.toggle")].find((b) => b.innerText === "Think")`
	if p.is(think) {
		t.Error("a model that cannot think is asked to")
	}
	p.until("research is offered", `[...document.querySelectorAll(".pick.toggle")].some((b) => b.innerText === "Research" && b.getAttribute("aria-pressed") === "false")`)
	pick(0, "thinker")
	p.until("it thinks unless it is told not to", think+`?.getAttribute("aria-pressed") === "true"`)
	p.press("Think")
	p.until("it is off", think+`?.getAttribute("aria-pressed") === "false"`)
	p.ask("Which model?")
	p.until("it is answered", complete)
	if got := p.text(".message"); !strings.Contains(got, `"model_name":"thinker"`) || !strings.Contains(got, `"thinking_enabled":false`) {
		t.Errorf("the run was configured with %q", got)
	}
	p.reload()
	p.until("the thread remembers", `document.querySelectorAll(".pick select")[0]?.value === "thinker" && `+think+`?.getAttribute("aria-pressed") === "false"`)
	p.press("Answer again")
	p.until("another version has the same model", `document.querySelector(".question-tools")?.innerText.includes("2 / 2") && document.querySelector(".message")?.innerText.includes("thinker")`)
	p.press("Research")
	p.ask("Look it up")
	p.until("the other assistant answers", `document.querySelector(".turn:last-child .message")?.innerText.includes("The researcher answers.")`)
	p.clean()
}

func TestFormulasAreSetAndHostileOnesAreNot(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Say: Energy is $E = mc^2$, and\n\n$$\n\\frac{a}{b} \\le \\sqrt{2}\n$$\n\nbut not $\\href{javascript:pwned=1}{x}$ nor $\\frac{$ nor a price of $5 or $6.")
	p.until("it is answered", complete)
	p.until("formulas are set", `document.querySelectorAll(".message math").length >= 2 && document.querySelector(".message math mfrac") && document.querySelector(".message math msup")`)
	if p.is(`document.querySelector(".message math [href], .message math [style], .message a")`) {
		t.Errorf("a formula has a link or a style of its own")
	}
	if got := p.text(".message"); !strings.Contains(got, "a price of $5 or $6") {
		t.Errorf("prices are %q", got)
	}
	p.clean()
}

func TestPicturesAmongTheFilesOfAThreadAreShownInItsText(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask("Show the dot")
	p.until("it is shown", complete+` && document.querySelector('.message img[alt="the dot"]')?.naturalWidth === 1`)
	p.until("one that is not there is its name", `!document.querySelector('.message img[alt="gone"]') && document.querySelector(".message").innerText.includes("gone")`)
	if p.is(`document.querySelectorAll(".message img").length !== 1`) {
		t.Errorf("what is no picture of the thread is loaded: %s", p.text(".message"))
	}
	p.mu.Lock()
	for _, url := range p.requests {
		if strings.Contains(url, "x.png") || strings.Contains(url, "search.png") || strings.Contains(url, "page.html") {
			t.Errorf("it asked for %s", url)
		}
	}
	p.mu.Unlock()
	p.press("the report")
	p.until("a link to a file opens it beside", `document.querySelector(".files-drawer .md strong")?.innerText === "25 cm"`)
	p.reload()
	p.until("it is shown after a reload", `document.querySelector('.message img[alt="the dot"]')?.naturalWidth === 1`)
	p.clean()
}
