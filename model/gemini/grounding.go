package gemini

import (
	"bytes"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// grounding says which stretches of the answer are supported by which pages.
type grounding struct {
	Chunks   []reference `json:"groundingChunks"`
	Supports []support   `json:"groundingSupports"`
}

// reference has one of its fields set.
type reference struct {
	Web       *page `json:"web"`
	Retrieved *page `json:"retrievedContext"`
	Maps      *page `json:"maps"`
}

type page struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
	Text  string `json:"text"` // of what was retrieved
}

type support struct {
	Segment segment `json:"segment"`
	Indices []int   `json:"groundingChunkIndices"`
}

// segment is a stretch of one part of the content, in bytes.
type segment struct {
	Part  int    `json:"partIndex"`
	Start int    `json:"startIndex"`
	End   int    `json:"endIndex"`
	Text  string `json:"text"`
}

// notebook keeps citations until the text that they point into is there, and those told already: some
// answers repeat all of their grounding with every chunk.
type notebook struct {
	pages   []reference
	waiting []support
	told    map[model.Annotation]bool
}

func (n *notebook) add(g grounding) {
	if len(g.Chunks) > 0 {
		n.pages = g.Chunks
	}
	n.waiting = append(n.waiting, g.Supports...)
}

// annotate tells what can be told.
func (d *decoder) annotate() {
	var later []support
	for _, s := range d.notes.waiting {
		t, start, end, ok := d.locate(s.Segment)
		if !ok {
			later = append(later, s)
			continue
		}
		from := utf8.RuneCount(t.bytes[:start])
		to := from + utf8.RuneCount(t.bytes[start:end])
		for _, i := range s.Indices {
			p := d.notes.page(i)
			if p == nil {
				continue
			}
			a := model.Annotation{Block: t.block, Annotation: item.Annotation{
				Type: item.URLCitation, Start: from, End: to, URL: p.URI, Title: p.Title, Quote: p.Text,
			}}
			if !d.notes.told[a] {
				if d.notes.told == nil {
					d.notes.told = map[model.Annotation]bool{}
				}
				d.notes.told[a] = true
				d.out = append(d.out, a)
			}
		}
	}
	d.notes.waiting = later
}

func (n *notebook) page(i int) *page {
	if i < 0 || i >= len(n.pages) {
		return nil
	}
	r := n.pages[i]
	switch {
	case r.Web != nil:
		return r.Web
	case r.Retrieved != nil:
		return r.Retrieved
	}
	return r.Maps
}

// locate finds a segment in the text streamed so far. The part that it names is tried first, but parts are
// counted differently by those who count thoughts and those who do not; the segment's own text decides.
func (d *decoder) locate(s segment) (t *text, start, end int, ok bool) {
	var candidates []*text
	if s.Part >= 0 && s.Part < len(d.spots) && d.spots[s.Part] != nil {
		candidates = append(candidates, d.spots[s.Part])
	}
	candidates = append(candidates, d.texts...)
	for _, t := range candidates {
		if s.Start < 0 || s.End <= s.Start || s.End > len(t.bytes) {
			continue
		}
		if s.Text == "" && boundary(t.bytes, s.Start) && boundary(t.bytes, s.End) || s.Text != "" && string(t.bytes[s.Start:s.End]) == s.Text {
			return t, s.Start, s.End, true
		}
	}
	if s.Text == "" {
		return nil, 0, 0, false
	}
	for _, t := range candidates {
		if i := bytes.Index(t.bytes, []byte(s.Text)); i >= 0 {
			return t, i, i + len(s.Text), true
		}
	}
	return nil, 0, 0, false
}

// boundary reports that a character begins at i, or the text ends.
func boundary(b []byte, i int) bool { return i == len(b) || utf8.RuneStart(b[i]) }
