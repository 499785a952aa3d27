package web

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"time"

	readability "codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tributary-ai/tributary/internal/byline"
)

// What is larger is read plainly: finding the article of a page, and making Markdown of it, takes time that grows faster than the
// page, above all where lists and quotes stand in each other. Of the pages that readability publishes, all are smaller.
const (
	largestTree = 3 << 20 // bytes
	mostNodes   = 60_000
	mostNested  = 12      // lists and quotes in each other
	mostIndents = 100_000 // how deep each node is in them, together
)

// readHTML makes Markdown of a page: of its article, or of all of it where there is none.
func (p *Page) readHTML(source []byte, at *url.URL) error {
	if len(source) > largestTree {
		return p.readPlainly(source)
	}
	doc, err := html.Parse(bytes.NewReader(source))
	if err != nil { // nested too deeply
		return p.readPlainly(source)
	}
	if !tractable(doc) || p.readTree(doc, at) != nil {
		return p.readPlainly(source)
	}
	return nil
}

// tractable reports a tree that can be understood in a moment.
func tractable(doc *html.Node) bool {
	nodes, indents := 0, 0
	var walk func(n *html.Node, nested int) bool
	walk = func(n *html.Node, nested int) bool {
		switch n.DataAtom {
		case atom.Ul, atom.Ol, atom.Blockquote, atom.Dl:
			nested++
		}
		nodes++
		indents += nested
		if n.Type == html.TextNode && nested > 0 {
			indents += nested * strings.Count(n.Data, "\n") // each line of a listing is indented
		}
		if nodes > mostNodes || nested > mostNested || indents > mostIndents {
			return false
		}
		for c := range n.ChildNodes() {
			if !walk(c, nested) {
				return false
			}
		}
		return true
	}
	return walk(doc, 0)
}

// readTree changes the tree. A library that panics over a page has not understood it.
func (p *Page) readTree(doc *html.Node, at *url.URL) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the page is too strange: %v", r)
		}
	}()
	base := baseOf(doc, at)
	unhide(doc)
	whole := body(doc)
	// The article is looked for in a copy: what is left of the page afterwards is not all of it.
	var all *html.Node
	if whole != nil {
		all = clone(whole)
	}
	parser := readability.NewParser()
	article, err := parser.ParseAndMutate(doc, base)
	if err != nil {
		return err
	}
	p.Title, p.Author = article.Title, byline.Author(article.Byline)
	for _, t := range []*time.Time{article.PublishedTime, article.ModifiedTime} {
		if t != nil && p.Date.IsZero() && t.Year() > 1990 {
			p.Date = *t
		}
	}
	node := article.Node
	if all != nil && (node == nil || meagre(node, all)) {
		node = all
	}
	if node == nil {
		return nil
	}
	tidy(node, base)
	text, err := markdown.ConvertNode(node)
	p.Text = string(text)
	return err
}

// markdown is the converter. It escapes nothing: who reads this reads text, and a backslash in a name is a mistake to him.
var markdown = converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
	converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))

// meagre reports an article that is a small part of its page. Lists, indexes and documents in many small pieces have none.
func meagre(article, all *html.Node) bool {
	n, whole := len(textOf(article)), len(textOf(all))
	return n < 200 && n < whole || n < whole/20
}

func baseOf(doc *html.Node, at *url.URL) *url.URL {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Base {
			if u, err := at.Parse(attr(n, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				return u
			}
		}
	}
	return at
}

func body(doc *html.Node) *html.Node {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Body {
			return n
		}
	}
	return nil
}

func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: append([]html.Attribute(nil), n.Attr...)}
	for child := range n.ChildNodes() {
		c.AppendChild(clone(child))
	}
	return c
}

// unhide takes out what a page has and does not show.
func unhide(doc *html.Node) {
	remove(doc, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Style, atom.Template, atom.Object, atom.Embed, atom.Canvas, atom.Dialog:
			return true
		case atom.Script:
			return attr(n, "type") != "application/ld+json" // which has the title and the date
		case atom.Body, atom.Html:
			return false // a page that scripts show when they are done
		case atom.Input:
			return true
		}
		return n.Type == html.CommentNode || n.Type == html.ElementNode && hidden(n)
	})
}

