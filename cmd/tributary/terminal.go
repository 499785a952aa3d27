package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// output is where commands print. It remembers that something could not be written, which the many who print need not look at.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

// problem is what a person is told of what could not be written.
func (o *output) problem() error {
	switch {
	case o.err == nil:
		return nil
	case errors.Is(o.err, syscall.ENOSPC):
		return remedied{fmt.Errorf("the output cannot be written: %w", o.err), "free some space where it goes, or send it somewhere else"}
	}
	return remedied{fmt.Errorf("the output cannot be written: %w", o.err), "send it somewhere else"}
}

// fileOf is the file behind what a command reads or writes.
func fileOf(rw any) (*os.File, bool) {
	if o, ok := rw.(*output); ok {
		rw = o.to
	}
	f, ok := rw.(*os.File)
	return f, ok
}

// isTerminal reports that a person sits at the other end. A device such as /dev/null is none.
func isTerminal(rw any) bool {
	f, ok := fileOf(rw)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && terminal(f)
}

// styled reports that what is written may have colours: it goes to a terminal, and nobody has said that there should be none
// (https://no-color.org).
func styled(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// harmless takes out of a stranger's text what would move the cursor, change colours or do worse to a terminal.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// The styles of what is not the answer.
const (
	dim   = "\x1b[2m"
	plain = "\x1b[0m"
)
