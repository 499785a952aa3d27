package event

import (
	"bytes"
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

func (s *scanner) digits() []byte {
	n := 0
	if n < len(s.rest) && s.rest[n] == '-' {
		n++
	}
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	d := s.rest[:n]
	s.rest = s.rest[n:]
	return d
}

func (s *scanner) int() int64 {
	d := s.digits()
	n, err := strconv.ParseInt(string(d), 10, 64)
	// Leading zeros are not JSON; leave the verdict to encoding/json.
	if err != nil || strconv.FormatInt(n, 10) != string(d) {
		s.failed = true
	}
	return n
}

func (s *scanner) uint() uint64 {
	d := s.digits()
	n, err := strconv.ParseUint(string(d), 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != string(d) {
		s.failed = true
	}
	return n
}

// string reads a string, with the few escapes that appendString writes.
func (s *scanner) string() string {
	if s.failed || len(s.rest) == 0 || s.rest[0] != '"' {
		s.failed = true
		return ""
	}
	s.rest = s.rest[1:]
	end := bytes.IndexByte(s.rest, '"')
	if end >= 0 && plain(s.rest[:end]) {
		v := string(s.rest[:end])
		s.rest = s.rest[end+1:]
		return v
	}
	var out []byte
	for len(s.rest) > 0 {
		c := s.rest[0]
		switch {
		case c == '"':
			s.rest = s.rest[1:]
			if !utf8.Valid(out) {
				break
			}
			return string(out)
		case c == '\\':
			if len(s.rest) < 2 {
				s.failed = true
				return ""
			}
			esc, ok := unescape[s.rest[1]]
			if !ok { // \u and the rest: leave it to encoding/json
				s.failed = true
				return ""
			}
			out = append(out, esc)
			s.rest = s.rest[2:]
			continue
		case c < 0x20:
		default:
			out = append(out, c)
			s.rest = s.rest[1:]
			continue
		}
		break
	}
	s.failed = true
	return ""
}

var unescape = map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 'r': '\r', 't': '\t'}

func plain(b []byte) bool {
	for _, c := range b {
		if c < 0x20 || c == '\\' {
			return false
		}
	}
	return utf8.Valid(b)
}
