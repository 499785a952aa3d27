package document

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/tributary-ai/tributary/internal/byline"
)

func readHTML(data []byte) (Document, error) {
	if enc, name, _ := charset.DetermineEncoding(data, "text/html"); name != "utf-8" {
		if name == "windows-1252" { // the guess for whatever does not say
			text, err := decodeText(data)
			if err != nil {
				return Document{}, err
			}
			data = []byte(text)
		} else if out, err := enc.NewDecoder().Bytes(data); err == nil {
			data = out
		}
	}
	return htmlMarkdown(data)
}

// metas are the elements in which a page says who wrote it, and when; those before others are believed first.
var (
	authors = []string{"author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author"}
	dates   = []string{"article:published_time", "datepublished", "citation_publication_date", "dc.date", "dcterms.date", "dcterms.created", "date", "pubdate", "article:modified_time", "last-modified"}
)

// meta notes what an element of a page says of it.
func meta(n *html.Node, said map[string]string) {
	for _, key := range []string{"name", "property", "itemprop"} {
		if name := strings.ToLower(attr(n, key)); name != "" && said[name] == "" {
			said[name] = attr(n, "content")
		}
	}
}

// first is the first of several that somebody said.
func first(said map[string]string, names []string, spell func(string) string) string {
	for _, n := range names {
		if v := spell(said[n]); v != "" {
			return v
		}
	}
	return ""
}

// htmlMarkdown converts one page. The parser refuses what is nested deeper than 512 elements, so that nothing after it
// can run out of stack.
func htmlMarkdown(data []byte) (Document, error) {
	root, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return Document{}, fmt.Errorf("its HTML is not understood: %w", err)
	}
	title, said := "", map[string]string{}
	var drop []*html.Node
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Title:
			if title == "" && n.FirstChild != nil {
				title = n.FirstChild.Data
			}
			drop = append(drop, n)
		case atom.Meta:
			meta(n, said)
		case atom.Script, atom.Style, atom.Nav, atom.Template, atom.Noscript, atom.Svg, atom.Iframe, atom.Object, atom.Button, atom.Select:
			drop = append(drop, n)
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			if id := anchor(n); id != "" {
				n.AppendChild(&html.Node{Type: html.TextNode, Data: " {#" + id + "}"})
			}
		}
	}
	for _, n := range drop {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
	conv := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := conv.ConvertNode(root)
	if err != nil {
		return Document{}, fmt.Errorf("its HTML is not understood: %w", err)
	}
	return Document{Title: title, Author: first(said, authors, byline.Author), Date: first(said, dates, byline.Date), Sections: []Section{{Text: string(out)}}}, nil
}

// anchor is the id of a heading, or of the link or section that carries it in its place.
func anchor(n *html.Node) string {
	id := attr(n, "id")
	for c := n.FirstChild; c != nil && id == ""; c = c.NextSibling {
		if c.DataAtom == atom.A {
			if id = attr(c, "id"); id == "" {
				id = attr(c, "name")
			}
		}
	}
	if p := n.Parent; id == "" && p != nil && p.DataAtom == atom.Section {
		id = attr(p, "id")
	}
	if strings.ContainsAny(id, " {}\t\n") {
		return ""
	}
	return id
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
