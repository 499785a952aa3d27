package web

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// duckduckgo reads the page for browsers without scripts; there is no interface for programs. It refuses programs that ask often.
type duckduckgo struct{ *endpoint }

// verdict: who asks too often is answered with 202, or 200, and a riddle for people.
func (e duckduckgo) verdict(status int, body []byte) error {
	if status == http.StatusAccepted || status == http.StatusForbidden || bytes.Contains(body, []byte("anomaly-modal")) || bytes.Contains(body, []byte("anomaly.js")) {
		return e.wrong(nil, "it takes this machine for a robot and does not answer", "wait some minutes, or add an engine with a key, or a SearXNG of your own, to "+e.setting)
	}
	return nil
}

func (e duckduckgo) Search(ctx context.Context, query string, _ int) ([]Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+"/html/", strings.NewReader(url.Values{"q": {query}, "b": {""}}.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "text/html")
	body, err := e.ask(req, e.verdict)
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, e.garbled(body, "the page of results", err)
	}
	var out []Result
	known := false // that this is a page of results at all
	for n := range doc.Descendants() {
		switch {
		case hasClass(n, "result--ad"):
			for c := range n.Descendants() {
				c.Attr = nil // what is bought is no result
			}
		case n.DataAtom == atom.A && hasClass(n, "result__a"):
			out = append(out, Result{Title: textOf(n), URL: unwrapped(attr(n, "href"))})
		case hasClass(n, "result__snippet") && len(out) > 0 && out[len(out)-1].Snippet == "":
			out[len(out)-1].Snippet = textOf(n)
		}
		known = known || hasClass(n, "results") || hasClass(n, "no-results") || attr(n, "id") == "links"
	}
	if !known && len(out) == 0 {
		return nil, e.wrong(nil, "its page is not one of results", "see that the url of "+e.name+" in "+e.setting+" is right; the page may also have changed, so add another engine")
	}
	return out, nil
}

// unwrapped is where a link of DuckDuckGo's leads: most go through a page that counts.
func unwrapped(href string) string {
	if strings.HasPrefix(href, "//") {
		href = "https:" + href
	}
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" && (u.Path == "/l/" || u.Path == "/l") {
		return to
	}
	return href
}

// arxiv is https://info.arxiv.org/help/api/user-manual.html.
type arxiv struct{ *endpoint }

func (e arxiv) verdict(status int, body []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("Rate exceeded")) {
		return e.quota()
	}
	return nil
}

func (e arxiv) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	// Its query language has operators and brackets; words are all that a model is to write.
	words := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune(` "():`, r) })
	var terms []string
	for _, w := range words {
		terms = append(terms, "all:"+w)
	}
	if len(terms) == 0 {
		return nil, nil
	}
	q := url.Values{"search_query": {strings.Join(terms, " AND ")}, "max_results": {strconv.Itoa(min(limit, 50))}, "sortBy": {"relevance"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+"/api/query?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	body, err := e.ask(req, e.verdict)
	if err != nil {
		return nil, err
	}
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Entries []struct {
			ID        string   `xml:"id"`
			Title     string   `xml:"title"`
			Summary   string   `xml:"summary"`
			Published string   `xml:"published"`
			Authors   []string `xml:"author>name"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(body, &feed); err != nil {
		return nil, e.garbled(body, "an Atom feed", err)
	}
	var out []Result
	for _, p := range feed.Entries {
		if strings.Contains(p.ID, "/api/errors") {
			return nil, e.wrong(nil, "it says "+line(p.Summary, 200), "")
		}
		authors := strings.Join(p.Authors[:min(len(p.Authors), 5)], ", ")
		if len(p.Authors) > 5 {
			authors += " and others"
		}
		snippet := strings.Join(strings.Fields(p.Summary), " ")
		if authors != "" {
			snippet = authors + ". " + snippet
		}
		out = append(out, Result{p.Title, strings.Replace(p.ID, "http://", "https://", 1), snippet, day(p.Published)})
	}
	return out, nil
}

// markless is a text of which an engine marked the words that match, without the marks.
func markless(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	return textOf(doc)
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		if c == class {
			return true
		}
	}
	return false
}

// textOf is all text in a node, with single spaces.
func textOf(n *html.Node) string {
	var b strings.Builder
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
	}
	for c := range n.Descendants() {
		if c.Type == html.TextNode && c.Parent.DataAtom != atom.Script && c.Parent.DataAtom != atom.Style {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
