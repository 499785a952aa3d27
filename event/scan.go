package event

import (
	"bytes"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// Decoder reads envelopes one after the other, as they lie in a journal. Neighbours have most of their words in common,
// and share them. The zero value is ready.
type Decoder struct {
	task, ns, node, item string // of the envelope before
}

// Decode reads one envelope: what [Envelope.AppendJSON] wrote, and any JSON object of the same shape.
func (d *Decoder) Decode(data []byte, e *Envelope) error {
	if d.scan(data, e) {
		return nil
	}
	return e.unmarshal(data)
}

// scan reads an envelope in just the form in which AppendJSON writes it. A replay from disk is nearly all deltas, and
// most of its bytes are whole texts: both are read without encoding/json, and so is where everything stands. On
// anything else, even valid JSON in another spelling, it reports false and has changed nothing of e.
func (d *Decoder) scan(data []byte, e *Envelope) bool {
	s := scanner{rest: data}
	var out Envelope
	s.literal(`{"seq":`)
	out.Seq = s.uint()
	if s.try(`,"epoch":`) {
		out.Epoch = int(s.int())
	}
	if s.try(`,"run":`) {
		out.Run = s.string()
	}
	if s.try(`,"thread":`) {
		out.Thread = s.string()
	}
	if s.try(`,"task":`) {
		out.Task = s.shared(&d.task)
	}
	if s.try(`,"ns":`) {
		out.NS = s.shared(&d.ns)
	}
	if s.try(`,"node":`) {
		out.Node = s.shared(&d.node)
	}
	if s.try(`,"step":`) {
		out.Step = int(s.int())
	}
	s.literal(`,"at":`)
	out.At = time.UnixMicro(s.int()).UTC()
	s.literal(`,"kind":`)
	kind := s.value()
	s.literal(`,"data":`)
	if n := len(s.rest) - 1; n > 0 && s.rest[n] == '}' {
		s.rest = s.rest[:n] // leaves the event's own object
	} else {
		s.failed = true
	}
	if s.failed {
		return false
	}
	out.Event = d.event(kind, s.rest)
	if out.Event == nil {
		return false
	}
	*e = out
	return true
}

// event reads an event's object; nil if it cannot be told what it is.
func (d *Decoder) event(kind, data []byte) (e Event) {
	s := scanner{rest: data}
	switch string(kind) {
	case `"text_delta"`:
		e = s.textDelta(&d.item)
	case `"arguments_delta"`:
		e = s.argumentsDelta(&d.item)
	case `"block_ended"`:
		e = s.blockEnded()
	case `"item_ended"`:
		e = s.itemEnded()
	case `"node_ended"`:
		e = s.nodeEnded()
	default:
		s.failed = true
	}
	if !s.failed && len(s.rest) == 0 {
		return e
	}
	if end, ok := jsonline.Skip(data, 0); !ok || end != len(data) {
		return nil
	}
	name, ok := jsonline.Text(kind)
	if !ok {
		return nil
	}
	if e, err := Decode(name, data); err == nil {
		return e
	}
	return nil // encoding/json will say what is wrong
}

func (s *scanner) textDelta(last *string) Event {
	s.literal(`{"item":`)
	d := TextDelta{Item: s.shared(last)}
	if s.try(`,"block":`) {
		d.Block = int(s.int())
	}
	s.literal(`,"text":`)
	d.Text = s.string()
	s.literal(`}`)
	return d
}

func (s *scanner) argumentsDelta(last *string) Event {
	s.literal(`{"item":`)
	d := ArgumentsDelta{Item: s.shared(last)}
	s.literal(`,"text":`)
	d.Text = s.string()
	s.literal(`}`)
	return d
}

// blockEnded leaves blocks that are more than text to encoding/json.
func (s *scanner) blockEnded() Event {
	var e BlockEnded
	s.literal(`{"item":`)
	e.Item = s.string()
	s.literal(`,"block":`)
	e.Block = int(s.int())
	s.literal(`,"value":{"type":`)
	e.Value.Type = item.BlockType(s.string())
	if s.try(`,"text":`) {
		e.Value.Text = s.string()
	}
	s.literal(`}}`)
	return e
}

func (s *scanner) itemEnded() Event {
	var e ItemEnded
	s.literal(`{"status":`)
	e.Status = item.Status(s.string())
	s.literal(`,"item":`)
	if value := s.value(); !s.failed {
		var err error
		if e.Item, err = item.Unmarshal(value); err != nil {
			s.failed = true
		}
	}
	if s.try(`,"update":`) {
		e.Update = bytes.Clone(s.value())
	}
	s.literal(`}`)
	return e
}

// nodeEnded leaves nodes that failed or asked to encoding/json.
func (s *scanner) nodeEnded() Event {
	var e NodeEnded
	s.literal(`{"execution":`)
	e.Execution = s.string()
	if s.try(`,"update":`) {
		e.Update = bytes.Clone(s.value())
	}
	e.Cached = s.try(`,"cached":true`)
	s.literal(`}`)
	return e
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

// value takes one JSON value without white space.
func (s *scanner) value() []byte {
	end, ok := jsonline.Skip(s.rest, 0)
	if s.failed || !ok {
		s.failed = true
		return nil
	}
	v := s.rest[:end]
	s.rest = s.rest[end:]
	return v
}

func (s *scanner) string() string {
	v, ok := jsonline.Text(s.value())
	s.failed = s.failed || !ok
	return v
}

// shared is string for what is often the same as the time before.
func (s *scanner) shared(last *string) string {
	if n := len(*last) + 2; n <= len(s.rest) && s.rest[0] == '"' && s.rest[n-1] == '"' && string(s.rest[1:n-1]) == *last {
		s.rest = s.rest[n:]
		return *last
	}
	raw := s.value()
	v, ok := jsonline.Text(raw)
	s.failed = s.failed || !ok
	// Remembered is only what has no escapes: then the same bytes between quotes are the same word.
	if *last = ""; ok && string(raw[1:len(raw)-1]) == v {
		*last = v
	}
	return v
}

// digits takes an integer, which in JSON has no leading zeros.
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
