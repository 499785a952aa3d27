package export

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// document is a report as plain data: what formats that are no HTML are made of.
type document struct {
	title  string
	blocks []block
	notes  [][]run // what [^n] refer to, in the order in which the text does

	references string // the heading of the notes, where they have one of their own
}

type kind int

const (
	paragraph kind = iota
	heading
	listItem
	code
	table
	rule
)

// block is a paragraph, or what stands in the place of one.
type block struct {
	kind   kind
	level  int    // of a heading, from 1; of a list, from 0
	mark   string // of a list's item: "•" or "3."
	quotes int    // how many quotations it stands in
	runs   []run  // of a code block: one
	rows   [][][]run
}

// run is a stretch of text that looks the same.
type run struct {
	text                       string
	bold, italic, mono, struck bool
	link                       string
	note                       int    // a reference to a note, from 1; text is empty
	picture                    string // the address of a picture; text says what it shows
}

// read takes a report apart. HTML inside of it is left out.
func read(source string) document {
	r := reader{source: []byte(source)}
	r.doc.title = titleOf(source)
	r.children(markdown.Parser().Parse(text.NewReader(r.source)), block{})
	return r.doc
}

type reader struct {
	source []byte
	doc    document
}

func (r *reader) children(n ast.Node, in block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.block(c, in)
	}
}

// block reads a node that is a block. in says where it stands.
func (r *reader) block(n ast.Node, in block) {
	switch n := n.(type) {
	case *ast.Heading:
		in.kind, in.level = heading, n.Level
		r.put(n, in)
	case *ast.Paragraph, *ast.TextBlock:
		r.put(n, in)
	case *ast.Blockquote:
		in.quotes++
		r.children(n, in)
	case *ast.List:
		r.list(n, in)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		in.kind = code
		in.runs = []run{{text: strings.TrimRight(r.lines(n), "\n"), mono: true}}
		r.doc.blocks = append(r.doc.blocks, in)
	case *ast.ThematicBreak:
		in.kind = rule
		r.doc.blocks = append(r.doc.blocks, in)
	case *extast.Table:
		in.kind = table
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			_, head := row.(*extast.TableHeader)
			var cells [][]run
			for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
				cells = append(cells, r.inline(cell, run{bold: head}))
			}
			in.rows = append(in.rows, cells)
		}
		r.doc.blocks = append(r.doc.blocks, in)
	case *extast.FootnoteList:
		for note := n.FirstChild(); note != nil; note = note.NextSibling() {
			var runs []run
			for p := note.FirstChild(); p != nil; p = p.NextSibling() {
				runs = append(runs, r.inline(p, run{})...)
			}
			r.doc.notes = append(r.doc.notes, runs)
		}
	case *ast.HTMLBlock: // not ours
	default:
		r.children(n, in)
	}
}

// put adds a paragraph, if there is anything in it.
func (r *reader) put(n ast.Node, in block) {
	if in.runs = r.inline(n, run{}); len(in.runs) > 0 {
		r.doc.blocks = append(r.doc.blocks, in)
	}
}

func (r *reader) list(n *ast.List, in block) {
	number := n.Start
	level := in.level
	if in.kind == listItem {
		level++
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "•"
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + "."
			number++
		}
		for c := item.FirstChild(); c != nil; c = c.NextSibling() {
			r.block(c, block{kind: listItem, level: level, mark: mark, quotes: in.quotes})
			mark = "" // what follows belongs to the same item
		}
	}
}

func (r *reader) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(r.source))
	}
	return b.String()
}

// inline reads what is inside of a block. as is how it looks there.
func (r *reader) inline(n ast.Node, as run) (out []run) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, r.span(c, as)...)
	}
	return out
}

func (r *reader) span(n ast.Node, as run) []run {
	switch n := n.(type) {
	case *ast.Text:
		as.text = string(n.Value(r.source))
		switch {
		case n.HardLineBreak():
			as.text += "\n"
		case n.SoftLineBreak():
			as.text += " "
		}
		return []run{as}
	case *ast.String:
		as.text = string(n.Value)
		return []run{as}
	case *ast.CodeSpan:
		as.mono = true
		return r.inline(n, as)
	case *ast.Emphasis:
		if n.Level > 1 {
			as.bold = true
		} else {
			as.italic = true
		}
		return r.inline(n, as)
	case *extast.Strikethrough:
		as.struck = true
		return r.inline(n, as)
	case *ast.Link:
		as.link = safeLink(string(n.Destination))
		return r.inline(n, as)
	case *ast.AutoLink:
		as.text, as.link = string(n.Label(r.source)), safeLink(string(n.URL(r.source)))
		return []run{as}
	case *ast.Image:
		as.picture = string(n.Destination)
		for _, said := range r.inline(n, run{}) {
			as.text += said.text
		}
		return []run{as}
	case *extast.TaskCheckBox:
		as.text = "☐ "
		if n.IsChecked {
			as.text = "☑ "
		}
		return []run{as}
	case *extast.FootnoteLink:
		return []run{{note: n.Index}}
	case *extast.FootnoteBacklink, *ast.RawHTML:
		return nil
	}
	return r.inline(n, as)
}

// safeLink is an address that a reader may be led to; empty for any other.
func safeLink(address string) string {
	lower := strings.ToLower(address)
	for _, scheme := range []string{"http://", "https://", "mailto:"} {
		if strings.HasPrefix(lower, scheme) {
			return address
		}
	}
	return ""
}
