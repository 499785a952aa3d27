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

// Limit bounds one event in place of [MaxSize]; zero changes nothing, less than zero is no limit.
func (r *Reader) Limit(n int) *Reader {
	r.in.setMax(n)
	return r
}

// Next returns the next event that has data. Comments, and events that only have a name, are skipped.
func (r *Reader) Next() (Event, error) {
	var name string
	lines, size := 0, 0 // of data; nearly always there is one line, and it stays where it is
	r.in.held = 0
	for {
		line, err := r.in.line()
		if err != nil {
			if err == io.EOF && size > 0 {
				return Event{name, r.event(lines, size)}, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if size > 0 {
				return Event{name, r.event(lines, size)}, nil
			}
			name, lines, r.in.held = "", 0, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) { // a comment has an empty field name
		case "data":
			if size+len(value) >= r.in.limit() {
				r.in.err, r.in.hi = r.in.tooLarge(), r.in.lo
				return Event{}, r.in.err
			}
			switch lines++; lines {
			case 1:
				// The value is not at the very beginning: the field's name stands before it.
				r.in.held, size = r.in.last+len(line)-len(value), len(value)
				continue
			case 2:
				r.data = append(r.data[:0], r.in.buf[r.in.held:r.in.held+size]...)
				r.in.held = 0
			}
			r.data = append(append(r.data, '\n'), value...)
			size = len(r.data)
		case "event":
			name = r.intern(value)
		}
	}
}

// event is the data of an event that has come whole.
func (r *Reader) event(lines, size int) []byte {
	if lines == 1 {
		return r.in.buf[r.in.held : r.in.held+size]
	}
	return r.data
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
