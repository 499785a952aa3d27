package answer

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkSplitter separates think spans from the text around them, as servers send it that leave this to
// their clients. A span begins where a line begins with its tag: a text that speaks about the tag does not
// open one. Tags may be cut anywhere; what can no longer be part of one is handed out at once.
//
// Some prompts end with the tag that opens a span, and only the one that closes it is in the answer. Where that is known
// before, the splitter is opened. Where it is not, what came before was handed out as text already, and stays text; the tag is left
// out.
type thinkSplitter struct {
	off     bool // the server separates them itself
	inside  bool
	midLine bool // something other than white space stands before on this line
	trim    bool // white space that only separates a span from its tag or from the text is still to come
	held    string

	first  bool            // nothing came yet of a span that was opened before the answer
	opened bool            // such a span has not been closed
	all    strings.Builder // of it, in case that it is none
}

// open says that the answer begins inside of a span.
func (t *thinkSplitter) open() { t.inside, t.trim, t.first, t.opened = true, true, true, true }

// close says that the server separates spans itself.
func (t *thinkSplitter) close() {
	t.off = true
	if t.opened {
		t.inside, t.opened = false, false
	}
}

// unclosed is all of a span that was opened before the answer and never closed.
func (t *thinkSplitter) unclosed() string {
	if !t.opened {
		return ""
	}
	return t.all.String()
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
		if t.first { // a server that sends the opening tag after all
			if len(s) < len(thinkOpen) && strings.HasPrefix(thinkOpen, s) {
				t.held = s
				return
			}
			t.first = false
			if rest, ok := strings.CutPrefix(s, thinkOpen); ok {
				s, t.trim = rest, true
				continue
			}
		}
		if t.inside {
			at, found := strings.Index(s, thinkClose), true
			if at < 0 {
				at, found = tagStart(s, thinkClose), false
			}
			if at > 0 {
				t.muse(s[:at], thought)
			}
			if !found {
				t.held = s[at:]
				return
			}
			s, t.inside, t.opened, t.trim, t.midLine = s[at+len(thinkClose):], false, false, true, false
			continue
		}
		at, tag := t.tag(s)
		if at > 0 {
			t.advance(s[:at])
			text(s[:at])
		}
		switch tag {
		case "":
			t.held = s[at:]
			return
		case thinkOpen:
			t.inside, t.trim = true, true
		}
		s = s[at+len(tag):]
	}
}

// muse hands out what was thought.
func (t *thinkSplitter) muse(s string, thought func(string)) {
	if t.opened {
		t.all.WriteString(s)
	}
	thought(s)
}

// tag returns where a line begins with a tag, and which. Without any it is where one begins that may yet turn out to be one;
// else the length of s.
func (t *thinkSplitter) tag(s string) (at int, tag string) {
	midLine := t.midLine
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			midLine = false
		case ' ', '\t', '\r':
		case '<':
			if !midLine {
				for _, tag := range []string{thinkOpen, thinkClose} {
					if strings.HasPrefix(s[i:], tag) {
						return i, tag
					}
				}
				if strings.HasPrefix(thinkOpen, s[i:]) || strings.HasPrefix(thinkClose, s[i:]) {
					return i, ""
				}
			}
			midLine = true
		default:
			midLine = true
		}
	}
	return len(s), ""
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
		t.muse(held, thought)
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
