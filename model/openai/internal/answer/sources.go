package answer

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// annotation is a citation: flat on the Responses wire, nested on Chat Completions.
type annotation struct {
	kind                      string
	file, filename, container string
	at                        int
	item.Annotation
}

func readAnnotation(r *payload.Reader) annotation {
	a := annotation{Annotation: item.Annotation{Type: item.URLCitation}}
	a.read(r)
	return a
}

func (a *annotation) read(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "type":
			a.kind = r.Same("url_citation")
		case "start_index":
			a.Start = r.Int()
		case "end_index":
			a.End = r.Int()
		case "url":
			a.URL = r.Text()
		case "title":
			a.Title = r.Text()
		case "content": // OpenRouter
			a.Quote = r.Text()
		case "filename":
			a.filename = r.Text()
		case "file_id":
			a.file = r.Text()
		case "container_id":
			a.container = r.Text()
		case "index": // of a file: where in the text it is cited
			a.at = r.Int()
		case "url_citation", "file_citation", "container_file_citation":
			if r.Kind() == '{' {
				a.read(r)
			}
		}
	}
}

// citation returns the annotation if it is one of a web page or of a file.
func (a annotation) citation() (item.Annotation, bool) {
	switch a.kind {
	case "url_citation":
		return a.Annotation, a.URL != ""
	case "file_citation", "container_file_citation":
		a.Type, a.Title = item.FileCitation, cmp.Or(a.filename, a.Title, a.file)
		if a.End == 0 {
			a.Start, a.End = a.at, a.at
		}
		if a.file != "" {
			a.URL = "openai-file:" + strings.TrimPrefix(a.container+"/"+a.file, "/")
		}
		return a.Annotation, a.Title != ""
	}
	return item.Annotation{}, false
}

// page notes a page that was searched. The same one may be said without its title first.
func (c *chunk) page(a item.Annotation) {
	if a.URL == "" {
		return
	}
	for i := range c.Pages {
		if c.Pages[i].URL == a.URL {
			c.Pages[i].Title = cmp.Or(c.Pages[i].Title, a.Title)
			return
		}
	}
	c.Pages = append(c.Pages, item.Annotation{Type: item.URLCitation, URL: a.URL, Title: a.Title})
}

// executed is a tool that Groq ran by itself.
type executed struct {
	index int
	done  bool // what it found is there
	raw   []byte
}

func readExecuted(r *payload.Reader) (e executed) {
	if r.Kind() != '{' {
		r.Skip()
		return e
	}
	e.raw = bytes.Clone(r.Raw())
	var in payload.Reader
	in.Reset(e.raw)
	for name := range in.Object {
		switch string(name) {
		case "index":
			e.index = in.Int()
		case "output", "search_results", "code_results", "browser_results":
			e.done = e.done || !in.Null()
		}
	}
	return e
}
