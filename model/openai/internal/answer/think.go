package answer

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkSplitter separates think spans from the text around them, as servers send it that leave this to
// their clients. A span begins where a line begins with its tag: a text that speaks about the tag does not
// open one. Tags may be cut anywhere; what can no longer be part of one is handed out at once.
type thinkSplitter struct {
	off     bool // the server separates them itself
	inside  bool
	midLine bool // something other than white space stands before on this line
	trim    bool // white space that only separates a span from its tag or from the text is still to come
	held    string
}

// split takes the next piece of content and hands out what it is, in order.
func (t *thinkSplitter) split(piece string, text, thought func(string)) {
	if t.off {
		text(piece)
		return
	}
	s := t.held + piece
	t.held = ""
	for s != "" {
		if t.trim {
			if s = strings.TrimLeft(s, "\r\n"); s == "" {
				return
			}
			t.trim = false
		}
		if t.inside {
			at, found := strings.Index(s, thinkClose), true
			if at < 0 {
				at, found = tagStart(s, thinkClose), false
			}
			if at > 0 {
				thought(s[:at])
			}
			if !found {
				t.held = s[at:]
				return
			}
			s, t.inside, t.trim, t.midLine = s[at+len(thinkClose):], false, true, false
			continue
		}
		at, found := t.opening(s)
		if at > 0 {
			t.advance(s[:at])
			text(s[:at])
		}
		if !found {
			t.held = s[at:]
			return
		}
		s, t.inside, t.trim = s[at+len(thinkOpen):], true, true
	}
}

// opening returns where a tag begins that opens a span or may yet turn out to; else the length of s.
func (t *thinkSplitter) opening(s string) (at int, found bool) {
	midLine := t.midLine
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			midLine = false
		case ' ', '\t', '\r':
		case '<':
			if !midLine {
				if strings.HasPrefix(s[i:], thinkOpen) {
					return i, true
				}
				if strings.HasPrefix(thinkOpen, s[i:]) {
					return i, false
				}
			}
			midLine = true
		default:
			midLine = true
		}
	}
	return len(s), false
}

func (t *thinkSplitter) advance(s string) {
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s, t.midLine = s[i+1:], false
	}
	if strings.Trim(s, " \t\r") != "" {
		t.midLine = true
	}
}

// flush hands out what was held back for the rest of a tag that did not come.
func (t *thinkSplitter) flush(text, thought func(string)) {
	held := t.held
	t.held = ""
	switch {
	case held == "":
	case t.inside:
		thought(held)
	default:
		text(held)
	}
}

// tagStart returns where s ends in the beginning of a tag, or its length.
func tagStart(s, tag string) int {
	for n := min(len(tag)-1, len(s)); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return len(s) - n
		}
	}
	return len(s)
}
