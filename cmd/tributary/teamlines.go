package main

import (
	"strings"

	"github.com/tributary-ai/tributary/event"
)

const (
	narrowest = 30 // a column
	tallest   = 6  // the lines of text in a column
)

// redraw draws the team, until the lead answers.
func (s *teamScreen) redraw() {
	if s.live && !s.lead && len(s.experts) > 0 {
		s.width = columns(s.out)
		s.draw(s.picture())
	}
}

// picture is the team as lines: a column for each expert where there is room, else lines below each other.
func (s *teamScreen) picture() []string {
	lines := []string{fit("\x1b[1m"+oneLine(s.title)+"\x1b[0m", s.width)}
	if phases := s.phases(); phases != "" {
		lines = append(lines, fit(phases, s.width))
	}
	each := (s.width - 2*(len(s.experts)-1)) / len(s.experts)
	if each >= narrowest {
		lines = append(lines, s.beside(each)...)
	} else {
		for _, c := range s.experts {
			lines = append(lines, fit(s.head(c)+"  \x1b[2m"+c.now()+"\x1b[0m", s.width))
			if len(s.experts) <= tallest {
				lines = append(lines, fit("    "+tail(c.text, s.width-6, 1)[0], s.width))
			}
		}
	}
	if s.listens {
		lines = append(lines, fit("\x1b[2mType to speak to all, @name to one, /stop name; Enter sends, Ctrl-C stops\x1b[0m", s.width))
	}
	return lines
}

// phases is the plan in a line, where there is more than one phase.
func (s *teamScreen) phases() string {
	if len(s.plan) < 2 {
		return ""
	}
	var parts []string
	for _, p := range s.plan {
		sign := "·"
		switch p.Status {
		case "running":
			sign = s.turning()
		case "done":
			sign = "✓"
		case "failed":
			sign = "✗"
		case "skipped":
			sign = "–"
		}
		parts = append(parts, sign+" "+oneLine(p.Title))
	}
	return strings.Join(parts, "   ")
}

// head is who an expert is, and how it stands.
func (s *teamScreen) head(c *column) string {
	sign := "·"
	switch {
	case c.status == event.Success:
		sign = "✓"
	case c.status != "":
		sign = "✗"
	case c.begun:
		sign = s.turning()
	}
	return sign + " " + oneLine(c.Name)
}

// now is what an expert does.
func (c *column) now() string {
	parts := []string{}
	if n := len(c.sources); n > 0 {
		parts = append(parts, plural(n, "source"))
	}
	switch {
	case c.why != "":
		parts = append(parts, oneLine(c.why))
	case c.status == event.Success:
		parts = append(parts, plural(len([]rune(c.text)), "character"))
	case c.doing != "":
		parts = append(parts, oneLine(c.doing))
	case c.text != "":
		parts = append(parts, plural(len([]rune(c.text)), "character"))
	case c.begun:
		parts = append(parts, "thinking")
	default:
		parts = append(parts, oneLine(c.Role))
	}
	return strings.Join(parts, ", ")
}

// beside puts the experts beside each other, each in a column of its own.
func (s *teamScreen) beside(width int) []string {
	lines := make([]string, 2+tallest)
	for i, c := range s.experts {
		cells := []string{"\x1b[1m" + s.head(c) + "\x1b[0m", "\x1b[2m" + c.now() + "\x1b[0m"}
		cells = append(cells, tail(c.text, width, tallest)...)
		for n := range lines {
			if i > 0 {
				lines[n] += "  "
			}
			lines[n] += pad(fit(cells[n], width), width)
		}
	}
	return lines
}

// tail is the end of a text in n lines of a width, the last at the bottom.
func tail(text string, width, n int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(text) {
		w := wide(word)
		if used > 0 && used+1+w > width-1 {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line += " "
			used++
		}
		line += word
		used += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines
}

// pad fills a line up to a number of columns.
func pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-wide(line)))
}

// wide is how many columns a text takes; see fit.
func wide(text string) int {
	columns, escape := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			columns += cells(r)
		}
	}
	return columns
}

// printable takes out of a stranger's text what would move the cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
