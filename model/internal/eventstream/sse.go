package eventstream

import (
	"bytes"
	"io"
)

// Event is one server-sent event.
type Event struct {
	Name string // of its event field; empty if it has none
	Data []byte // its data fields, joined by line feeds; valid until the next call of Next
}

// Reader reads server-sent events from a provider's response body. It reads them more leniently than
// browsers do in one point: an event at the very end needs no blank line after it.
type Reader struct {
	in    window
	data  []byte
	names map[string]string
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{in: window{src: r}} }

// Next returns the next event that has data. Comments, and events that only have a name, are skipped.
func (r *Reader) Next() (Event, error) {
	var name string
	lines := 0 // of data
	r.data = r.data[:0]
	for {
		line, err := r.in.line()
		if err != nil {
			if err == io.EOF && len(r.data) > 0 {
				return Event{name, r.data}, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if len(r.data) > 0 {
				return Event{name, r.data}, nil
			}
			name, lines = "", 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) { // a comment has an empty field name
		case "data":
			if len(r.data)+len(value) >= MaxSize {
				r.in.err, r.in.hi = ErrTooLarge, r.in.lo
				return Event{}, ErrTooLarge
			}
			if lines > 0 {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
			lines++
		case "event":
			name = r.intern(value)
		}
	}
}

// maxNames bounds what a hostile server can make us remember.
const maxNames = 128

// intern returns the name as a string without allocating for one that came before: a stream has some
// twenty of them.
func (r *Reader) intern(name []byte) string {
	if s, ok := r.names[string(name)]; ok {
		return s
	}
	s := string(name)
	if r.names == nil {
		r.names = make(map[string]string)
	}
	if len(r.names) < maxNames {
		r.names[s] = s
	}
	return s
}
