package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

type chatCmd struct {
	Question []string `arg:"" help:"What to ask."`
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
	p := &printer{env: e, quiet: c.Quiet}
	err = p.print(e.ctx, rt, c.request())
	// What was asked is answered or cancelled by now: nothing is left to wait for.
	return errors.Join(err, rt.Close(context.WithoutCancel(e.ctx)))
}

func (c chatCmd) request() tributary.Request {
	r := tributary.Request{Thread: c.Thread, Text: strings.Join(c.Question, " "), StopWithReader: true}
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
}

func (p *printer) print(ctx context.Context, rt *runtime, req tributary.Request) error {
	var end event.RunEnded
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
		if call, ok := e.Item.(item.ToolCall); ok {
			p.note("→ %s %s", call.Name, call.Arguments)
		}
	case event.TurnVoided:
		p.note("× the answer so far is void (%s)", e.Cause)
	case event.Warned:
		p.note("! %s", e.Message)
	case event.RunEnded:
		*end = e
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
