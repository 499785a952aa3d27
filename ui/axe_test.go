package ui_test

import (
	"os"
	"testing"
)

// TestEveryPageIsAccessible has axe-core look at every page in both themes, for findings that are serious or worse.
func TestEveryPageIsAccessible(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		skip(t, "no axe-core: run npm ci in ui")
	}
	s := newStage(t)
	p := browse(t).open(s.url())
	check := func(name string) {
		t.Helper()
		for _, dark := range []bool{false, true} {
			p.dark(dark)
			p.eval(string(axe)+"; 0", nil)
			var found []struct {
				ID, Impact, Help string
				Where            []string
			}
			p.eval(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
				.map((v) => ({ ID: v.id, Impact: v.impact, Help: v.help, Where: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")) })))`, &found)
			for _, f := range found {
				t.Errorf("%s, dark %v: %s (%s): %s\n%q", name, dark, f.ID, f.Impact, f.Help, f.Where)
			}
		}
	}
	p.until("the first screen is there", `document.querySelector(".offline")`)
	check("first")
	p.ask("After a server crash, what must a browser do?")
	p.until("the answer is complete", complete)
	p.eval(`document.querySelectorAll(".work-head, .line-head").forEach((e) => e.click()); document.querySelectorAll(".message .chip")[1].click()`, nil)
	p.until("the drawer is open", `document.querySelector(".drawer mark")`)
	check("conversation")
	p.click(`.foot-row [aria-label="Inspect"]`)
	p.until("there are frames", `document.querySelectorAll(".event").length > 20`)
	check("inspector")
	run := hash(p)
	p.visit(s.url() + "/#/")
	p.ask("Clean up the exports")
	p.until("it asks", `document.querySelector(".ask")`)
	check("question")
	for _, question := range []string{"Approve", "Form", "Research"} {
		p.visit(s.url() + "/#/")
		p.ask(question)
		p.until("it asks", `document.querySelector(".ask")`)
		check("question " + question)
	}
	p.visit(s.url() + "/#/")
	p.ask("Write the report")
	p.until("it is done", complete)
	p.until("there are files", `document.querySelector(".files-button .badge")`)
	p.click(".files-button")
	p.until("they are listed", `document.querySelectorAll(".file-list li").length === 7`)
	check("files")
	p.click(".file-list li:nth-child(3) button")
	p.until("one is shown", `document.querySelector(".files-drawer .md-table")`)
	check("a file")
	p.key("k", 2)
	p.until("the palette is open", `document.querySelector(".palette-input")`)
	check("palette")
	p.key("Escape", 0)
	p.click(".rail footer button")
	p.until("the settings are open", `document.querySelector(".settings")`)
	check("settings")
	p.key("Escape", 0)
	p.visit(s.url() + "/#/components")
	p.until("components are there", `document.querySelectorAll(".gallery section").length > 10`)
	check("components")
	for _, place := range []string{"agents", "models", "usage", "documents"} {
		p.visit(s.url() + "/#/" + place)
		p.until("the page is there", `document.querySelector(".shelf h1")`)
		check(place)
	}
	for _, side := range []string{"Checkpoints", "Time and tokens by step", "values"} {
		p.visit(s.url() + "/" + run)
		p.press(side)
		p.until("it is read", `document.querySelectorAll(".diamond").length > 3 && !document.querySelector(".pane").innerText.includes("Loading")`)
		check("inspector, " + side)
	}
	p.press("As a table")
	check("inspector, lanes as a table")
	p.size(390, 844, true)
	p.visit(s.url() + "/#/threads")
	p.until("threads are listed", `document.querySelector(".thread")`)
	check("threads on a phone")

	p.size(1360, 900, false)
	fresh := newStageWith(t, "offline")
	p.visit(fresh.url())
	p.until("the examples are there", `document.querySelector(".examples")?.innerText.includes("A team")`)
	p.click(".examples li:nth-child(2) button")
	p.until("it asks", `document.querySelector(".review-steps")`)
	p.press("Comment on step 1")
	check("a plan with a comment")
	p.fill(".step-remark textarea", "In short")
	p.press("Accept the changes and start")
	p.until("the report is there", `document.querySelector(".report .references li") && `+complete)
	p.click(".report-text .md .chip")
	p.until("a passage is open", `document.querySelector(".peek .passage")`)
	check("report")
	for _, tab := range []string{"sources", "activity"} {
		p.eval(`document.querySelector("#tab-`+tab+`").click()`, nil)
		check("report, " + tab)
	}
	p.visit(fresh.url() + "/#/")
	p.click(".examples li:nth-child(3) button")
	p.until("the team is done", complete)
	check("team")

	whole := newStageWith(t, "whole")
	for place, there := range map[string]string{"tools": ".tool-list", "skills": "[data-skill]", "memory": ".shelf form"} {
		p.visit(whole.url() + "/#/" + place)
		p.until("the page is there", `document.querySelector(`+quote(there)+`)`)
		p.eval(`document.querySelector(".tool-list summary, [data-skill] button")?.click()`, nil)
		check(place)
	}
}
