package ui_test

import (
	"os"
	"testing"
)

// TestPictures takes the pictures of docs/screens, twelve views in light, in dark and on a phone, for people to look at:
// PAGE_SHOTS=/tmp/shots go test ./ui -run Pictures
func TestPictures(t *testing.T) {
	if os.Getenv("PAGE_SHOTS") == "" {
		t.Skip("it makes pictures for people; PAGE_SHOTS names the folder to put them in")
	}
	c := browse(t)
	var p *tab
	view := func(name string) {
		t.Helper()
		p.size(1360, 900, false)
		for _, dark := range []bool{false, true} {
			p.dark(dark)
			p.until("diagrams have its colours", `[...document.querySelectorAll(".md-drawing")].every((e) => e.dataset.dark === `+quote(map[bool]string{false: "false", true: "true"}[dark])+`)`)
			p.shot(name + map[bool]string{false: "-light", true: "-dark"}[dark])
		}
		p.dark(false)
		p.until("diagrams have its colours", `[...document.querySelectorAll(".md-drawing")].every((e) => e.dataset.dark === "false")`)
		p.size(390, 844, true)
		p.until("it is laid out", `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
		p.shot(name + "-phone")
		p.size(1360, 900, false)
	}
	const asked = `document.querySelector(".ask")`

	fresh := newStageWith(t, "offline")
	p = c.open(fresh.url())
	p.size(1360, 900, false)
	p.dark(false)
	p.until("the examples are there", `document.querySelector(".offline") && document.querySelector(".examples")?.innerText.includes("A team")`)
	view("first")
	p.click(".examples li:nth-child(2) button")
	p.until("it asks", `document.querySelector(".review-steps")`)
	p.press("Comment on step 1")
	p.fill(".step-remark textarea", "Also what a second tab does")
	p.eval(`document.activeElement.blur()`, nil)
	view("plan")
	p.press("Accept the changes and start")
	p.until("the report is there", `document.querySelector(".report .references li") && `+complete)
	p.eval(`document.querySelectorAll(".report-text .md .chip")[1]?.click()`, nil)
	p.until("a passage is open, and nothing waits", `document.querySelector(".peek .passage") && !document.querySelector(".thread-asks")`)
	p.eval(`document.querySelector(".report-scroll").scrollTop = 0; document.activeElement.blur()`, nil)
	view("report")
	p.visit(fresh.url() + "/#/")
	p.click(".examples li:nth-child(3) button")
	p.until("the team is done", complete)
	p.eval(`document.querySelector(".scroller").scrollTop = 0; document.activeElement.blur()`, nil)
	view("team")
	p.visit(fresh.url() + "/#/documents")
	p.fill(".shelf input", "how does a reader resume a stream?")
	p.key("Enter", 0)
	p.until("passages are found", `document.querySelectorAll(".finds .find").length > 1`)
	view("documents")

	whole := newStageWith(t, "whole")
	p = c.open(whole.url() + "/#/tools")
	p.until("tools are listed", `document.querySelectorAll(".tool-list li").length > 4`)
	view("tools")

	s := newStage(t)
	p = c.open(s.url())
	p.size(1360, 900, false)
	p.dark(false)
	for _, q := range []string{"Kaub gauge, daily means of last summer", "长江与莱茵河货运量对比", "WebSocket close codes, compared", "Why are the deltas of the Po sinking?"} {
		p.visit(s.url() + "/#/")
		p.ask(q)
		p.until("it is answered", complete)
	}
	p.visit(s.url() + "/#/")
	p.ask("Approve")
	p.until("it asks", asked)
	view("approval")
	p.visit(s.url() + "/#/")
	p.ask("Write the report")
	p.until("it is done", complete)
	p.press("Open report.md")
	p.until("it is shown", `document.querySelector(".files-drawer .md strong")`)
	view("files")
	p.visit(s.url() + "/#/")
	p.ask("After a server crash, what must a browser do so that a streamed answer continues without a doubled or a missing word?")
	p.until("it is answered", complete)
	p.eval(`document.querySelector(".work-head").click()`, nil)
	p.click(".message li:nth-child(2) .chip")
	p.until("the drawer is open", `document.querySelector(".drawer mark")`)
	p.eval(`document.querySelector(".scroller").scrollTop = 0; document.activeElement.blur()`, nil)
	p.until("threads are listed", `document.querySelector(".thread-asks")`)
	view("conversation")
	p.eval(`location.hash = "#/run/" + document.querySelector(".turn").dataset.task`, nil)
	p.until("checkpoints are there", `document.querySelectorAll(".diamond").length >= 4`)
	p.eval(`document.querySelectorAll(".diamond")[4].click()`, nil)
	p.until("a difference is shown", `document.querySelector(".state-pane .diff-line.new")`)
	view("inspector")
	p.visit(s.url() + "/#/")
	p.ask("Draw when a boat sails, and how a page goes on")
	p.until("diagrams are drawn", complete+` && document.querySelectorAll(".md-drawing img").length === 2`)
	p.eval(`document.querySelector(".scroller").scrollTop = 0; document.activeElement.blur()`, nil)
	view("diagrams")
	p.visit(s.url() + "/#/usage")
	p.until("usage is summed", `document.querySelector(".figures")`)
	view("usage")
	p.size(1100, 7600, false)
	p.visit(s.url() + "/#/components")
	p.until("the page of components is there", `document.querySelectorAll(".gallery section").length > 10`)
	p.until("code is coloured", `document.querySelector(".hljs-keyword")`)
	p.shot("components")
	p.clean()
}
