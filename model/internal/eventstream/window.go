package eventstream

import (
	"bytes"
	"cmp"
	"io"
	"math"

	"github.com/tributary-ai/tributary/model"
)

// window is the stretch of the source that has been read and not yet consumed: buf[lo:hi].
type window struct {
	src    io.Reader
	buf    []byte
	lo, hi int
	err    error // of the source; what is in the window comes first
	skipLF bool  // the last line ended in CR, and an LF after it belongs to it
	begun  bool  // a byte-order mark can no longer come

	last int // where the line that was returned last begins
	max  int // of one piece; 0 for MaxSize
	held int // what begins here is still needed though it is consumed; 0 for nothing
}

// A chunk of a chat completion is some 300 bytes, an event of the Responses wire up to some thousands.
const firstSize = 4 << 10

// setMax bounds one piece: zero for the usual, less for nothing that would ever come.
func (w *window) setMax(n int) {
	if n < 0 {
		n = math.MaxInt
	}
	w.max = n
}

func (w *window) limit() int { return cmp.Or(w.max, MaxSize) }

func (w *window) tooLarge() error { return &model.LimitError{Setting: "event_bytes", Limit: w.limit()} }

// fill reads more of the source behind hi. It returns false when there is no more to come; why is in err.
func (w *window) fill() bool {
	if w.err != nil {
		return false
	}
	from := w.lo
	if w.held > 0 {
		from = w.held - 1 // so that it is not at 0 afterwards, which would be nothing
	}
	if from > 0 {
		copy(w.buf, w.buf[from:w.hi])
		w.lo, w.hi = w.lo-from, w.hi-from
		if w.held > 0 {
			w.held = 1
		}
	}
	if w.hi > w.limit() {
		w.err = w.tooLarge()
		return false
	}
	if w.hi == len(w.buf) {
		grown := make([]byte, max(firstSize, 2*len(w.buf)))
		copy(grown, w.buf[:w.hi])
		w.buf = grown
	}
	// A reader may return nothing and no error now and then, but not for ever.
	for range 100 {
		n, err := w.src.Read(w.buf[w.hi:])
		w.hi += n
		w.err = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// line returns the next line without its end, which is LF, CRLF or CR. The last line of a source that ended
// cleanly needs no end. The line is valid until the next call.
func (w *window) line() ([]byte, error) {
	scanned := 0 // bytes after lo known to hold no line end
	for {
		if w.start() {
			scanned = 0
		}
		if i := lineEnd(w.buf[w.lo+scanned : w.hi]); i >= 0 {
			end := w.lo + scanned + i
			if end-w.lo > w.limit() {
				w.err, w.hi = w.tooLarge(), w.lo
				return nil, w.err
			}
			line := w.buf[w.lo:end]
			w.last = w.lo
			w.skipLF = w.buf[end] == '\r'
			w.lo = end + 1
			return line, nil
		}
		scanned = w.hi - w.lo
		if w.fill() {
			continue
		}
		if w.err == io.EOF && w.lo < w.hi {
			line := w.buf[w.lo:w.hi]
			w.last, w.lo = w.lo, w.hi
			return line, nil
		}
		return nil, w.err
	}
}

// start drops what may precede a line: the second half of a CRLF, and once, a byte-order mark. It reports
// whether there was any.
func (w *window) start() bool {
	lo := w.lo
	if w.skipLF && w.lo < w.hi {
		w.skipLF = false
		if w.buf[w.lo] == '\n' {
			w.lo++
		}
	}
	if w.begun {
		return w.lo != lo
	}
	const mark = "\xef\xbb\xbf"
	have := w.buf[w.lo:w.hi]
	if bytes.HasPrefix(have, []byte(mark)) {
		w.lo += len(mark)
		w.begun = true
	} else if len(have) > 0 && !bytes.HasPrefix([]byte(mark), have) {
		w.begun = true
	}
	return w.lo != lo
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if j := bytes.IndexByte(b[:i], '\r'); j >= 0 {
		return j
	}
	return i
}
