package document

import (
	"encoding/xml"
	"errors"
	"strings"
)

// readDOCX reads the text of a word processor's file: headings by their style, lists, tables, and notes at the end. What
// was deleted with changes tracked is left out.
func readDOCX(a *archive) (Document, error) {
	levels, err := headingStyles(a)
	if err != nil {
		return Document{}, err
	}
	data, err := a.read("word/document.xml")
	if err != nil {
		return Document{}, err
	}
	w := &writer{levels: levels}
	if err := w.run(data); err != nil {
		return Document{}, err
	}
	for _, part := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		data, err := a.read(part)
		if errors.Is(err, errNoPart) {
			continue
		}
		if err != nil {
			return Document{}, err
		}
		if err := w.run(data); err != nil {
			return Document{}, err
		}
	}
	doc := a.core()
	if doc.Title == "" {
		doc.Title = w.title
	}
	doc.Sections = []Section{{Text: w.out.String()}}
	return doc, nil
}

// headingStyles finds the styles that are headings: by outline level, or by their name in English, which every program
// writes whatever language it speaks. A title is a heading of level 1.
func headingStyles(a *archive) (map[string]int, error) {
	levels := map[string]int{}
	data, err := a.read("word/styles.xml")
	if errors.Is(err, errNoPart) {
		return levels, nil
	}
	if err != nil {
		return nil, err
	}
	style := ""
	err = each(data, func(e xml.StartElement) {
		switch e.Name.Local {
		case "style":
			style = attribute(e, "styleId")
		case "name":
			name := strings.ToLower(attribute(e, "val"))
			if n, ok := strings.CutPrefix(name, "heading "); ok && number(n) > 0 {
				levels[style] = number(n)
			} else if name == "title" {
				levels[style] = 1
			}
		case "outlineLvl":
			if n := number(attribute(e, "val")); n < 6 && levels[style] == 0 {
				levels[style] = n + 1
			}
		}
	}, nil, nil)
	return levels, err
}

// writer turns the body of a text into Markdown.
type writer struct {
	levels map[string]int
	out    strings.Builder
	title  string // the first heading

	text    strings.Builder // of the paragraph
	level   int             // of its heading; 0: none
	item    bool            // it is in a list
	indent  int
	visible bool // inside of w:t
	deleted int  // inside of so many w:del

	tables []*grid // those that are open, the innermost last
}

type grid struct {
	rows [][]string
	cell strings.Builder
}

func (w *writer) run(data []byte) error { return each(data, w.start, w.end, w.chars) }

func (w *writer) start(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		w.text.Reset()
		w.level, w.item, w.indent = 0, false, 0
	case "pStyle":
		w.level = w.levels[attribute(e, "val")]
		w.item = w.item || strings.HasPrefix(attribute(e, "val"), "List")
	case "outlineLvl":
		if n := number(attribute(e, "val")); n < 6 && w.level == 0 {
			w.level = n + 1
		}
	case "numPr":
		w.item = true
	case "ilvl":
		w.indent = min(number(attribute(e, "val")), 8)
	case "t":
		w.visible = true
	case "tab":
		w.text.WriteByte('\t')
	case "br", "cr":
		w.text.WriteByte('\n')
	case "noBreakHyphen":
		w.text.WriteByte('-')
	case "del", "moveFrom":
		w.deleted++
	case "tbl":
		w.tables = append(w.tables, &grid{})
	case "tr":
		if g := w.table(); g != nil {
			g.rows = append(g.rows, nil)
		}
	case "tc":
		if g := w.table(); g != nil {
			g.cell.Reset()
		}
	}
}

func (w *writer) table() *grid {
	if len(w.tables) == 0 {
		return nil
	}
	return w.tables[len(w.tables)-1]
}

func (w *writer) chars(s string) {
	if w.visible && w.deleted == 0 {
		w.text.WriteString(s)
	}
}

func (w *writer) end(name string) {
	switch name {
	case "t":
		w.visible = false
	case "del", "moveFrom":
		w.deleted = max(w.deleted-1, 0)
	case "p":
		w.paragraph(strings.Trim(w.text.String(), " \t\n"))
		w.text.Reset()
	case "tc":
		if g := w.table(); g != nil && len(g.rows) > 0 {
			last := len(g.rows) - 1
			g.rows[last] = append(g.rows[last], g.cell.String())
			g.cell.Reset()
		}
	case "tbl":
		g := w.table()
		if g == nil {
			return
		}
		w.tables = w.tables[:len(w.tables)-1]
		var b strings.Builder
		cells(&b, g.rows)
		if outer := w.table(); outer != nil { // a table in a table is its text
			for _, r := range g.rows {
				outer.cell.WriteString(strings.Join(r, " ") + " ")
			}
			return
		}
		w.out.WriteString(b.String())
	}
}

func (w *writer) paragraph(text string) {
	if text == "" {
		return
	}
	if g := w.table(); g != nil {
		if g.cell.Len() > 0 {
			g.cell.WriteByte(' ')
		}
		g.cell.WriteString(text)
		return
	}
	switch {
	case w.level > 0:
		text = strings.Join(strings.Fields(text), " ")
		if w.title == "" {
			w.title = text
		}
		w.out.WriteString(strings.Repeat("#", min(w.level, 6)) + " " + text + "\n\n")
	case w.item:
		w.out.WriteString(strings.Repeat("  ", w.indent) + "- " + text + "\n")
		if w.indent == 0 {
			w.out.WriteByte('\n')
		}
	default:
		w.out.WriteString(text + "\n\n")
	}
}
