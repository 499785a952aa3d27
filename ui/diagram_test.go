package ui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const (
	flowchart = "```mermaid\nflowchart LR\n  A[Gauge at Kaub] -->|below 40 cm| B{Load half?}\n  B -->|yes| C[Sail]\n  B -->|no| D[Wait]\n```"
	sequence  = "```mermaid\nsequenceDiagram\n  participant P as Page\n  participant S as Server\n  P->>S: Last-Event-ID: 5\n  S-->>P: 6, 7, 8\n```"
	broken    = "```mermaid\nflowchart LR\n  A[never closed --> \n```"
)

// svg is the picture of the nth diagram, as text.
func (p *tab) svg(n string) (text string) {
	p.t.Helper()
	p.eval(`decodeURIComponent(document.querySelectorAll(".md-drawing img")[`+n+`].src)`, &text)
	return text
}

func TestADiagramIsDrawnInAFrameOfItsOwnAndShownAsAPicture(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.dark(false)
	p.ask("Say: Without any diagram.")
	p.until("it is answered", complete)
	p.mu.Lock()
	for _, url := range p.requests {
		if strings.Contains(url, "diagram") {
			t.Errorf("what draws diagrams is loaded before there is one: %s", url)
		}
	}
	p.mu.Unlock()
	p.ask("Say: It goes so:\n\n" + flowchart + "\n\nand so:\n\n" + sequence + "\n\nbut not so:\n\n" + broken)
	const shown = `[...document.querySelectorAll(".md-drawing img")].filter((i) => i.complete && i.naturalWidth > 80 && i.naturalHeight > 40).length === 2`
	p.until("both are drawn", complete+` && `+shown)
	p.until("one that cannot be is its text, with the reason", `document.querySelector(".md-undrawn")?.innerText.length > 20 && [...document.querySelectorAll(".message pre")].some((e) => e.innerText.includes("never closed"))`)
	for n, want := range map[string]string{"0": "Gauge", "1": "Last-Event-ID"} {
		if got := p.svg(n); !strings.HasPrefix(got, "data:image/svg+xml") || !strings.Contains(got, want) {
			t.Errorf("picture %s has no %q: %.300s", n, want, got)
		}
	}
	if !p.is(`(() => { const f = document.querySelector(".diagram-frame"); try { return f.contentDocument === null && f.sandbox.value === "allow-scripts"; } catch { return true; } })()`) {
		t.Error("the page can look into the frame: it has an origin")
	}
	light := p.svg("0")
	p.dark(true)
	p.until("it is drawn in the colours of the dark", `decodeURIComponent(document.querySelector(".md-drawing img").src) !== `+quote(light)+` && `+shown)
	p.press("Source")
	p.until("its text can be read", `document.querySelector(".md-diagram pre")?.innerText.includes("A[Gauge at Kaub]")`)
	p.reload()
	p.until("a reload draws both again", shown)
	p.clean()
}

