package files

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

const (
	pageLines = 2000
	pageBytes = 50_000
	lineBytes = 4000 // of one line; the rest is cut
	headBytes = 8 << 10
)

type readArguments struct {
	Path  string `json:"path" jsonschema:"the file, as in /mnt/user-data/workspace/notes.md"`
	Start int    `json:"start_line,omitempty" jsonschema:"the first line to read, counted from 1; the beginning if left out"`
	End   int    `json:"end_line,omitempty" jsonschema:"the last line to read; as many as fit on a page if left out"`
}

func readFile(ctx context.Context, d *desk, in readArguments) (item.ToolResult, error) {
	p, err := ParsePath(in.Path)
	if err != nil {
		return item.ToolResult{}, err
	}
	in.Start = max(in.Start, 1)
	if in.End != 0 && in.End < in.Start {
		return item.ToolResult{}, fmt.Errorf("end_line %d is before start_line %d", in.End, in.Start)
	}
	f, info, err := d.openPath(p)
	if err != nil {
		return item.ToolResult{}, err
	}
	defer f.Close()
	h := sha256.New()
	r := bufio.NewReaderSize(io.TeeReader(f, h), headBytes)
	if head, _ := r.Peek(headBytes); binary(head) {
		return item.ToolResult{}, fmt.Errorf("%s is not text: a binary file of %d bytes", p, info.Size())
	}
	var pg page
	total := 0
	for l, err := range lines(ctx, r) {
		if err != nil {
			return item.ToolResult{}, explain("read", p, err)
		}
		total = l.number
		if l.number >= in.Start && (in.End == 0 || l.number <= in.End) {
			pg.add(l)
		}
	}
	if total < in.Start && total > 0 {
		return item.ToolResult{}, fmt.Errorf("%s has %d lines, so there is no line %d", p, total, in.Start)
	}
	var content sum
	h.Sum(content[:0])
	d.saw(p, content)
	return pg.result(in.Start, total), nil
}

// page is what one result shows of a file.
type page struct {
	text  strings.Builder
	count int
	full  bool
	cut   int // lines that are longer than is shown
	odd   bool
}

func (pg *page) add(l line) {
	if pg.full = pg.full || pg.count == pageLines || pg.text.Len()+len(l.text) > pageBytes; pg.full {
		return
	}
	pg.count++
	text := string(l.text)
	for range utf8.UTFMax - 1 { // a cut goes between characters
		if r, n := utf8.DecodeLastRuneInString(text); l.more > 0 && r == utf8.RuneError && n == 1 {
			text, l.more = text[:len(text)-1], l.more+1
		}
	}
	if !utf8.ValidString(text) {
		text, pg.odd = strings.ToValidUTF8(text, "\uFFFD"), true
	}
	pg.text.WriteString(text)
	if l.more > 0 {
		pg.cut++
		fmt.Fprintf(&pg.text, "… [%d more bytes in this line]\n", l.more)
	}
}

// result is the text as it is in the file, so that it can be copied into str_replace, and what there is to say about it apart.
func (pg *page) result(start, total int) item.ToolResult {
	if total == 0 {
		return tool.Text("The file is empty.")
	}
	var notes []string
	if last := start + pg.count - 1; pg.count < total {
		note := fmt.Sprintf("lines %d to %d of %d", start, last, total)
		if pg.full {
			note += fmt.Sprintf("; read on with start_line %d", last+1)
		}
		notes = append(notes, note)
	}
	if pg.cut > 0 {
		notes = append(notes, fmt.Sprintf("%d lines were too long and are cut", pg.cut))
	}
	if pg.odd {
		notes = append(notes, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	res := tool.Text(pg.text.String())
	if notes != nil {
		note := item.Text("\n[" + strings.Join(notes, "; ") + "]")
		res.Content, res.Blocks = append(res.Content, note...), append(res.Blocks, note...)
	}
	return res
}

// binary guesses from the beginning of a file.
func binary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	odd := 0
	for rest := head; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			odd++
		}
		rest = rest[n:]
	}
	return odd > 3 && odd*4 > len(head) // text in an old encoding has some of them
}

// line is a line of a file with its end, if that is not cut.
type line struct {
	number int
	text   []byte // good until the next line
	more   int    // bytes that are left out, without the line's end
}

// lines reads a file line by line in little memory, however long its lines are.
func lines(ctx context.Context, r *bufio.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		var l line
		for {
			err := l.next(ctx, r)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(line{}, err)
				return
			}
			if len(l.text) > 0 && !yield(l, nil) || err != nil {
				return
			}
		}
	}
}

func (l *line) next(ctx context.Context, r *bufio.Reader) error {
	l.number++
	l.text, l.more = l.text[:0], 0
	for {
		piece, err := r.ReadSlice('\n')
		room := min(len(piece), lineBytes-len(l.text))
		l.text = append(l.text, piece[:room]...)
		l.more += len(piece) - room
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case l.more > 0 && err == nil: // the end of the line is not one of the bytes that are left out
			l.more--
		}
		if l.more == 0 && err == nil && l.text[len(l.text)-1] != '\n' {
			l.text = append(l.text, '\n')
		}
		return err
	}
}
