// Package export makes files for people out of reports, which are Markdown.
//
// # Laws
//
//   - Markdown is the truth: an export shows what it says, and adds nothing but a frame. What it cannot show it tells.
//   - The text is not trusted. HTML inside of it is shown to nobody, links lead only where a browser may safely go, and the
//     page loads nothing from anywhere.
package export

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// HTML is a report as one page that needs no other file. Citations [^n] are links to their references, and back.
func HTML(text, locale string) ([]byte, error) {
	var body bytes.Buffer
	if err := markdown.Convert([]byte(text), &body); err != nil {
		return nil, fmt.Errorf("make a page of a report: %w", err)
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, frame, html.EscapeString(locale), html.EscapeString(titleOf(text)), style, body.String())
	return page.Bytes(), nil
}

const frame = `<!doctype html>
<html lang="%s">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
%s</main>
</body>
</html>
`

const style = `
body { margin: 0; background: #fff; color: #1c1c1c; font: 17px/1.6 Georgia, "Noto Serif", "Songti SC", serif; }
main { max-width: 42em; margin: 0 auto; padding: 3em 1.5em 6em; }
h1, h2, h3 { line-height: 1.25; font-family: system-ui, "Noto Sans", sans-serif; }
h2 { margin-top: 2em; }
blockquote { margin: 1em 0; padding-left: 1em; border-left: 3px solid #ccc; color: #555; }
table { border-collapse: collapse; } th, td { border: 1px solid #ccc; padding: .3em .6em; text-align: left; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; } pre { overflow-x: auto; background: #f6f6f6; padding: 1em; }
.footnotes { font-size: .85em; overflow-wrap: anywhere; } sup a { text-decoration: none; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd; } blockquote { color: #aaa; } pre { background: #222; } a { color: #8ab4f8; } }
`

// titleOf is the first heading.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "Report"
}