// Diagrams that want more than to be looked at. Each that runs tells the page; each that loads asks a server that counts.
func TestHostileDiagramsRunNothingAndLoadNothing(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.String())
	}))
	defer evil.Close()
	run := `parent.postMessage('pwned','*')`
	diagrams := []string{
		`flowchart LR; a["<img src=x onerror=RUN>"] --> b["<img src=EVIL/1.png>"]`,
		`flowchart LR; a["<script>RUN</script>"] --> b["<svg onload=RUN></svg>"]`,
		"flowchart LR\n a --> b\n click a href \"javascript:RUN\"\n click b call alert()",
		"flowchart LR\n a --> b\n click a \"EVIL/2\" _self",
		"%%{init: {\"securityLevel\": \"loose\", \"htmlLabels\": true, \"flowchart\": {\"htmlLabels\": true}}}%%\nflowchart LR\n a[\"<img src=EVIL/3.png onerror=RUN>\"]",
		"%%{init: {\"themeCSS\": \"*{background:url(EVIL/4.png)} @import 'EVIL/5.css';\"}}%%\nflowchart LR\n a --> b",
		"%%{init: {\"fontFamily\": \"x;} *{background:url(EVIL/6.png)} y{\"}}%%\nflowchart LR\n a --> b",
		"%%{init: {\"themeVariables\": {\"primaryColor\": \"red;background:url(EVIL/7.png)\", \"fontFamily\": \"</style><img src=EVIL/8.png>\"}}}%%\nflowchart LR\n a --> b",
		"---\nconfig:\n  securityLevel: loose\n  themeCSS: '* { background: url(EVIL/9.png) }'\n---\nflowchart LR\n a --> b",
		"flowchart LR\n a:::x --> b\n classDef x fill:url(EVIL/10.png),background:url(EVIL/11.png)\n style b fill:url(EVIL/12.svg#a)",
		"flowchart LR\n a@{ img: \"EVIL/13.png\", label: \"x\", pos: \"t\", w: 60, h: 60 }",
		"flowchart LR\n a@{ icon: \"fa:<img src=EVIL/14.png>\", label: \"x\" }",
		"sequenceDiagram\n participant A as <img src=x onerror=RUN>\n A->>A: <iframe src=EVIL/15></iframe>\n link A: x @ javascript:RUN\n links A: {\"x\": \"EVIL/16\"}",
		"sequenceDiagram\n A->>B: $$\\href{javascript:RUN}{x} \\includegraphics{EVIL/17.png}$$",
		"classDiagram\n class A[\"<object data=EVIL/18></object>\"]\n click A href \"javascript:RUN\"",
		"stateDiagram-v2\n s1: <embed src=EVIL/19>\n s1 --> s2: <style>@import 'EVIL/20.css'</style>",
		"erDiagram\n A ||--o{ B : \"<video src=EVIL/21 autoplay onerror=RUN>\"",
		"gantt\n title <base href=EVIL/>\n section <img src=x onerror=RUN>\n a :a1, 2026-01-01, 1d\n click a1 href \"javascript:RUN\"",
		"pie title <img src=EVIL/22.png>\n \"<svg/onload=RUN>\" : 40\n \"b\" : 60",
		"journey\n title x\n section <meta http-equiv=refresh content='0;url=EVIL/23'>\n a: 5: b",
		"flowchart LR\n a[\"`**x** <img src=EVIL/24.png> [x](javascript:RUN)`\"]",
		"flowchart LR\n a[\"\\u003cimg src=EVIL/25.png onerror=RUN\\u003e\"] --> b[\"#lt;img src=EVIL/26.png#gt;\"]",
		"flowchart LR\n a[\"&lt;img src=EVIL/27.png onerror=RUN&gt;\"]",
		"flowchart LR\n __proto__ --> constructor --> prototype",
	}
	var text strings.Builder
	for _, d := range diagrams {
		text.WriteString("```mermaid\n" + strings.NewReplacer("RUN", run, "EVIL", evil.URL).Replace(d) + "\n```\n\n")
	}
	s := newStage(t)
	p := browse(t).open(s.url())
	p.eval(`{ window.pwned = 0; addEventListener("message", (e) => { if (e.data === "pwned") pwned++; }); }`, nil)
	p.ask("Say: Look:\n\n" + text.String() + sequence)
	p.until("the last is drawn, and so each was tried", complete+` && [...document.querySelectorAll(".md-drawing img")].some((i) => i.complete && decodeURIComponent(i.src).includes("6, 7, 8"))`)
	// What is not drawn does not show what it would do.
	p.until("several of the others are drawn", `document.querySelectorAll(".md-drawing img").length >= 5`)
	if p.is(`pwned > 0 || "ran" in window`) {
		t.Error("a diagram has run a script")
	}
	if p.is(`document.querySelectorAll("iframe").length !== 1 || [...document.querySelectorAll("#app img")].some((i) => !i.src.startsWith("data:image/svg+xml")) || document.querySelector("#app script, #app style, #app object, #app embed, #app foreignObject")`) {
		t.Error("a diagram became markup of the page")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) > 0 {
		t.Errorf("diagrams have loaded %q", asked)
	}
}
