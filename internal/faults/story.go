package faults

import (
	"encoding/json"
	"strings"
)

// story is what a wire tells of a run, as far as the wires have it in common.
type story struct {
	messages []message // of the model, in the order of the result; void ones left out
	results  map[string]string
	input    int
	output   int
	code     string // of the error
	ended    bool
	failed   bool
}

type message struct{ id, text string }

// story checks what does not depend on the wire.
func (j *judge) story(s *story) {
	if !s.ended {
		return // it is blamed already
	}
	if s.failed != j.c.Failed {
		j.blame(WrongEnd, "failed is %t, with code %q", s.failed, s.code)
		return
	}
	if s.failed {
		return
	}
	j.answers(s)
	if want := j.wantInput(); !j.c.AnyUsage && (s.input != want || s.output != j.wantOutput()) {
		j.blame(Miscounted, "%d tokens in and %d out, want %d and %d", s.input, s.output, want, j.wantOutput())
	}
}

// answers makes sure that the result is what one try of the provider said, and nothing else.
func (j *judge) answers(s *story) {
	o := j.c.Order
	want := 1
	if o.Effect {
		want = 2
	}
	if len(s.messages) != want {
		j.blame(WrongText, "there are %d messages of the model, want %d: %v", len(s.messages), want, s.messages)
		return
	}
	if o.Effect {
		j.said(o.Key+"pre", preamble, s.messages[0])
	}
	j.said(o.Key, o.Words, s.messages[want-1])
}

func (j *judge) said(key string, words int, m message) {
	_, n, ok := tryOf(key, m.text)
	switch {
	case !ok && strings.Contains(m.text, key+"."):
		j.blame(Mixed, "message %s is of no single try: %q", m.id, m.text)
	case !ok || n != words:
		j.blame(WrongText, "message %s has %d words of %d: %q", m.id, n, words, m.text)
	}
}

func (j *judge) wantInput() int {
	if j.c.Order.Effect {
		return 2 * inputTokens
	}
	return inputTokens
}

func (j *judge) wantOutput() int {
	if j.c.Order.Effect {
		return preamble + j.c.Order.Words
	}
	return j.c.Order.Words
}

// usage as both wires write it.
type usage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// parse decodes a frame, or blames it.
func (j *judge) parse(f *Frame, v any) bool {
	if err := json.Unmarshal(f.Data, v); err != nil {
		j.blame(Unreadable, "event %s: %v: %s", f.ID, err, f.Data)
		return false
	}
	return true
}
