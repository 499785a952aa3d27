package eventstream

import (
	"bytes"
	"io"
)

// Lines reads newline-delimited JSON, as Ollama streams it.
type Lines struct{ in window }

// NewLines returns a Lines of r.
func NewLines(r io.Reader) *Lines { return &Lines{window{src: r}} }

// Limit is [Reader.Limit] of one line.
func (l *Lines) Limit(n int) *Lines {
	l.in.setMax(n)
	return l
}

// Next returns the next line that is not blank. It is valid until the next call. Whether it is JSON is for
// the caller to find out.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.in.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}
