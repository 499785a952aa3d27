package main

import (
	"fmt"
	"slices"
	"strings"
)

// printer shows a run on a terminal.
type printer struct {
	env    *env
	quiet  bool
	thread string
	column bool // standard output is inside a line
	begun  bool // something of the answer is there

	sources map[int]string // what the answer can cite, by its number
	cited   []int          // in the order in which it does
}

// text is a piece of an item; only what the agent says is the answer.
func (p *printer) text(itemID, delta string) {
	if strings.HasPrefix(itemID, "msg_") {
		fmt.Fprint(p.env.stdout, delta)
		p.begun = true
		p.column = !strings.HasSuffix(delta, "\n")
	}
}

func (p *printer) call(name, arguments string) { p.note("→ %s %s", name, arguments) }

// void says that a try came to nothing; the next one, if there is one, begins the answer anew.
func (p *printer) void(cause string) {
	if p.begun {
		p.note("× the answer so far is void (%s)", cause)
	} else {
		p.note("× no answer (%s)", cause)
	}
	p.begun = false
}

func (p *printer) warn(message string) { p.note("! %s", message) }

// found notes what the answer may cite.
func (p *printer) found(ref int, name string) {
	if ref > 0 && name != "" {
		if p.sources == nil {
			p.sources = map[int]string{}
		}
		p.sources[ref] = name
	}
}

func (p *printer) cite(ref int) {
	if p.sources[ref] != "" && !slices.Contains(p.cited, ref) {
		p.cited = append(p.cited, ref)
	}
}

// summary ends an answer: its sources, and what it cost. The next one has sources of its own.
func (p *printer) summary(in, out int) {
	for _, n := range p.cited {
		p.note("[%d] %s", n, p.sources[n])
	}
	p.sources, p.cited, p.begun = nil, nil, false
	p.note("%d tokens in, %d out · thread %s", in, out, p.thread)
}

func (p *printer) prompt() {
	if !p.quiet {
		fmt.Fprint(p.env.stderr, "\n> ")
	}
}

func (p *printer) newline() {
	if p.column {
		fmt.Fprintln(p.env.stdout)
		p.column = false
	}
}

func (p *printer) note(format string, args ...any) {
	if p.quiet {
		return
	}
	p.newline()
	fmt.Fprintf(p.env.stderr, format+"\n", args...)
}
