package main

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// markdown shows Markdown on a terminal while it arrives: headings and what is between two asterisks bold, code in a colour.
// What it writes does not depend on how the text was cut into pieces, and nothing waits but a mark that may not be complete.
// It takes away the marks that it shows, and nothing else; a line that it does not know how to show stays as it is.
type markdown struct {
	to io.Writer

	held   string // the end of the text, which may be a part of a mark
	begun  bool   // something of the line was written
	fenced bool   // inside of a block of code
	before rune   // what stands before on the line; 0 for nothing
	bold   bool
	code   bool
	head   bool // the line is a heading
}

const (
	boldOn, boldOff = "\x1b[1m", "\x1b[22m"
	codeOn, codeOff = "\x1b[36m", "\x1b[39m"
)

// write shows the next piece.
func (m *markdown) write(piece string) {
	var out strings.Builder
	m.held = m.show(&out, m.held+piece, false)
	_, _ = io.WriteString(m.to, out.String()) // the output remembers its errors
}

// end shows what was held back, and ends all styles.
func (m *markdown) end() {
	var out strings.Builder
	m.show(&out, m.held, true)
	m.held = ""
	m.reset(&out)
	m.fenced, m.begun, m.before = false, false, 0
	_, _ = io.WriteString(m.to, out.String())
}

// show writes as much as can be shown, and returns the rest.
func (m *markdown) show(out *strings.Builder, s string, last bool) (rest string) {
	for s != "" {
		if !m.begun {
			n, ok := m.begin(out, s, last)
			if !ok {
				return s
			}
			s, m.begun = s[n:], true
			continue
		}
		n, ok := m.next(out, s, last)
		if !ok {
			return s
		}
		s = s[n:]
	}
	return ""
}

// begin looks at the beginning of a line. It reports false if more must be seen of it.
func (m *markdown) begin(out *strings.Builder, s string, last bool) (n int, ok bool) {
	const fence = "```"
	if len(s) < len(fence) && !last && strings.HasPrefix(fence, s) {
		return 0, false
	}
	if strings.HasPrefix(s, fence) {
		m.fenced = !m.fenced
		out.WriteString(codeOn + fence)
		m.code = true
		return len(fence), true
	}
	if m.fenced {
		out.WriteString(codeOn)
		m.code = true
		return 0, true
	}
	marks := len(s) - len(strings.TrimLeft(s, "#"))
	switch {
	case marks == 0 || marks > 6:
	case len(s) == marks:
		if !last {
			return 0, false
		}
	case s[marks] == ' ':
		m.head = true
		out.WriteString(boldOn)
		return marks + 1, true
	}
	return 0, true
}

// next shows a character, or a mark.
func (m *markdown) next(out *strings.Builder, s string, last bool) (n int, ok bool) {
	if !utf8.FullRuneInString(s) && !last {
		return 0, false
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == '\n':
		m.reset(out)
		out.WriteByte('\n')
		m.begun, m.before = false, 0
		return size, true
	case m.fenced:
	case r == '`':
		marks := len(s) - len(strings.TrimLeft(s, "`"))
		if marks == len(s) && !last {
			return 0, false
		}
		m.code = !m.code
		out.WriteString(map[bool]string{true: codeOn, false: codeOff}[m.code])
		m.before = r
		return marks, true
	case r == '*' && !m.code:
		if after := strings.TrimPrefix(s[1:], "*"); !last && !utf8.FullRuneInString(after) {
			return 0, false // what follows tells whether it is a mark
		}
		if strings.HasPrefix(s, "**") && m.toggles(s[2:]) {
			m.bold = !m.bold
			if !m.head {
				out.WriteString(map[bool]string{true: boldOn, false: boldOff}[m.bold])
			}
			m.before = r
			return 2, true
		}
	}
	out.WriteString(s[:size])
	m.before = r
	return size, true
}

// toggles reports that two asterisks begin or end something bold: they stand before a word, or behind one that is bold.
func (m *markdown) toggles(after string) bool {
	if m.bold {
		return !unicode.IsSpace(m.before)
	}
	r, _ := utf8.DecodeRuneInString(after)
	return after != "" && !unicode.IsSpace(r) && r != '*' && !unicode.IsLetter(m.before) && !unicode.IsDigit(m.before)
}

// reset ends what no longer holds at the end of a line.
func (m *markdown) reset(out *strings.Builder) {
	if m.bold || m.head {
		out.WriteString(boldOff)
	}
	if m.code {
		out.WriteString(codeOff)
	}
	m.bold, m.code, m.head = false, false, false
}
