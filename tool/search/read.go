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
	why      document.Error // it has none; zero if it has
	err      error
}

// ahead is how many files are read before they are written. Each may have megabytes of text.
const ahead = 4

// readAhead reads files in their order, while those before them are written: taking a document apart takes as long as writing it. Whoever
// calls it calls stop, which waits for the end of the reading; the channel is closed then, or when all were read.
func (ix *Index) readAhead(ctx context.Context, files []candidate) (read <-chan reading, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan reading, ahead)
	go func() {
		defer close(out)
		for _, c := range files {
			select {
			case out <- ix.read(c):
			case <-ctx.Done():
				return
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
