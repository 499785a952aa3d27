package ui_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

// choose gives a file to an input, as the browser's own dialog does.
func (p *tab) choose(selector, path string) {
	p.t.Helper()
	var doc struct {
		Root struct{ NodeID int }
	}
	p.do("DOM.getDocument", map[string]any{}, &doc)
	var node struct{ NodeID int }
	p.do("DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": selector}, &node)
	p.do("DOM.setFileInputFiles", map[string]any{"files": []string{path}, "nodeId": node.NodeID}, nil)
}

// archive writes an archive with one file.
func archive(t *testing.T, name, file, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create(file)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFactsAreRememberedChangedForgottenAndSwitchedOff(t *testing.T) {
	s := newStageWith(t, "whole")
	p := browse(t).open(s.url() + "/#/memory")
	p.until("nothing is remembered yet", `document.querySelector(".shelf")?.innerText.includes("Nothing here yet.")`)
	for _, fact := range []string{"I sail on the Rhine.", `My boat is <b onclick=pwned=1>red</b>.`} {
		p.fill(".shelf input", fact)
		p.press("Remember")
		p.until("it is remembered", `[...document.querySelectorAll(".fact .grow")].some((e) => e.innerText === `+quote(fact)+`) && document.querySelector(".shelf form .field").value === ""`)
	}
	p.press("Change: I sail on the Rhine.")
	p.until("it can be changed", `document.querySelector(".facts form input")?.value === "I sail on the Rhine."`)
	p.fill(".facts form input", "I sail on the Danube.")
	p.key("Enter", 0)
	p.until("it is changed", `[...document.querySelectorAll(".fact .grow")].some((e) => e.innerText === "I sail on the Danube.") && !document.querySelector(".facts form")`)
	p.reload()
	p.until("it stays so", `document.querySelectorAll(".fact").length === 2 && document.querySelector(".facts").innerText.includes("I sail on the Danube.")`)
	p.press("Forget: I sail on the Danube.")
	p.until("one is forgotten", `document.querySelectorAll(".fact").length === 1 && !document.querySelector(".facts").innerText.includes("Danube")`)
	p.press("Switch off")
	p.until("memory is off", `document.querySelector(".shelf .tag.bad")?.innerText === "Off"`)
	p.reload()
	p.until("it stays off", `document.querySelector(".shelf .tag.bad")?.innerText === "Off"`)
	p.fill(".shelf input", "said while it is off")
	p.press("Remember")
	p.until("what then happens is told: it is kept, or why not", `[...document.querySelectorAll(".fact")].length === 2 || document.querySelector(".note.fail")?.innerText.length > 10`)
	p.press("Switch on")
	p.until("it is on again", `document.querySelector(".shelf .tag.good")?.innerText === "on"`)
	p.clean()
}

func TestSkillsAreReadSwitchedInstalledChangedAndRemoved(t *testing.T) {
	s := newStageWith(t, "whole")
	p := browse(t).open(s.url() + "/#/skills")
	const built = `[data-skill="deep-research"]`
	p.until("those that are built in are listed", `document.querySelector('`+built+` .tag.good')?.innerText === "on"`)
	p.eval(`[...document.querySelectorAll('`+built+` button')].find((b) => b.innerText === "Read").click()`, nil)
	p.until("its text can be read", `document.querySelector(".skill-text .md")?.innerText.length > 100 && !document.querySelector(".skill-text").innerText.startsWith("---")`)
	p.eval(`[...document.querySelectorAll('`+built+` button')].find((b) => b.innerText === "Switch off").click()`, nil)
	p.until("it is off", `document.querySelector('`+built+`.off')`)
	p.reload()
	p.until("it stays off", `document.querySelector('`+built+`.off')`)
	p.eval(`[...document.querySelectorAll('`+built+` button')].find((b) => b.innerText === "Switch on").click()`, nil)
	p.until("it is on", `document.querySelector('`+built+`:not(.off)')`)
	if p.is(`document.querySelector('` + built + ` [aria-label^="Delete"]')`) {
		t.Error("a skill that is everybody's can be removed")
	}

	p.choose(`.shelf input[type=file]`, archive(t, "bad.skill", "README.md", "no skill"))
	p.until("an archive that is no skill is refused with the reason", `document.querySelector(".note.fail")?.innerText.includes("SKILL.md")`)
	p.choose(`.shelf input[type=file]`, archive(t, "gauges.skill", "gauges/SKILL.md", "---\nname: gauges\ndescription: Reads <b>gauges</b>.\n---\nLook at Kaub first."))
	const own = `[data-skill="gauges"]`
	p.until("a skill is installed", `document.querySelector('`+own+`')?.innerText.includes("Reads <b>gauges</b>.") && !document.querySelector(".note.fail")`)
	p.eval(`[...document.querySelectorAll('`+own+` button')].find((b) => b.innerText === "Change").click()`, nil)
	p.until("its text is there to be changed", `document.querySelector(".skill-edit textarea")?.value.includes("Look at Kaub first.")`)
	p.fill(".skill-edit textarea", "no skill any more")
	p.press("Save")
	p.until("a text that is no skill is refused", `document.querySelector(".note.fail")?.innerText.length > 10 && document.querySelector(".skill-edit")`)
	p.fill(".skill-edit textarea", "---\nname: gauges\ndescription: Reads levels.\n---\nLook at Ruhrort first.")
	p.press("Save")
	p.until("it is changed", `document.querySelector('`+own+`')?.innerText.includes("Reads levels.") && !document.querySelector(".skill-edit")`)
	p.press("Delete: gauges")
	p.until("it is gone", `!document.querySelector('`+own+`')`)
	p.clean()
}

func TestToolsAndServersAreListedWithWhatTheyCanDo(t *testing.T) {
	s := newStageWith(t, "whole")
	p := browse(t).open(s.url() + "/#/tools")
	p.until("tools are listed by their groups", `document.querySelectorAll(".tool-list li").length > 4 && [...document.querySelectorAll(".shelf h2")].some((h) => h.innerText === "files")`)
	p.until("each says what it can do", `[...document.querySelectorAll(".tool-list li")].some((e) => e.innerText.includes("write_file") && e.innerText.includes("writes"))`)
	p.until("a group that is off says why", `document.querySelector(".shelf .note")?.innerText === "there is no key for a search engine"`)
	p.eval(`[...document.querySelectorAll(".tool-list summary")].find((e) => e.innerText.includes("write_file")).click()`, nil)
	p.until("its arguments are told", `document.querySelector(".tool-list details[open] .tool-fields")?.innerText.includes("path")`)
	p.until("servers are listed and were not asked", `document.querySelectorAll(".shelf .card").length === 2 && !document.querySelector(".card .tool-list")`)
	p.eval(`document.querySelectorAll(".card button")[0].click()`, nil)
	p.until("one that is asked tells its tools", `document.querySelectorAll(".card")[0].innerText.includes("1 tools") && document.querySelectorAll(".card")[0].querySelector(".tool-name")?.innerText === "boats__count"`)
	p.eval(`document.querySelectorAll(".card button")[1].click()`, nil)
	p.until("or why it cannot be used", `document.querySelectorAll(".card")[1].querySelector(".note.fail")?.innerText.length > 10`)
	if p.is(`document.body.innerText.includes("127.0.0.1:") || document.body.innerText.includes("s3cret")`) {
		t.Errorf("the page tells where a server is, or its key: %s", p.text(".card"))
	}
	p.clean()
}
