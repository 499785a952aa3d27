package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// living is a part of the terminal that is drawn over and over in one place. What a person types below it stays where it is.
type living struct {
	out   io.Writer
	live  bool // it is a terminal
	width int

	drawn int      // lines that stand there and are drawn over
	last  []string // what they say
	spin  int
}

// style is what changes colours, and moves nothing.
var style = regexp.MustCompile("\x1b\\[[0-9;]*m")

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

func (l *living) turning() string { return string(spinner[l.spin%len(spinner)]) }

// draw draws lines over those before.
func (l *living) draw(lines []string) {
	if l.drawn > 0 && slices.Equal(lines, l.last) && l.drawn == len(lines) {
		return
	}
	l.last = lines
	var b strings.Builder
	same := l.drawn == len(lines) && l.drawn > 0
	if same {
		b.WriteString("\x1b7") // where a person types
	}
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", l.drawn) // a ^C that the terminal shows has moved the cursor to the right
	}
	for _, line := range lines {
		if os.Getenv("NO_COLOR") != "" {
			line = style.ReplaceAllString(line, "")
		}
		b.WriteString("\r\x1b[2K" + line + "\n")
	}
	if same {
		b.WriteString("\x1b8")
	} else {
		b.WriteString("\x1b[J")
	}
	l.drawn = len(lines)
	fmt.Fprint(l.out, b.String())
}

// entered says that a person has ended a line below what is drawn; it is drawn over.
func (l *living) entered() {
	if l.drawn > 0 {
		l.drawn++
	}
}

// clear takes away what is drawn, so that something else can stand there.
func (l *living) clear() {
	if l.drawn > 0 {
		fmt.Fprintf(l.out, "\x1b[%dA\r\x1b[J", l.drawn)
		l.drawn = 0
	}
}
