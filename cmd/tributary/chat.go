package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
)

type chatCmd struct {
	Question []string `arg:"" optional:"" help:"What to ask. Without it, a conversation on the terminal, or what standard input says."`
	Thread   string   `help:"Go on with this conversation." placeholder:"ID"`
	Model    string   `help:"Ask this model." placeholder:"NAME"`
	Quiet    bool     `help:"Print the answer and nothing else." short:"q"`
	JSON     bool     `help:"Print a line of JSON for whatever happens." name:"json"`
}

// asker is who answers: the engine in this process, or a server that has the data folder open.
type asker interface {
	ask(ctx context.Context, p *printer, q question) error
	// find reports that there is no such thread.
	find(ctx context.Context, thread string) error
}

// errStopped is what the user, or somebody else, did to a question before it was answered.
var errStopped = errors.New("stopped")

type question struct {
	text   string
	thread string
	model  string
}

func (q question) configurable() map[string]string {
	if q.model == "" {
		return nil
	}
	return map[string]string{"model_name": q.model}
}

// Run prints the answer as it arrives. The answer goes to standard output, everything else to standard error.
func (c chatCmd) Run(e *env) error {
	p := newPrinter(e, c.Quiet, c.JSON, c.Thread)
	rt, err := e.open(e.config, nil)
	if r, ok := running(e.config.Data); ok && errors.Is(err, sqlite.ErrLocked) {
		return c.talk(p, r)
	}
	if err != nil {
		return err
	}
	err = c.talk(p, local{rt})
	// What is worth remembering is found out before the end, but nobody waits long for it, and Ctrl-C ends the wait: it is kept for
	// the next start.
	base := e.ctx
	if base.Err() != nil {
		base = context.WithoutCancel(base)
	}
	ctx, cancel := context.WithTimeout(base, e.config.Drain)
	defer cancel()
	return errors.Join(err, rt.Close(ctx))
}

func (c chatCmd) talk(p *printer, a asker) error {
	if c.Thread != "" {
		if err := a.find(p.env.ctx, c.Thread); err != nil {
			return err
		}
	}
	switch {
	case strings.TrimSpace(strings.Join(c.Question, "")) != "":
		return a.ask(p.env.ctx, p, question{strings.Join(c.Question, " "), c.Thread, c.Model})
	case len(c.Question) > 0:
		return errNoQuestion
	case isTerminal(p.env.stdin):
		return c.converse(p, a)
	}
	return c.askInput(p, a)
}

// askInput asks what standard input says, as one question.
func (c chatCmd) askInput(p *printer, a asker) error {
	text, err := io.ReadAll(io.LimitReader(p.env.stdin, maxQuestion+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the question from standard input: %w", err)
	case len(text) > maxQuestion:
		return fmt.Errorf("the question on standard input is longer than %d bytes; ask for less at once", maxQuestion)
	case strings.TrimSpace(string(text)) == "":
		return errNoQuestion
	}
	return a.ask(p.env.ctx, p, question{string(text), c.Thread, c.Model})
}

var errNoQuestion = errors.New("there is no question; give one after chat, or on standard input")

// noThread is the error of a thread that is not there.
func noThread(id string) error {
	return fmt.Errorf("there is no thread %q; tributary threads lists those that there are, and without --thread a new one begins", id)
}

// maxQuestion is more than any model reads.
const maxQuestion = 16 << 20

// converse asks line by line, in one thread. A question that fails is told, and does not end the conversation; nor does
// Ctrl-C, which stops the answer.
func (c chatCmd) converse(p *printer, a asker) error {
	p.note("Ask, line by line. Ctrl-C stops an answer; an empty line or Ctrl-D ends the conversation.")
	pressed, give := takeInterrupts(p.env.ctx)
	defer give()
	defer p.leave()
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
	for leaving := false; ; {
		p.prompt()
		select {
		case <-pressed:
			if p.note(""); leaving {
				return nil
			}
			leaving = true
			p.note("Ctrl-C again ends the conversation.")
		case line, ok := <-lines:
			leaving = false
			if !ok {
				p.note("") // Ctrl-D leaves the cursor behind the prompt
			}
			if strings.TrimSpace(line) == "" {
				return nil
			}
			switch err := c.answer(p, a, line, pressed); {
			case err == nil || p.env.ctx.Err() != nil:
			case errors.Is(err, errStopped):
				p.note("× stopped")
			default:
				fmt.Fprintln(p.env.stderr, "tributary:", advice(err))
			}
		case <-p.env.ctx.Done():
			p.note("") // as after Ctrl-D
			return nil
		}
	}
}

// answer asks one question, until it is answered or Ctrl-C is pressed.
func (c chatCmd) answer(p *printer, a asker, line string, pressed <-chan struct{}) error {
	ctx, stop := context.WithCancel(p.env.ctx)
	defer stop()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-pressed:
			stop()
		case <-over:
		}
	}()
	return a.ask(ctx, p, question{line, p.thread, c.Model})
}

// leave says how to come back.
func (p *printer) leave() {
	if p.thread != "" {
		p.note("Come back with: %s", comeBackWith(p.env, "chat --thread "+p.thread))
	}
}

// local asks the engine in this process.
type local struct{ rt *runtime }

func (l local) find(ctx context.Context, thread string) error {
	_, err := l.rt.Threads().Get(ctx, "", thread)
	if errors.Is(err, tributary.ErrNotFound) || errors.As(err, new(*tributary.InvalidError)) {
		return noThread(thread)
	}
	return err
}

func (l local) ask(ctx context.Context, p *printer, q question) error {
	req := tributary.Request{Thread: q.thread, Text: q.text, StopWithReader: true}
	if c := q.configurable(); c != nil {
		req.Configurable, _ = json.Marshal(c) // strings can be encoded
	}
	var end event.RunEnded
	for env, err := range l.rt.Stream(ctx, req) {
		if err != nil {
			var invalid *tributary.InvalidError
			switch {
			case ctx.Err() != nil:
				err = errStopped
			case errors.As(err, &invalid) && strings.HasSuffix(invalid.Field, "model_name"):
				err = fmt.Errorf("--model: %s; tributary models says why others cannot be used", invalid.Reason)
			}
			p.failed(err)
			return err
		}
		p.thread = env.Thread
		p.show(env.Event, &end)
	}
	if end.Error != nil {
		p.failed(end.Error)
		return end.Error
	}
	p.summary(end.Usage.InputTokens, end.Usage.OutputTokens)
	return nil
}

// show prints what a person who waits for an answer wants to see; it is no projection and owes nothing to
// the other kinds.
func (p *printer) show(e event.Event, end *event.RunEnded) {
	switch e := e.(type) {
	case event.TextDelta:
		p.text(e.Item, e.Text)
	case event.ItemEnded:
		switch it := e.Item.(type) {
		case item.ToolCall:
			p.call(it.Name, it.Arguments)
		case item.ToolResult:
			for _, b := range slices.Concat(it.Content, it.Blocks) {
				p.found(b.Ref, b.Name)
			}
		}
	case event.AnnotationAdded:
		p.cite(e.Annotation.Ref, e.Annotation.Title, e.Annotation.URL)
	case event.TurnEnded:
		p.flush()
	case event.TurnVoided:
		p.void(e.Cause)
	case event.Warned:
		p.warn(e.Message)
	case event.RunEnded:
		*end = e
	}
}
