package document

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pdftext"
)

// readPDF reads the pages of a PDF.
func readPDF(data []byte, limits Limits) (Document, error) {
	got, err := pdftext.Read(context.Background(), data, pdftext.Limits{Unpacked: int(limits.Expanded), Text: limits.Text, Pages: limits.Parts})
	switch {
	case errors.Is(err, pdftext.ErrEncrypted):
		return Document{}, refuse(Protected, withPassword)
	case errors.Is(err, pdftext.ErrTooMuch):
		return Document{}, refuse(Hostile, "it unpacks to more than %d bytes; save it again with the program that made it, or split it", limits.Expanded)
	case err != nil:
		return Document{}, refuse(Damaged, "it is damaged (%v); save it again with the program that made it", err)
	}
	doc := Document{Title: got.Title, Author: got.Author, Date: got.Date, Truncated: got.Cut}
	for i, p := range got.Pages {
		doc.Sections = append(doc.Sections, Section{fmt.Sprintf("page %d", i+1), layOut(p)})
	}
	return doc, nil
}

// clean drops what no reader sees.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0' || r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == '\u00ad' || unicode.IsControl(r) || r == utf8.RuneError || r >= 0xE000 && r <= 0xF8FF:
			return -1
		}
		return r
	}, s)
}

// layOut writes lines as paragraphs, and those in larger type as headings.
func layOut(page pdftext.Page) string {
	var kept pdftext.Page
	for _, l := range page {
		if l.Text = strings.Join(strings.Fields(clean(l.Text)), " "); l.Text != "" {
			kept = append(kept, l)
		}
	}
	body := bodySize(kept)
	isHeading := func(l pdftext.Line) bool { return l.Size > 1.15*body && utf8.RuneCountInString(l.Text) <= 120 }
	var b strings.Builder
	for i, l := range kept {
		heading := isHeading(l)
		if i > 0 {
			before := kept[i-1]
			switch {
			case heading && isHeading(before) && math.Abs(before.Size-l.Size) < 0.5 && !l.Apart: // a heading of two lines
				b.WriteString(" " + l.Text)
				continue
			case heading || isHeading(before) || l.Apart:
				b.WriteString("\n\n")
			default:
				b.WriteByte('\n')
			}
		}
		if heading {
			level := 3
			switch {
			case l.Size > 1.7*body:
				level = 1
			case l.Size > 1.35*body:
				level = 2
			}
			b.WriteString(strings.Repeat("#", level) + " ")
		}
		b.WriteString(l.Text)
	}
	return b.String()
}

// bodySize is the size in which most characters are set.
func bodySize(page pdftext.Page) float64 {
	count := map[int]int{}
	for _, l := range page {
		count[int(math.Round(l.Size*2))] += len(l.Text)
	}
	sizes := make([]int, 0, len(count))
	for s := range count {
		sizes = append(sizes, s)
	}
	sort.Ints(sizes)
	best := 0
	for _, s := range sizes {
		if best == 0 || count[s] > count[best] {
			best = s
		}
	}
	return max(float64(best)/2, 1)
}
