package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// readPPTX reads the slides in their order: title, text, tables, and the speaker's notes.
func readPPTX(a *archive, limits Limits) (Document, error) {
	data, err := a.read("ppt/presentation.xml")
	if err != nil {
		return Document{}, err
	}
	rels, err := a.relations("ppt/presentation.xml")
	if err != nil {
		return Document{}, err
	}
	var slides []string
	err = each(data, func(e xml.StartElement) {
		if e.Name.Local != "sldId" {
			return
		}
		for _, at := range e.Attr {
			if r, ok := rels[at.Value]; ok && at.Name.Local == "id" && at.Name.Space != "" {
				slides = append(slides, r.target)
			}
		}
	}, nil, nil)
	if err != nil {
		return Document{}, err
	}
	doc := a.core()
	for i, part := range slides {
		if i == limits.Parts {
			doc.Truncated = true
			break
		}
		s := &slide{}
		if err := s.read(a, part); err != nil {
			return Document{}, err
		}
		notes, err := a.relations(part)
		if err != nil {
			return Document{}, err
		}
		for _, r := range notes {
			if r.kind == "notesSlide" {
				n := &slide{notes: true}
				if err := n.read(a, r.target); err != nil {
					return Document{}, err
				}
				s.body.WriteString(n.body.String())
			}
		}
		text := s.body.String()
		if first, rest, ok := strings.Cut(strings.TrimLeft(text, "\n"), "\n"); s.title == "" && ok && len(first) <= 100 && !strings.HasPrefix(first, "-") && !strings.HasPrefix(first, "|") {
			s.title, text = first, rest // the first line stands for a title that nobody marked
		}
		if s.title != "" {
			text = "## " + s.title + "\n\n" + text
		}
		if doc.Title == "" {
			doc.Title = s.title
		}
		doc.Sections = append(doc.Sections, Section{fmt.Sprintf("slide %d", i+1), text})
	}
	return doc, nil
}

type slide struct {
	title string
	body  strings.Builder
	notes bool

	holder  string // what kind of place the shape fills: title, body, sldNum …
	text    strings.Builder
	level   int
	visible bool
	rows    [][]string
	cell    strings.Builder
	inTable bool
}

func (s *slide) read(a *archive, part string) error {
	data, err := a.read(part)
	if errors.Is(err, errNoPart) {
		return nil
	}
	if err != nil {
		return err
	}
	return each(data, s.start, s.end, func(t string) {
		if s.visible {
			s.text.WriteString(t)
		}
	})
}

func (s *slide) start(e xml.StartElement) {
	switch e.Name.Local {
	case "sp":
		s.holder = ""
	case "ph":
		if s.holder = attribute(e, "type"); s.holder == "" {
			s.holder = "body"
		}
	case "p":
		s.text.Reset()
		s.level = 0
	case "pPr":
		s.level = min(number(attribute(e, "lvl")), 8)
	case "t":
		s.visible = true
	case "br":
		s.text.WriteByte('\n')
	case "tbl":
		s.rows, s.inTable = nil, true
	case "tr":
		s.rows = append(s.rows, nil)
	case "tc":
		s.cell.Reset()
	}
}

func (s *slide) end(name string) {
	switch name {
	case "t":
		s.visible = false
	case "p":
		s.paragraph(strings.TrimSpace(s.text.String()))
		s.text.Reset()
	case "tc":
		if n := len(s.rows); n > 0 {
			s.rows[n-1] = append(s.rows[n-1], s.cell.String())
		}
	case "tbl":
		s.body.WriteByte('\n')
		cells(&s.body, s.rows)
		s.rows, s.inTable = nil, false
	case "sp":
		s.body.WriteByte('\n')
	}
}

func (s *slide) paragraph(text string) {
	if text == "" {
		return
	}
	switch {
	case s.inTable:
		s.cell.WriteString(text + " ")
	case s.holder == "sldNum" || s.holder == "dt" || s.holder == "ftr" || s.holder == "hdr" || s.holder == "sldImg":
	case s.notes:
		s.body.WriteString(text + "\n\n")
	case s.holder == "title" || s.holder == "ctrTitle":
		text = strings.Join(strings.Fields(text), " ")
		s.title = strings.TrimSpace(s.title + " " + text)
	case s.holder == "body":
		s.body.WriteString(strings.Repeat("  ", s.level) + "- " + text + "\n")
	default:
		s.body.WriteString(text + "\n\n")
	}
}
