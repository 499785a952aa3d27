package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

type chatCmd struct {
	Question []string `arg:"" optional:"" help:"What to ask. Without it, a conversation on the terminal, or what standard input says."`
	Thread   string   `help:"Go on with this conversation." placeholder:"ID"`
	Model    string   `help:"Ask this model." placeholder:"NAME"`
	Quiet    bool     `help:"Print the answer and nothing else." short:"q"`
}

// Run prints the answer as it arrives. The answer goes to standard output, everything else to standard error.
func (c chatCmd) Run(e *env) error {
	rt, err := e.open(e.config, nil)
	if err != nil {
		return err
	}
	p := &printer{env: e, quiet: c.Quiet, thread: c.Thread}
	switch {
	case len(c.Question) > 0:
		err = p.print(e.ctx, rt, c.request(strings.Join(c.Question, " "), c.Thread))
	case isTerminal(e.stdin):
		err = c.converse(p, rt)
	default:
		err = c.askInput(p, rt)
	}
	// What was asked is answered or cancelled by now: nothing is left to wait for.
	return errors.Join(err, rt.Close(context.WithoutCancel(e.ctx)))
}

// askInput asks what standard input says, as one question.
func (c chatCmd) askInput(p *printer, rt *runtime) error {
	text, err := io.ReadAll(io.LimitReader(p.env.stdin, maxQuestion+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the question from standard input: %w", err)
	case len(text) > maxQuestion:
		return fmt.Errorf("the question on standard input is longer than %d bytes; ask for less at once", maxQuestion)
	case strings.TrimSpace(string(text)) == "":
		return errors.New("there is no question; give one after chat, or on standard input")
	}
	return p.print(p.env.ctx, rt, c.request(string(text), c.Thread))
}

// maxQuestion is more than any model reads.
const maxQuestion = 16 << 20

// converse asks line by line, in one thread. A question that fails is told, and does not end the conversation.
func (c chatCmd) converse(p *printer, rt *runtime) error {
	p.note("Ask, line by line; an empty line or Ctrl-D ends the conversation.")
	lines := make(chan string)
	go func() { // ends with the input, or with the process: nothing else ends a read from a terminal
		defer close(lines)
		for in := bufio.NewScanner(p.env.stdin); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-p.env.ctx.Done():
				return
			}
		}
	}()
	for {
		p.prompt()
		select {
		case line, ok := <-lines:
			if !ok {
				p.note("") // Ctrl-D leaves the cursor behind the prompt
			}
			if strings.TrimSpace(line) == "" {
				return nil
			}
			if err := p.print(p.env.ctx, rt, c.request(line, p.thread)); err != nil && p.env.ctx.Err() == nil {
				fmt.Fprintln(p.env.stderr, "tributary:", advice(err))
			}
		case <-p.env.ctx.Done():
			return nil
		}
	}
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (c chatCmd) request(question, thread string) tributary.Request {
	r := tributary.Request{Thread: thread, Text: question, StopWithReader: true}
	if c.Model != "" {
		r.Configurable, _ = json.Marshal(map[string]string{"model_name": c.Model}) // strings can be encoded
	}
	return r
}

// printer shows a run on a terminal.
type printer struct {
	env    *env
	quiet  bool
	thread string
	column bool // standard output is inside a line

	sources map[int]string // what can be cited in this run, by its number
	cited   []int          // in the order in which the answer does
}

func (p *printer) print(ctx context.Context, rt *runtime, req tributary.Request) error {
	var end event.RunEnded
	p.sources, p.cited = map[int]string{}, nil
	for env, err := range rt.Stream(ctx, req) {
		if err != nil {
			p.newline()
			if ctx.Err() != nil {
				return errors.New("stopped")
			}
			return err
		}
		p.thread = env.Thread
		p.show(env.Event, &end)
	}
	p.newline()
	if end.Error != nil {
		return end.Error
	}
	for _, n := range p.cited {
		p.note("[%d] %s", n, p.sources[n])
	}
	p.note("%d tokens in, %d out · thread %s", end.Usage.InputTokens, end.Usage.OutputTokens, p.thread)
	return nil
}

// show prints what a person who waits for an answer wants to see; it is no projection and owes nothing to
// the other kinds.
func (p *printer) show(e event.Event, end *event.RunEnded) {
	switch e := e.(type) {
	case event.TextDelta:
		if strings.HasPrefix(e.Item, "msg_") {
			fmt.Fprint(p.env.stdout, e.Text)
			p.column = !strings.HasSuffix(e.Text, "\n")
		}
	case event.ItemEnded:
		switch it := e.Item.(type) {
		case item.ToolCall:
			p.note("→ %s %s", it.Name, it.Arguments)
		case item.ToolResult:
			p.found(it)
		}
	case event.AnnotationAdded:
		if n := e.Annotation.Ref; p.sources[n] != "" && !slices.Contains(p.cited, n) {
			p.cited = append(p.cited, n)
		}
	case event.TurnVoided:
		p.note("× the answer so far is void (%s)", e.Cause)
	case event.Warned:
		p.note("! %s", e.Message)
	case event.RunEnded:
		*end = e
	}
}

// found notes what an answer may cite.
func (p *printer) found(r item.ToolResult) {
	for _, b := range slices.Concat(r.Content, r.Blocks) {
		if b.Ref > 0 && b.Name != "" {
			p.sources[b.Ref] = b.Name
		}
	}
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
