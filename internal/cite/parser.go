package cite

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
)

// Parser finds the markers of one text block while it streams. Its memory does not grow with the text.
type Parser struct {
	known func(n int) bool

	seen  int    // code points read so far
	tail  string // bytes at the end that are not yet a whole code point
	state state
	start int // code point at which the marker being read began
	n     int // its number so far
}

type state int

const (
	inText  state = iota
	bracket       // after "["
	caret         // after "[^"
	digits        // after "[^" and at least one digit
)

// NewParser returns a parser for a new text block. The function says which numbers can be cited; it is asked
// when a marker is complete.
func NewParser(known func(n int) bool) *Parser { return &Parser{known: known} }

// Feed reads the next piece of the text and returns the annotations of the markers that end in it.
func (p *Parser) Feed(delta string) []item.Annotation {
	var found []item.Annotation
	s := delta
	if p.tail != "" {
		s, p.tail = p.tail+delta, ""
	}
	for len(s) > 0 {
		if p.state == inText {
			// Most text has no bracket at all: count it in one go.
			at := strings.IndexByte(s, '[')
			if at < 0 {
				whole := len(s) - partialRune(s)
				p.seen += utf8.RuneCountInString(s[:whole])
				p.tail = s[whole:]
				return found
			}
			p.seen += utf8.RuneCountInString(s[:at])
			s = s[at:]
		}
		if !utf8.FullRuneInString(s) {
			p.tail = s
			return found
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if p.step(r) && p.known(p.n) {
			found = append(found, item.Annotation{Type: item.ReferenceToBlock, Ref: p.n, Start: p.start, End: p.seen})
		}
	}
	return found
}

// step reads one code point and reports that it completed a marker.
func (p *Parser) step(r rune) bool {
	at := p.seen
	p.seen++
	switch {
	case r == '[':
		p.state, p.start, p.n = bracket, at, 0
	case r == '^' && p.state == bracket:
		p.state = caret
	case r >= '0' && r <= '9' && (p.state == caret || p.state == digits):
		p.state = digits
		// A number too large to be in any pool stays too large, however many digits follow.
		p.n = min(p.n*10+int(r-'0'), math.MaxInt32)
	case r == ']' && p.state == digits:
		p.state = inText
		return true
	default:
		p.state = inText
	}
	return false
}

// partialRune returns the length of the incomplete code point at the end of s.
func partialRune(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if b := s[len(s)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Annotate returns the annotations of a whole text.
func Annotate(text string, known func(n int) bool) []item.Annotation {
	return NewParser(known).Feed(text)
}
