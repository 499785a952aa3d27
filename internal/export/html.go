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
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// HTML is a report as one page that needs no other file. Citations [^n] are links to their references, and back.
func HTML(report string, o Options) ([]byte, error) {
	source := []byte(report)
	tree := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if img, ok := n.(*ast.Image); ok && entering {
			if data, ok := o.inside(string(img.Destination)); ok {
				img.Destination = data
			}
		}
		return ast.WalkContinue, nil
	})
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, tree); err != nil {
		return nil, fmt.Errorf("make a page of a report: %w", err)
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, frame, html.EscapeString(o.Locale), html.EscapeString(titleOf(report)), style, body.String())
	return page.Bytes(), nil
}

// inside is a picture as an address that needs no other file. A browser runs nothing of a picture, also of one that is drawn by
// instructions.
func (o Options) inside(address string) ([]byte, bool) {
	kind := ""
	data, ok := o.bytes(address)
	if _, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		kind = format
	} else if strings.HasSuffix(strings.ToLower(address), ".svg") {
		kind = "svg+xml"
	}
	if !ok || kind == "" {
		return nil, false
	}
	return []byte("data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)), true
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
img { max-width: 100%; height: auto; }
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
