package ui_test

import (
	"os"
	"testing"
)

// TestPictures takes the pictures of docs/screens, for people to look at: PAGE_SHOTS=/tmp/shots go test ./ui -run Pictures
func TestPictures(t *testing.T) {
	if os.Getenv("PAGE_SHOTS") == "" {
		t.Skip("it makes pictures for people; PAGE_SHOTS names the folder to put them in")
	}
	s := newStage(t)
	p := browse(t).open(s.url())
	p.size(1360, 900, false)
	p.dark(false)
	p.until("the examples are there", `document.querySelector(".offline")`)
	p.shot("first-light")
	p.dark(true)
	p.shot("first-dark")
	p.dark(false)

	ended := func(n int) {
		p.until("the answer is complete", `[...document.querySelectorAll(".turn .foot-row")].length >= `+string(rune('0'+n)))
	}
	for _, q := range []string{"Kaub gauge, daily means of last summer", "长江与莱茵河货运量对比", "WebSocket close codes, compared", "Why are the deltas of the Po sinking?"} {
		p.visit(s.url() + "/#/")
		p.ask(q)
		ended(1)
	}
	p.visit(s.url() + "/#/")
	p.ask("Clean up gauge exports")
	p.until("it asks", `document.querySelector(".ask")`)
	p.shot("ask-light")
	p.visit(s.url() + "/#/")
	p.ask("After a server crash, what must a browser do so that a streamed answer continues without a doubled or a missing word?")
	ended(1)
	p.eval(`document.querySelector(".work-head").click()`, nil)
	p.click(".message li:nth-child(2) .chip")
	p.until("the drawer is open", `document.querySelector(".drawer mark")`)
	p.eval(`document.querySelector(".scroller").scrollTop = 0`, nil)
	p.until("threads are listed", `document.querySelector(".thread-asks")`)
	p.shot("chat-light")
	p.dark(true)
	p.shot("chat-dark")
	p.size(390, 844, true)
	p.shot("phone-source-dark")
	p.click(".drawer .bar .icon-button:last-child")
	p.dark(false)
	p.eval(`document.querySelector(".scroller").scrollTop = 260`, nil)
	p.shot("phone-chat-light")
	p.visit(s.url() + "/#/threads")
	p.until("threads are listed", `document.querySelector(".thread-asks")`)
	p.shot("phone-threads-light")
	p.size(1360, 900, false)

	p.visit(s.url() + "/#/")
	p.ask("Tell the story of the river")
	p.until("some is written", `document.querySelectorAll(".md li").length > 4`)
	p.shot("stream-light")
	p.visit(s.url() + "/#/")
	p.ask("After a server crash, what must a browser do?")
	ended(1)
	p.eval(`location.hash = "#/run/" + document.querySelector(".turn").dataset.task`, nil)
	p.until("the inspector shows frames", `document.querySelectorAll(".event").length > 20`)
	p.eval(`location.hash = location.hash + "?seq=60"`, nil)
	p.until("it is scrubbed", `document.querySelector(".pane .raw")?.innerText.includes('"sequence_number": 60')`)
	p.shot("inspect-light")

	p.size(1100, 3400, false)
	p.visit(s.url() + "/#/components")
	p.until("the page of components is there", `document.querySelectorAll(".gallery section").length > 10`)
	p.until("code is coloured", `document.querySelector(".hljs-keyword")`)
	p.shot("components-light")
	p.dark(true)
	p.shot("components-dark")
	p.clean()
}
