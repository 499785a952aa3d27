package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// printer shows a run. The answer goes to standard output, all else to standard error.
//
// On a terminal the answer is shown as it arrives, and a try that came to nothing stays where it was shown. Elsewhere nothing can be
// taken back, so a turn is printed when it is whole, and one that came to nothing is not printed at all.
type printer struct {
	env    *env
	quiet  bool
	json   bool
	thread string
	column bool // standard output is inside a line
	begun  bool // something of the answer is there
	muse   bool // standard error is inside of what the model thinks

	streams bool      // standard output is a terminal
	styled  bool      // standard error may have colours
	shown   *markdown // nil where the answer is printed as it is
	turn    strings.Builder

	sources map[int]string // what the answer can cite, by its number
	cited   []int          // in the order in which it does
	pages   []page         // what a search of the provider's cites
	whole   strings.Builder
}

// page is what a provider's own search cites.
type page struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
}

func newPrinter(e *env, quiet, json bool, thread string) *printer {
	p := &printer{env: e, quiet: quiet || json, json: json, thread: thread, streams: isTerminal(e.stdout) && !json, styled: styled(e.stderr)}
	if styled(e.stdout) && !json {
		p.shown = &markdown{to: e.stdout}
	}
	return p
}

// tell writes an object for programs.
func (p *printer) tell(kind string, members map[string]any) {
	if !p.json {
		return
	}
	members["event"] = kind
	if raw, err := json.Marshal(members); err == nil {
		fmt.Fprintf(p.env.stdout, "%s\n", raw)
	}
}

// text is a piece of an item. What the agent says is the answer; what it thinks is shown beside it.
func (p *printer) text(itemID, delta string) {
	switch {
	case strings.HasPrefix(itemID, "rs_"):
		p.think(delta)
	case strings.HasPrefix(itemID, "msg_"):
		p.say(delta)
	}
}

func (p *printer) say(delta string) {
	p.thought()
	p.begun = true
	if p.json {
		p.tell("text", map[string]any{"delta": delta})
	}
	p.turn.WriteString(delta)
	if p.streams {
		p.flush()
	}
}

// flush prints what there is of a turn.
func (p *printer) flush() {
	text := p.turn.String()
	p.turn.Reset()
	if text == "" {
		return
	}
	p.whole.WriteString(text)
	if p.streams {
		text = harmless(text)
	}
	switch {
	case p.json:
		return
	case p.shown != nil:
		p.shown.write(text)
	default:
		fmt.Fprint(p.env.stdout, text)
	}
	p.column = !strings.HasSuffix(text, "\n")
}

// think shows what the model thinks.
func (p *printer) think(delta string) {
	p.tell("reasoning", map[string]any{"delta": delta})
	if p.quiet {
		return
	}
	if !p.muse {
		p.beside()
		p.muse = true
		p.print(p.env.stderr, "∴ ")
	}
	p.print(p.env.stderr, harmless(delta))
}

// print writes what is not the answer.
func (p *printer) print(to interface{ Write([]byte) (int, error) }, text string) {
	if p.styled {
		text = dim + text + plain
	}
	fmt.Fprint(to, text)
}

// thought ends what the model thinks.
func (p *printer) thought() {
	if p.muse {
		p.muse = false
		fmt.Fprintln(p.env.stderr)
	}
}

func (p *printer) call(name, arguments string) {
	p.flush()
	p.tell("tool_call", map[string]any{"name": name, "arguments": arguments})
	p.note("→ %s %s", name, arguments)
}

// void says that a try came to nothing; the next one, if there is one, begins the answer anew.
func (p *printer) void(cause string) {
	p.tell("void", map[string]any{"cause": cause})
	p.turn.Reset()
	if !p.streams {
		p.begun = false // nobody saw it
	}
	if p.begun {
		p.note("× the answer so far is void (%s)", cause)
	} else {
		p.note("× no answer (%s)", cause)
	}
	p.beside() // also where notes are not shown: the next try begins a line
	p.begun = false
}

func (p *printer) warn(message string) {
	p.tell("warning", map[string]any{"message": message})
	p.note("! %s", message)
}

// found notes what the answer may cite.
func (p *printer) found(ref int, name string) {
	if ref > 0 && name != "" {
		if p.sources == nil {
			p.sources = map[int]string{}
		}
		p.sources[ref] = name
	}
}

// cite notes what the answer cites: a source by its number, or a page that a provider's own search found.
func (p *printer) cite(ref int, title, url string) {
	switch {
	case ref > 0:
		if p.sources[ref] != "" && !slices.Contains(p.cited, ref) {
			p.cited = append(p.cited, ref)
			p.tell("source", map[string]any{"number": ref, "title": p.sources[ref]})
		}
	case title != "" || url != "":
		if one := (page{title, url}); !slices.Contains(p.pages, one) {
			p.pages = append(p.pages, one)
			p.tell("source", map[string]any{"title": title, "url": url})
		}
	}
}

// summary ends an answer: its sources, and what it cost. The next one has sources of its own.
func (p *printer) summary(in, out int) {
	p.newline()
	p.tell("end", map[string]any{"thread": p.thread, "text": p.whole.String(), "usage": map[string]int{"input_tokens": in, "output_tokens": out}})
	for _, n := range p.cited {
		p.note("[%d] %s", n, p.sources[n])
	}
	for _, one := range p.pages {
		p.note("· %s", strings.Trim(one.Title+"  "+one.URL, " "))
	}
	p.reset()
	p.note("%d tokens in, %d out · thread %s", in, out, p.thread)
}

func (p *printer) reset() {
	p.sources, p.cited, p.pages, p.begun = nil, nil, nil, false
	p.whole.Reset()
}

// failed ends an answer that did not come to its end.
func (p *printer) failed(err error) {
	p.newline()
	p.tell("end", map[string]any{"thread": p.thread, "text": p.whole.String(), "error": err.Error()})
	p.reset()
}

func (p *printer) prompt() {
	if !p.quiet {
		fmt.Fprint(p.env.stderr, "\n> ")
	}
}

func (p *printer) newline() {
	p.thought()
	p.flush()
	p.beside()
}

// beside ends the line of the answer, so that something else can be written. What is still to be printed waits.
func (p *printer) beside() {
	if p.shown != nil {
		p.shown.end()
	}
	if p.column {
		fmt.Fprintln(p.env.stdout)
		p.column = false
	}
}

func (p *printer) note(format string, args ...any) {
	if p.quiet {
		return
	}
	p.thought()
	p.beside()
	p.print(p.env.stderr, harmless(fmt.Sprintf(format, args...))+"\n")
}
