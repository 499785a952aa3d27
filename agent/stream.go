package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/cite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/turn"
)

// stream reads an answer and writes it down. Its error is the model's, unless it is a *writeError or ctx has ended.
func (c *call) stream(ctx context.Context, w *turn.Writer, rec *record, m model.Model, info model.Info, req model.Request) (fin model.Finish, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if v := recover(); v != nil {
			if c.opts.Log != nil {
				c.opts.Log.ErrorContext(ctx, "model panicked", "provider", info.Provider, "model", info.Model, "panic", v, "stack", string(debug.Stack()))
			}
			err = &model.Error{Class: model.Broken, Provider: info.Provider, Message: fmt.Sprintf("the program that talks to it broke: %v", v)}
		}
	}()
	watch := newSilence(cancel, c.policy.First, c.policy.Idle)
	defer watch.stop()
	a := &answer{w: w, provider: info.Provider, citable: c.opts.Citable, taken: c.opts.Taken}
	a.price, _ = m.(Pricer)
	meter := c.policy.Limits.Meter()
	var pace pace
	for part, err := range m.Stream(ctx, req) {
		watch.stop()
		if unrecorded := rec.answered(ctx); unrecorded != nil {
			return fin, &writeError{unrecorded}
		}
		if err != nil {
			if late := (*silenceError)(nil); errors.As(context.Cause(ctx), &late) {
				err = &model.Error{Class: model.Timeout, Provider: info.Provider, Message: late.Error(), Err: err}
			}
			return fin, err
		}
		if end, ok := part.(model.Finish); ok {
			return end, nil
		}
		if err := meter.Take(part); err != nil {
			return fin, &model.Error{Class: model.TooMuch, Provider: info.Provider, Message: err.Error(), Err: err}
		}
		if err := a.write(ctx, part); err != nil {
			return fin, &writeError{err}
		}
		pace.hold(ctx, meter.Said())
		// The time that readers of the run take, and that we let it wait, is not the model's.
		watch.start()
	}
	return fin, &model.Error{Class: model.Broken, Provider: info.Provider, Message: "the answer broke off before its end"}
}

// silence cancels a call in which nothing comes for too long.
type silence struct {
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer // of the wait that goes on; nil for one without limit
	begun  bool
}

// newSilence starts the wait for the first part.
func newSilence(cancel context.CancelCauseFunc, first, idle time.Duration) *silence {
	s := &silence{cancel: cancel, idle: idle}
	s.timer = s.after(first)
	return s
}

func (s *silence) after(limit time.Duration) *time.Timer {
	if limit < 0 {
		return nil
	}
	return time.AfterFunc(limit, func() { s.cancel(&silenceError{limit}) })
}

func (s *silence) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// start begins the wait for the next part.
func (s *silence) start() {
	switch {
	case !s.begun:
		s.begun = true
		s.timer = s.after(s.idle)
	case s.timer != nil:
		s.timer.Reset(s.idle)
	}
}

type silenceError struct{ limit time.Duration }

func (e *silenceError) Error() string { return fmt.Sprintf("nothing came for %v", e.limit) }

// writeError says that the run cannot be written, whatever the model says.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

// classify makes a *model.Error of whatever a model failed with.
func classify(err error, info model.Info) *model.Error {
	var known *model.Error
	if errors.As(err, &known) {
		return known
	}
	class := model.Broken
	if errors.Is(err, context.DeadlineExceeded) {
		class = model.Timeout
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return &model.Error{Class: class, Provider: info.Provider, Message: reason, Err: err}
}

// answer writes the parts of an answer.
type answer struct {
	w        *turn.Writer
	provider string
	price    Pricer
	citable  func(int) bool
	taken    func(string) bool

	parsers  map[int]*cite.Parser // by text block
	thoughts map[int]bool         // reasoning items that were begun
	calls    map[int]bool         // calls that were begun
	ids      map[string]bool      // call ids of this answer
	partials map[int]int          // coarse versions so far, by image block
}

func (a *answer) write(ctx context.Context, part model.Part) error {
	switch p := part.(type) {
	case model.Text:
		return a.text(ctx, p)
	case model.Reasoning:
		return a.reasoning(ctx, p)
	case model.ToolCall:
		return a.call(ctx, p)
	case model.Image:
		return a.image(ctx, p)
	case model.Opaque:
		return a.w.Keep(ctx, p.Raw)
	case model.Annotation:
		return a.w.Annotate(ctx, p.Block, p.Annotation)
	case model.Usage:
		u := credible(p.Usage)
		if u.CostMicros == 0 && a.price != nil {
			u.CostMicros = a.price.Cost(u)
		}
		a.w.Usage(u)
	case model.Finish: // the caller's
	}
	return nil
}

// credible takes the numbers of a provider as far as they can be true: sums over many calls must not overflow, and
// nobody's bill shrinks.
func credible(u item.Usage) item.Usage {
	const most = 1 << 40
	for _, n := range []*int{&u.InputTokens, &u.OutputTokens, &u.CachedTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), most)
	}
	u.CostMicros = min(max(u.CostMicros, 0), most)
	return u
}

func (a *answer) text(ctx context.Context, p model.Text) error {
	if err := a.w.Text(ctx, p.Block, p.Text); err != nil || a.citable == nil || p.Text == "" {
		return err
	}
	parser := a.parsers[p.Block]
	if parser == nil {
		parser = cite.NewParser(a.citable)
		put(&a.parsers, p.Block, parser)
	}
	for _, note := range parser.Feed(p.Text) {
		if err := a.w.Annotate(ctx, p.Block, note); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) reasoning(ctx context.Context, p model.Reasoning) error {
	if p.Text == "" && p.Signature == "" && p.Encrypted == "" && p.ID == "" {
		return nil
	}
	if !a.thoughts[p.Item] || p.Signature != "" || p.Encrypted != "" || p.ID != "" {
		put(&a.thoughts, p.Item, true)
		r := item.Reasoning{Signature: p.Signature, Encrypted: p.Encrypted, ID: p.ID, Provider: a.provider}
		if err := a.w.Sign(ctx, p.Item, r); err != nil {
			return err
		}
	}
	return a.w.Reasoning(ctx, p.Item, p.Block, p.Text)
}

func (a *answer) call(ctx context.Context, p model.ToolCall) error {
	c := item.ToolCall{Name: p.Name, Arguments: p.Arguments, Signature: p.Signature}
	if !a.calls[p.Index] {
		put(&a.calls, p.Index, true)
		// Some providers number calls anew in every answer. Left empty, the id is derived from the turn's.
		if p.ID != "" && a.taken != nil && !a.taken(p.ID) && !a.ids[p.ID] {
			c.CallID = p.ID
			put(&a.ids, p.ID, true)
		}
	}
	return a.w.Call(ctx, p.Index, c)
}

func (a *answer) image(ctx context.Context, p model.Image) error {
	partial := 0
	if p.Partial {
		partial = a.partials[p.Block] + 1
		put(&a.partials, p.Block, partial)
	}
	return a.w.Image(ctx, p.Block, item.Block{URL: p.URL, MIME: p.MIME}, partial)
}

// put writes into a map that need not be there yet: most answers need none of them.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
