// Package pdftext reads the text of PDF files that strangers made.
//
// It is our own because it is fed by strangers. The libraries that there are believe a file: a table of so many entries is
// made that large, a loop of so many turns is run, and what is packed is unpacked, so that a file of a kilobyte can end the
// process. None of them puts spaces between the words of a typeset paper either.
//
// Laws:
//
//   - Read is pure, does not panic, and ends. It returns soon after its context is done.
//   - What it needs is bounded by the length of the file and by constants, never by a number that stands in the file: bytes
//     unpacked, objects, pages, operators, depth, and text.
//   - The table of contents of a file is not believed: objects are found where they stand. So files that were cut off or edited
//     by hand are read as far as they go.
//   - Words that stand apart are apart in the text, and lines are lines, in the order in which the file draws them.
//
// It does not read: encrypted files, images of text, and text in fonts that do not tell which characters their shapes stand for.
package pdftext

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Document is what can be read of a file.
type Document struct {
	Title  string // as its author wrote it; often empty
	Author string // the same
	Date   string // when it was made, as the file spells it: D:20240531120000Z
	Pages  []Page
	Cut    bool // there is more in the file
}

// Page has the lines of a page, in the order in which they are drawn.
type Page []Line

// Line is what stands at one height.
type Line struct {
	Text  string
	Size  float64 // of its largest characters
	Apart bool    // it does not stand close to the line before: a paragraph begins
}

// Text is the whole text: lines, with empty ones between paragraphs and pages.
func (d *Document) Text() string {
	var b strings.Builder
	for i, p := range d.Pages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		for j, l := range p {
			switch {
			case j == 0:
			case l.Apart:
				b.WriteString("\n\n")
			default:
				b.WriteByte('\n')
			}
			b.WriteString(l.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// Bounds of what one file may cost.
const (
	mostObjects = 500_000
	mostDepth   = 60
	mostForms   = 8 // drawn inside of each other
)

// Limits are the bounds that a caller may set. The zero value of each means its default.
type Limits struct {
	Unpacked  int // bytes that all that is packed may unpack to; 64 MiB
	Text      int // bytes of text that are read; 4 MiB
	Pages     int // 5,000
	Operators int // 3 million
}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.Unpacked, 64<<20), cmp.Or(l.Text, 4<<20), cmp.Or(l.Pages, 5_000), cmp.Or(l.Operators, 3_000_000)}
}

// Why a file is not read. Other errors say that it is damaged.
var (
	ErrTooMuch   = errors.New("the PDF unpacks to more than can be read")
	ErrEncrypted = errors.New("the PDF is encrypted; look for another copy")
	ErrNoPages   = errors.New("the PDF has no pages that can be read; it may be damaged")
)

// Read reads a file.
func Read(ctx context.Context, data []byte, most Limits) (doc Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = Document{}, fmt.Errorf("the PDF is damaged: %v", r)
		}
	}()
	f := &file{ctx: ctx, most: most.withDefaults(), data: data, objects: map[int]any{}, unpacked: map[*stream][]byte{}, fonts: map[*dict]*font{}}
	if err := f.scan(); err != nil {
		return Document{}, err
	}
	pages := f.pages()
	if len(pages) == 0 {
		return Document{}, ErrNoPages
	}
	out := &writer{most: f.most.Text}
	for _, p := range pages {
		out.page()
		if err := f.draw(p, out); err != nil {
			if ctx.Err() != nil {
				return Document{}, ctx.Err()
			}
			if out.bytes == 0 {
				return Document{}, err
			}
			out.full = true
		}
		if out.full {
			break
		}
	}
	return Document{Title: f.says("Title"), Author: f.says("Author"), Date: f.says("CreationDate"), Pages: out.done(), Cut: out.full || f.more}, nil
}
