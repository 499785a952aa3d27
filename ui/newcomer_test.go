package ui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// download presses a button and waits for the file that comes of it.
func (p *tab) download(press func()) (name, text string) {
	p.t.Helper()
	dir := p.t.TempDir()
	p.do("Page.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": dir}, nil)
	press()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			p.t.Fatal(err)
		}
		if len(files) == 1 && !strings.HasSuffix(files[0], ".crdownload") {
			data, err := os.ReadFile(files[0])
			if err != nil {
				p.t.Fatal(err)
			}
			if len(data) > 0 {
				return filepath.Base(files[0]), string(data)
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain for a download; there is %q", files)
		}
	}
}

// lightsUp presses a button that has something light up, which may be over before the test looks: the page looks itself.
func (p *tab) lightsUp(what, button, lit string) {
	p.t.Helper()
	p.until("there is "+button, `document.querySelector(`+quote(button)+`)`)
	p.eval(`{ window.lit = false; new MutationObserver(() => { lit ||= document.querySelector(`+quote(lit+".flash")+`) !== null; }).observe(document.body, { subtree: true, attributeFilter: ["class"] }); }`, nil)
	p.click(button)
	p.until(what, `lit`)
}

// A newcomer has an empty folder and no key, and reads nothing but the page.
func TestANewcomersPathFromAnEmptyFolderToAReportOnDisk(t *testing.T) {
	s := newStageWith(t, "offline")
	p := browse(t).open(s.url())
	p.size(1360, 900, false)
	p.until("the first screen says what answers, and how to have more", `document.querySelector(".offline")?.innerText.includes("OPENAI_API_KEY")`)
	p.until("three examples are offered", `document.querySelectorAll(".examples button").length === 3 && document.querySelector(".examples").innerText.includes("A research")`)

	p.click(".examples li:nth-child(1) button")
	p.until("the example is answered", complete)
	p.click(".message .chip")
	p.until("a citation opens its passage", `document.querySelector(".drawer .passage")?.innerText.length > 40`)
	p.lightsUp("a place leads back to where it is cited", ".drawer .places button", ".message .chip")
	p.key("Escape", 0)

	p.key("O", 2|8)
	p.click(".examples li:nth-child(2) button")
	p.until("the research shows its plan before anything runs", `document.querySelectorAll(".review-steps li").length >= 1`)
	var steps int
	p.eval(`document.querySelectorAll(".review-steps li").length`, &steps)
	p.press("Comment on step 1")
	p.fill(".step-remark textarea", "Say it in one sentence")
	if steps < 3 {
		p.press("Add a step")
		p.fill(".review-steps li:last-child .step-input", "How is a crash survived?")
	} else {
		p.press("Remove step 2")
	}
	p.press("Accept the changes and start")
	p.until("the report is written and opens beside", `document.querySelector(".report .report-text .md")?.innerText.length > 200`)
	p.until("it is complete", `document.querySelector(".turn:last-child[data-status=completed]") && document.querySelector(".report .references li")`)
	p.until("the plan says what came of each step", `document.querySelector(".plan")`)
	p.until("it has an outline", `document.querySelectorAll(".outline li").length >= 2`)
	p.eval(`[...document.querySelectorAll(".outline button")].at(-1).click()`, nil)
	p.until("which leads to its parts", `document.querySelector(".outline li.here:last-child") || document.querySelector(".outline li.here")`)

	p.click(".report-text .md .chip")
	p.until("a citation of it opens its passage below", `document.querySelector(".peek .passage")?.innerText.length > 20`)
	p.until("and lights up in the list of references", `document.querySelector(".references li.lit")`)
	p.lightsUp("from there it goes back into the text", ".references .backs button", ".report-text .md .chip")
	p.eval(`document.querySelector("#tab-sources").click()`, nil)
	p.until("all sources are listed, also those that are not cited", `document.querySelectorAll(".source-cards > li").length >= document.querySelectorAll(".peek").length`)
	p.eval(`document.querySelector("#tab-activity").click()`, nil)
	p.until("so is what was done", `document.querySelectorAll(".report .step, .report .step-with").length >= 1`)
	p.eval(`document.querySelector("#tab-report").click()`, nil)

	save := func(kind string) (string, string) {
		return p.download(func() {
			p.press("Download")
			item := `[...document.querySelectorAll(".menu button")].find((b) => b.innerText === ` + quote(kind) + `)`
			p.until("the menu has "+kind, item)
			p.eval(item+`.click()`, nil)
		})
	}
	name, text := save("Markdown")
	if !strings.HasSuffix(name, ".md") || !strings.Contains(text, "[^") || !strings.Contains(text, "# ") {
		t.Errorf("the Markdown file %s is %.300q", name, text)
	}
	name, text = save("HTML")
	if !strings.HasSuffix(name, ".html") || !strings.Contains(text, "<h1>") || !strings.Contains(text, `href="#ref-`) || !strings.Contains(text, `id="cite-`) || strings.Contains(text, "<script") || strings.Contains(text, "<button") {
		t.Errorf("the HTML file %s is %.600q", name, text)
	}
	// Other formats are made by the server, out of the file that the report grew in.
	for kind, begins := range map[string]string{"Word (DOCX)": "PK", "PowerPoint (PPTX)": "PK", "PDF": "%PDF-"} {
		if name, text = save(kind); !strings.HasPrefix(text, begins) || len(text) < 1000 {
			t.Errorf("the file %s for %s is %.40q", name, kind, text)
		}
	}
	address := hash(p)
	p.reload()
	p.until("a reload shows the report at the same address", `document.querySelector(".report .references li")`)
	if now := hash(p); now != address || !strings.Contains(now, "/report/") {
		t.Errorf("the address is %q, was %q", now, address)
	}
	p.key("Escape", 0)
	p.until("Escape closes it", `!document.querySelector(".report")`)
	p.clean()
}

func TestATeamStandsSideBySideAndItsAnswerBelow(t *testing.T) {
	s := newStageWith(t, "offline")
	p := browse(t).open(s.url())
	p.size(1360, 900, false)
	p.until("three examples are offered", `document.querySelector(".examples")?.innerText.includes("A team")`)
	p.click(".examples li:nth-child(3) button")
	p.until("each expert has a column", `document.querySelectorAll(".expert").length >= 3`)
	p.until("the team is done", complete)
	p.until("each has said something", `[...document.querySelectorAll(".expert")].every((e) => e.querySelector(".md")?.innerText.length > 20)`)
	p.until("the phases are told", `document.querySelectorAll(".phases li.done").length >= 2`)
	p.until("the lead's answer stands below", `document.querySelector(".turn:last-child .answer > .message")?.innerText.length > 40`)
	if !p.is(`(() => { const xs = [...document.querySelectorAll(".expert")].map((e) => e.getBoundingClientRect()); return xs.every((b, i) => i === 0 || b.left >= xs[i - 1].right && b.top === xs[0].top); })()`) {
		t.Error("the experts do not stand side by side")
	}
	if p.is(`document.querySelector(".answer > .agent")`) {
		t.Error("an expert is listed twice")
	}
	const words = ".phases, .expert h4, .expert .md, .answer > .message"
	before := p.text(words)
	p.reload()
	p.until("a reload shows the same", complete+` && document.querySelectorAll(".expert .md").length >= 3`)
	if got := p.text(words); got != before {
		t.Errorf("after a reload: %q\nbefore: %q", got, before)
	}
	p.clean()
}