// hidden reports an element that a page does not show, as far as the element itself says so. What is drawn without being seen
// (opacity) is not among them: many pages show their text so, when their scripts have run.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "style":
			for rule := range strings.SplitSeq(strings.ToLower(a.Val), ";") {
				name, value, _ := strings.Cut(rule, ":")
				value, _, _ = strings.Cut(strings.TrimSpace(value), "!")
				switch name, value = strings.TrimSpace(name), strings.TrimSpace(value); {
				case name == "display" && value == "none", name == "visibility" && (value == "hidden" || value == "collapse"):
					return true
				case name == "font-size" && strings.TrimRight(value, "pxemrt%") == "0":
					return !resized(n)
				}
			}
		}
	}
	return false
}

// resized reports an element in which another has a size of its own.
func resized(n *html.Node) bool {
	for c := range n.Descendants() {
		if strings.Contains(attr(c, "style"), "font") {
			return true
		}
	}
	return false
}

// remove takes out the nodes of which gone says so, with all that is in them.
func remove(n *html.Node, gone func(*html.Node) bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if gone(c) {
			n.RemoveChild(c)
		} else {
			remove(c, gone)
		}
		c = next
	}
}

// tidy makes addresses whole, and takes out those that lead nowhere and images that are not addresses but bytes.
func tidy(root *html.Node, base *url.URL) {
	resolve := func(s string) string {
		u, err := base.Parse(strings.TrimSpace(s))
		if err != nil || u.Scheme == "mailto" {
			return ""
		}
		return address(u.String())
	}
	remove(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Button, atom.Select:
			return true
		case atom.Img:
			return resolve(attr(n, "src")) == "" || strings.TrimSpace(attr(n, "src")) == ""
		}
		return n.DataAtom == atom.Svg || n.Data == "svg"
	})
	for n := range root.Descendants() {
		for i := range n.Attr {
			switch a := &n.Attr[i]; {
			case n.DataAtom == atom.A && a.Key == "href" && !strings.HasPrefix(a.Val, "#"), n.DataAtom == atom.Img && a.Key == "src":
				a.Val = resolve(a.Val)
			case n.DataAtom == atom.A && a.Key == "href", a.Key == "title", a.Key == "colspan", a.Key == "rowspan":
				// A place on the page itself, what is shown over a link, and how many cells of a table to make of one: the
				// converter would make them.
				a.Val = ""
			}
		}
	}
}

// readPlainly reads a page without understanding it, in one pass and with little memory.
func (p *Page) readPlainly(source []byte) error {
	p.Title, p.Text = "", ""
	p.Note = "The page is too large or too strange to find its article; this is all of its text."
	var b strings.Builder
	skip, title := 0, false
	z := html.NewTokenizer(bytes.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			p.Text = b.String()
			return nil
		case html.TextToken:
			switch text := string(z.Text()); {
			case title && p.Title == "":
				p.Title = text
			case skip == 0 && !title:
				b.WriteString(text)
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			switch t := atom.Lookup(name); {
			case unread(t):
				skip++
			case t == atom.Title:
				title = true
			case apart(t):
				b.WriteByte('\n')
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			if apart(atom.Lookup(name)) {
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			switch t := atom.Lookup(name); {
			case unread(t):
				skip = max(skip-1, 0)
			case t == atom.Title:
				title = false
			case apart(t):
				b.WriteByte('\n')
			}
		}
	}
}

// unread reports elements whose text nobody is shown.
func unread(t atom.Atom) bool {
	switch t {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object:
		return true
	}
	return false
}

// apart reports elements that begin a line.
func apart(t atom.Atom) bool {
	switch t {
	case atom.P, atom.Div, atom.Br, atom.Li, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Section, atom.Article, atom.Blockquote, atom.Pre, atom.Table, atom.Dt, atom.Dd, atom.Hr:
		return true
	}
	return false
}
