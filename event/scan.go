package event

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// scanDelta reads the two delta kinds in just the form in which AppendJSON writes them, without
// encoding/json: a replay from disk is nearly all deltas. On anything else, even valid JSON in another
// spelling, it reports false and has changed nothing.
func (e *Envelope) scanDelta(data []byte) bool {
	s := scanner{rest: data}
	var out Envelope
	s.literal(`{"seq":`)
	out.Seq = s.uint()
	if s.try(`,"epoch":`) {
		out.Epoch = int(s.int())
	}
	out.Run = s.field(`,"run":`)
	out.Thread = s.field(`,"thread":`)
	out.Task = s.field(`,"task":`)
	out.NS = s.field(`,"ns":`)
	out.Node = s.field(`,"node":`)
	if s.try(`,"step":`) {
		out.Step = int(s.int())
	}
	s.literal(`,"at":`)
	out.At = time.UnixMicro(s.int()).UTC()
	switch {
	case s.try(`,"kind":"text_delta","data":{"item":`):
		d := TextDelta{Item: s.string()}
		if s.try(`,"block":`) {
			d.Block = int(s.int())
		}
		s.literal(`,"text":`)
		d.Text = s.string()
		out.Event = d
	case s.try(`,"kind":"arguments_delta","data":{"item":`):
		d := ArgumentsDelta{Item: s.string()}
		s.literal(`,"text":`)
		d.Text = s.string()
		out.Event = d
	default:
		return false
	}
	s.literal(`}}`)
	if s.failed || len(s.rest) != 0 {
		return false
	}
	*e = out
	return true
}

// scanner takes known text off the front of rest. Once it has failed, what it returns means nothing.
type scanner struct {
	rest   []byte
	failed bool
}

func (s *scanner) try(lit string) bool {
	if s.failed || len(s.rest) < len(lit) || string(s.rest[:len(lit)]) != lit {
		return false
	}
	s.rest = s.rest[len(lit):]
	return true
}

func (s *scanner) literal(lit string) {
	if !s.try(lit) {
		s.failed = true
	}
}

func (s *scanner) field(key string) string {
	if !s.try(key) {
		return ""
	}
	v := s.string()
	if v == "" { // AppendJSON leaves empty fields out
		s.failed = true
	}
	return v
}

// digits reads an integer, which in JSON has no leading zeros.
func (s *scanner) digits() []byte {
	n := 0
	if n < len(s.rest) && s.rest[n] == '-' {
		n++
	}
	first := n
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	if n > first+1 && s.rest[first] == '0' {
		s.failed = true
	}
	d := s.rest[:n]
	s.rest = s.rest[n:]
	return d
}

func (s *scanner) int() int64 {
	n, err := strconv.ParseInt(string(s.digits()), 10, 64)
	s.failed = s.failed || err != nil
	return n
}

func (s *scanner) uint() uint64 {
	n, err := strconv.ParseUint(string(s.digits()), 10, 64)
	s.failed = s.failed || err != nil
	return n
}

// string reads a string in which no escapes occur but those that unescape knows.
func (s *scanner) string() string {
	s.literal(`"`)
	escaped := false
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			body := s.rest[:i]
			s.rest = s.rest[i+1:]
			if !utf8.Valid(body) {
				s.failed = true
			}
			if escaped {
				return s.unescape(body)
			}
			return string(body)
		case c == '\\':
			escaped = true
			i++ // the next byte does not end the string, whatever it is
		case c < 0x20:
			s.failed = true
			return ""
		}
	}
	s.failed = true
	return ""
}

// unescape undoes the short escapes that AppendString writes. \u and the rest are left to encoding/json.
func (s *scanner) unescape(body []byte) string {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '\\' {
			i++
			switch body[i] {
			case '"', '\\':
				c = body[i]
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			default:
				s.failed = true
				return ""
			}
		}
		out = append(out, c)
	}
	return string(out)
}
