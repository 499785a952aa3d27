package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"time"

	"github.com/tributary-ai/tributary/internal/document"
)

// reading is a file as it was read.
type reading struct {
	candidate
	checked  int64 // when
	gone     bool  // or locked
	same     bool  // its content is what is known
	hash     [sha256.Size]byte
	passages []Passage
	words    []wording      // of each passage
	in       *vocabulary    // that the words are in
	why      document.Error // it has none; zero if it has
	err      error
}

// ahead is how many files wait for the next step. Each may have megabytes of text.
const ahead = 3

// readAhead reads files in their order, and looks their words up, while those before them are written: each of the three takes as long.
// Whoever calls it calls stop, which waits for the end of the reading; the channel is closed then, or when all were read.
func (ix *Index) readAhead(ctx context.Context, files []candidate) (ready <-chan reading, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	read, out := make(chan reading, ahead), make(chan reading, ahead)
	pass := func(to chan<- reading, r reading) (on bool) {
		select {
		case to <- r:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(read)
		for _, c := range files {
			if !pass(read, ix.read(c)) {
				return
			}
		}
	}()
	go func() {
		defer close(out)
		v := newVocabulary()
		on := true
		for r := range read { // until it is closed
			if v.met > ix.mostWords {
				v = newVocabulary()
			}
			if on {
				r.words, r.in = v.wordings(r.passages), v
				on = pass(out, r)
			}
		}
	}()
	return out, func() {
		cancel()
		for range out { // until it is closed
		}
	}
}

func (ix *Index) read(c candidate) reading {
	r := reading{candidate: c, checked: time.Now().UnixNano()}
	data, err := fs.ReadFile(c.fsys, c.path)
	if err != nil {
		r.gone = true
		return r
	}
	r.hash = sha256.Sum256(data)
	if r.same = c.known != nil && bytes.Equal(c.known.hash, r.hash[:]); r.same {
		return r
	}
	doc, err := document.Read(c.path, bytes.NewReader(data), int64(len(data)), document.Limits{Size: ix.opts.MaxFileSize})
	if e := new(document.Error); errors.As(err, &e) {
		r.why = *e
	} else if r.err = err; err == nil {
		r.passages = passagesOf(c.path, doc)
	}
	return r
}
