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
	"context"
	"errors"
	"fmt"
	"strings"
)

// Document is what can be read of a file.
type Document struct {
	Title string // as its author wrote it; often empty
	Text  string
	Cut   bool // there is more in the file
}

// Bounds of what one file may cost.
const (
	mostObjects = 500_000
	mostPages   = 5_000
	mostDepth   = 60
	mostForms   = 8 // drawn inside of each other
)

// limits are those bounds that cost time to reach; tests have smaller ones.
type limits struct {
	unpacked  int // bytes
	text      int // bytes
	operators int
}

var usual = limits{unpacked: 64 << 20, text: 4 << 20, operators: 3_000_000}

var (
	errTooMuch   = errors.New("the PDF unpacks to more than can be read")
	errEncrypted = errors.New("the PDF is encrypted; look for another copy")
	errNoPages   = errors.New("the PDF has no pages that can be read; it may be damaged")
)

// Read reads a file.
func Read(ctx context.Context, data []byte) (Document, error) { return read(ctx, data, usual) }

func read(ctx context.Context, data []byte, most limits) (doc Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = Document{}, fmt.Errorf("the PDF is damaged: %v", r)
		}
	}()
	f := &file{ctx: ctx, most: most, data: data, objects: map[int]any{}, unpacked: map[*stream][]byte{}, fonts: map[*dict]*font{}}
	if err := f.scan(); err != nil {
		return Document{}, err
	}
	pages := f.pages()
	if len(pages) == 0 {
		return Document{}, errNoPages
	}
	out := &writer{most: most.text}
	for i, p := range pages {
		if i > 0 {
			out.page()
		}
		if err := f.draw(p, out); err != nil {
			if ctx.Err() != nil {
				return Document{}, ctx.Err()
			}
			if out.b.Len() == 0 {
				return Document{}, err
			}
			out.full = true
		}
		if out.full {
			break
		}
	}
	doc = Document{Title: f.title(), Text: strings.TrimSpace(out.b.String()), Cut: out.full || f.more}
	return doc, nil
}
