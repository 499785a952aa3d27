package faults

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Order is what a test wants of the [Provider]. It travels as the text of the user's message, so that the provider needs to
// know nothing of the test, and a run that goes on after a crash asks for the same again.
type Order struct {
	Key   string `json:"key"`   // letters and digits; unique, since tries are counted by it
	Words int    `json:"words"` // of the answer
	// GapMS is the time between two words, in milliseconds.
	GapMS int `json:"gap_ms,omitempty"`
	// Effect makes the model call the tool "effect" first, and answer when it has the result.
	Effect bool `json:"effect,omitempty"`
	// Faults are what happens to the first, second … try to get the answer. Later tries go well.
	Faults []Fault `json:"faults,omitempty"`
}

// Kind is a way to fail.
type Kind string

const (
	None    Kind = ""
	Stall   Kind = "stall"   // nothing more comes, and the connection stays open
	Reset   Kind = "reset"   // the connection is reset
	Garbage Kind = "garbage" // something comes that is no event
	Cut     Kind = "cut"     // the answer ends in good order, without its finish
	Status  Kind = "status"  // an error in place of an answer
	Inside  Kind = "inside"  // an error object inside of a good answer
	Slow    Kind = "slow"    // ten times the gap between words
)

// Fault is one failed try.
type Fault struct {
	Kind Kind `json:"kind"`
	// After is how many words come before it. Before the first word a stall and a reset come without
	// a header.
	After int `json:"after,omitempty"`
	// Code is the HTTP status of a Status, RetryAfter its header.
	Code       int    `json:"code,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	// Text is put into the message of a Status or Inside.
	Text string `json:"text,omitempty"`
}

func (f Fault) String() string {
	s := string(f.Kind)
	if f.Code != 0 {
		s += " " + strconv.Itoa(f.Code)
	}
	if f.RetryAfter != "" {
		s += " retry after " + f.RetryAfter
	}
	if f.After > 0 {
		s += fmt.Sprintf(" after %d", f.After)
	}
	return s
}

// Disguise hides a text, so that it can be in an Order and yet be looked for everywhere: the provider takes the disguise off.
func Disguise(text string) string { return "rot:" + rot13(text) }

func undisguise(text string) string {
	if hidden, ok := strings.CutPrefix(text, "rot:"); ok {
		return rot13(hidden)
	}
	return text
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

// String is the text of the user's message.
func (o Order) String() string {
	data, _ := json.Marshal(o) // plain fields always encode
	return string(data)
}

func (o Order) gap() time.Duration { return time.Duration(o.GapMS) * time.Millisecond }

// fault is what happens to a try; tries count from 1.
func (o Order) fault(try int) Fault {
	if try > len(o.Faults) {
		return Fault{}
	}
	return o.Faults[try-1]
}

// readOrder finds the order in a user's message.
func readOrder(text string) (Order, bool) {
	if i := strings.LastIndex(text, "</system-reminder>"); i >= 0 { // an agent may put something before what the person said
		text = strings.TrimSpace(text[i+len("</system-reminder>"):])
	}
	var o Order
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &o) != nil || o.Key == "" {
		return o, false
	}
	return o, true
}

// Usage that the provider tells of a turn: this much input, and a token for each word.
const inputTokens = 10

// preamble is how many words come before the call of the tool.
const preamble = 4

// word is the i-th of a try: every word names its key, its try and its place, so that no mixture of two tries passes for one.
func word(key string, try, i int) string {
	if i == 0 {
		return fmt.Sprintf("%s.%d.%d", key, try, i)
	}
	return fmt.Sprintf(" %s.%d.%d", key, try, i)
}

// Text is what one try of the provider says.
func Text(key string, try, words int) string {
	var b strings.Builder
	for i := range words {
		b.WriteString(word(key, try, i))
	}
	return b.String()
}

// tryOf reads from a text which try said it; false if no single one can have.
func tryOf(key, text string) (try, words int, ok bool) {
	for i, w := range strings.Fields(text) {
		var n int
		if _, err := fmt.Sscanf(w, key+".%d."+strconv.Itoa(i), &n); err != nil || i > 0 && n != try {
			return 0, 0, false
		}
		try, words = n, i+1
	}
	return try, words, text == Text(key, try, words)
}
