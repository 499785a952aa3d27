package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/tributary-ai/tributary/internal/byline"
	"github.com/tributary-ai/tributary/internal/pdftext"
)

// read makes text of the body of an answer. It is pure: what it is given is all that it looks at.
func read(ctx context.Context, body []byte, contentType string, at *url.URL) (Page, error) {
	p := Page{URL: address(at.String())}
	if p.URL == "" { // longer than anybody wants to read
		p.URL = address(at.Scheme + "://" + at.Host)
	}
	var err error
	switch kind := kindOf(body, contentType); kind {
	case kindHTML:
		err = p.readHTML(decoded(body, contentType), at)
	case kindPDF:
		err = p.readPDF(ctx, body)
	case kindText:
		p.Text = string(decoded(body, contentType))
	default:
		media, _, _ := mime.ParseMediaType(contentType)
		if media == "" {
			media, _, _ = strings.Cut(http.DetectContentType(body), ";")
		}
		return Page{}, fmt.Errorf("it is of the type %s; pages, PDF, plain text and JSON are read", line(media, 100))
	}
	if err != nil {
		return Page{}, err
	}
	p.Title, p.Text = line(p.Title, longestTitle), strings.TrimSpace(blank(clean(p.Text)))
	if p.Text == "" {
		return Page{}, errors.New("there is no text in it; the page may need a browser with scripts, or be made of images")
	}
	return p, nil
}

type kind int

const (
	kindOther kind = iota
	kindHTML
	kindText
	kindPDF
)

// kindOf decides what a body is. Sites are believed, but for those that say nothing and for PDF, which is told by its first bytes.
func kindOf(body []byte, contentType string) kind {
	if bytes.HasPrefix(bytes.TrimLeft(body[:min(len(body), 1024)], "\x00\t\r\n "), []byte("%PDF-")) {
		return kindPDF
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media == "application/octet-stream" || media == "unknown/unknown" {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return kindHTML
	case media == "application/pdf", media == "application/x-pdf":
		return kindPDF // and it will be said what is wrong with it
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "/json"), strings.HasSuffix(media, "+xml"), strings.HasSuffix(media, "/xml"):
		return kindText
	}
	switch media {
	case "application/javascript", "application/x-javascript", "application/ecmascript", "application/x-ndjson", "application/jsonl", "application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/sql":
		return kindText
	}
	return kindOther
}

// decoded is a text in UTF-8, whatever it came in: what its first bytes say counts, then the header, then the page.
func decoded(body []byte, contentType string) []byte {
	encoding, name, _ := charset.DetermineEncoding(body, contentType)
	if name == "windows-1252" && utf8.Valid(body) {
		// That is said where nobody knows, and only the beginning was looked at.
		if _, params, err := mime.ParseMediaType(contentType); err != nil || params["charset"] == "" {
			return body
		}
	}
	out, err := io.ReadAll(encoding.NewDecoder().Reader(bytes.NewReader(body)))
	if err != nil {
		return body // clean takes out what is wrong with it
	}
	return bytes.TrimPrefix(out, []byte("\uFEFF"))
}

// blank takes out lines beyond one that say nothing, and spaces at the ends of lines.
func blank(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	empty := 0
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimRight(l, " \t\u00A0")
		if l == "" {
			if empty++; empty > 1 {
				continue
			}
		} else {
			empty = 0
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *Page) readPDF(ctx context.Context, body []byte) error {
	doc, err := pdftext.Read(ctx, body, pdftext.Limits{})
	if err != nil {
		return err
	}
	p.Title, p.Author, p.Text = doc.Title, byline.Author(doc.Author), doc.Text()
	if day, err := time.Parse(time.DateOnly, byline.Date(doc.Date)); err == nil {
		p.Date = day
	}
	if doc.Cut {
		p.Note = "The PDF is longer than this."
	}
	return nil
}

// split cuts a text into parts of at most size bytes, between paragraphs if it can, else between lines, words or characters.
// The parts, put together, are the text.
func split(text string, size int) []string {
	size = max(size, utf8.UTFMax)
	var parts []string
	for len(text) > size {
		n := cut(text[:size])
		if n == 0 {
			for n = size; n > 0 && !utf8.RuneStart(text[n]); {
				n--
			}
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return append(parts, text)
}

// cut is where a text that is too long is best cut; 0 for nowhere. A place in the first half would waste a part.
func cut(text string) int {
	for _, at := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text, at); i >= len(text)/2 {
			return i + len(at)
		}
	}
	return 0
}
