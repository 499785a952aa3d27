package gemini

import (
	"bytes"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// grounding says which stretches of the answer are supported by which pages.
type grounding struct {
	pages    []page
	supports []support
	cited    []cited
}

type page struct{ uri, title, text string }

type support struct {
	segment segment
	indices []int
}

// segment is a stretch of one part of the content, in bytes.
type segment struct {
	part, start, end int
	text             string
}

// cited is a stretch of the whole text, in bytes, that is known from elsewhere.
type cited struct {
	start, end int
	page       page
}

func (g *grounding) says() bool { return len(g.pages)+len(g.supports)+len(g.cited) > 0 }

func (g *grounding) read(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "groundingChunks":
			for range r.Array {
				g.pages = append(g.pages, readPage(r))
			}
		case "groundingSupports":
			for range r.Array {
				g.supports = append(g.supports, readSupport(r))
			}
		}
	}
}

// readPage reads a page, whatever it was found by: the web, maps, or the caller's own documents.
func readPage(r *payload.Reader) (p page) {
	for name := range r.Object {
		switch string(name) {
		case "web", "retrievedContext", "maps", "image":
			p.read(r)
		}
	}
	return p
}

func (p *page) read(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "uri", "sourceUri":
			p.uri = r.Text()
		case "title":
			p.title = r.Text()
		case "text": // of what was retrieved
			p.text = r.Text()
		}
	}
}

func readSupport(r *payload.Reader) (s support) {
	for name := range r.Object {
		switch string(name) {
		case "segment":
			for name := range r.Object {
				switch string(name) {
				case "partIndex":
					s.segment.part = r.Int()
				case "startIndex":
					s.segment.start = r.Int()
				case "endIndex":
					s.segment.end = r.Int()
				case "text":
					s.segment.text = r.Text()
				}
			}
		case "groundingChunkIndices":
			for range r.Array {
				s.indices = append(s.indices, r.Int())
			}
		}
	}
	return s
}

// readCitations reads citationMetadata, which names the source of what the model says as it learnt it.
func (g *grounding) readCitations(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "citationSources", "citations": // the second is Vertex AI's
			for range r.Array {
				var c cited
				for name := range r.Object {
					switch string(name) {
					case "startIndex":
						c.start = r.Int()
					case "endIndex":
						c.end = r.Int()
					case "uri":
						c.page.uri = r.Text()
					case "title":
						c.page.title = r.Text()
					}
				}
				if c.page != (page{}) {
					g.cited = append(g.cited, c)
				}
			}
		}
	}
}

// notebook keeps citations until the text that they point into is there, and those told already: some
// answers repeat all of their grounding with every chunk.
type notebook struct {
	pages   []page
	waiting []support
	cited   []cited // waiting too
	told    map[model.Annotation]bool
}

func (n *notebook) add(g grounding) {
	if len(g.pages) > 0 {
		n.pages = g.pages
	}
	n.waiting = append(n.waiting, g.supports...)
	n.cited = append(n.cited, g.cited...)
}

// annotate tells what can be told.
func (d *decoder) annotate() {
	var later []support
	for _, s := range d.notes.waiting {
		t, start, end, ok := d.locate(s.segment)
		if !ok {
			later = append(later, s)
			continue
		}
		for _, i := range s.indices {
			if i >= 0 && i < len(d.notes.pages) {
				d.note(t, start, end, d.notes.pages[i])
			}
		}
	}
	d.notes.waiting = later
	var cites []cited
	for _, c := range d.notes.cited {
		if t, start, end, ok := d.span(c.start, c.end); ok {
			d.note(t, start, end, c.page)
		} else {
			cites = append(cites, c)
		}
	}
	d.notes.cited = cites
}

// note tells a citation that was not told yet.
func (d *decoder) note(t *text, start, end int, p page) {
	if p == (page{}) {
		return
	}
	from := utf8.RuneCount(t.bytes[:start])
	a := model.Annotation{Block: t.block, Annotation: item.Annotation{
		Type: item.URLCitation, Start: from, End: from + utf8.RuneCount(t.bytes[start:end]), URL: p.uri, Title: p.title, Quote: p.text,
	}}
	if d.notes.told[a] {
		return
	}
	if d.notes.told == nil {
		d.notes.told = map[model.Annotation]bool{}
	}
	d.notes.told[a] = true
	d.out = append(d.out, a)
}

// span finds a stretch of the whole text in the block where it lies.
func (d *decoder) span(start, end int) (t *text, from, to int, ok bool) {
	for _, t := range d.texts {
		if n := len(t.bytes); start >= n {
			start, end = start-n, end-n
			continue
		}
		ok := start >= 0 && start < end && end <= len(t.bytes) && boundary(t.bytes, start) && boundary(t.bytes, end)
		return t, start, end, ok
	}
	return nil, 0, 0, false
}

// locate finds a segment in the text streamed so far. The part that it names is tried first, but parts are
// counted differently by those who count thoughts and those who do not; the segment's own text decides.
func (d *decoder) locate(s segment) (t *text, start, end int, ok bool) {
	var candidates []*text
	if s.part >= 0 && s.part < len(d.spots) && d.spots[s.part] != nil {
		candidates = append(candidates, d.spots[s.part])
	}
	candidates = append(candidates, d.texts...)
	for _, t := range candidates {
		if s.start < 0 || s.end <= s.start || s.end > len(t.bytes) {
			continue
		}
		if s.text == "" && boundary(t.bytes, s.start) && boundary(t.bytes, s.end) || s.text != "" && string(t.bytes[s.start:s.end]) == s.text {
			return t, s.start, s.end, true
		}
	}
	if s.text == "" {
		return nil, 0, 0, false
	}
	for _, t := range candidates {
		if i := bytes.Index(t.bytes, []byte(s.text)); i >= 0 {
			return t, i, i + len(s.text), true
		}
	}
	return nil, 0, 0, false
}

// boundary reports that a character begins at i, or the text ends.
func boundary(b []byte, i int) bool { return i == len(b) || utf8.RuneStart(b[i]) }
