package offline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// Name is what the model calls itself in events and listings.
const Name = "offline"

// Options are the model's settings; the zero value is a good default.
type Options struct {
	// Delay is waited before each token, so that people can watch an answer grow.
	Delay time.Duration
}

// Model answers from its program and from what tools find.
type Model struct{ opts Options }

var (
	_ model.Model     = (*Model)(nil)
	_ model.Describer = (*Model)(nil)
)

// New returns the model. It is safe for concurrent use.
func New(opts Options) *Model { return &Model{opts} }

// Describe says who the model is.
func (m *Model) Describe() model.Info {
	return model.Info{Provider: Name, Model: Name, ContextWindow: 128_000, Thinking: true}
}

// reply is what the model has decided to do: think, then say something or have a tool called.
type reply struct {
	thought string
	text    string
	tool    string
	args    string
}

// Stream decides on an answer and sends it token by token.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		s := &sender{ctx: ctx, delay: m.opts.Delay, yield: yield, max: req.MaxTokens}
		if err := s.send(req, decide(req)); err != nil {
			yield(nil, err)
		}
	}
}

// sender streams one reply.
type sender struct {
	ctx   context.Context
	delay time.Duration
	yield func(model.Part, error) bool
	max   int // tokens of output; 0: any number

	said    int // tokens so far
	thought int // of them, tokens of reasoning
	left    bool
}

// send yields the whole answer. It returns an error for the reader, or nil if the answer is complete or the
// reader has left.
func (s *sender) send(req model.Request, r reply) error {
	reason := item.FinishStop
	if req.Thinking.On && r.thought != "" {
		full := s.each(r.thought, func(t string) model.Part { return model.Reasoning{Text: t} })
		if !full {
			reason = item.FinishLength
		}
		s.thought = s.said
	}
	if r.text != "" && reason == item.FinishStop {
		text := cutAtStop(r.text, req.Stop)
		if !s.each(text, func(t string) model.Part { return model.Text{Text: t} }) {
			reason = item.FinishLength
		}
	}
	if r.tool != "" && reason == item.FinishStop {
		reason = item.FinishToolCalls
		s.part(model.ToolCall{ID: callID(req, r), Name: r.tool})
		if !s.each(r.args, func(t string) model.Part { return model.ToolCall{Arguments: t} }) {
			reason = item.FinishLength
		}
	}
	s.part(model.Usage{Usage: item.Usage{InputTokens: inputTokens(req), OutputTokens: s.said, ReasoningTokens: s.thought}})
	s.part(model.Finish{Reason: reason, Raw: string(reason), Model: Name})
	if s.left {
		return nil
	}
	return s.ctx.Err()
}

// each sends a text token by token and reports whether there was room for all of it.
func (s *sender) each(text string, part func(string) model.Part) bool {
	for _, tok := range pieces(strings.ToValidUTF8(text, "\uFFFD")) {
		if s.max > 0 && s.said >= s.max {
			return false
		}
		if s.wait(); !s.part(part(tok)) {
			return true
		}
		s.said += max(Tokens(tok), 1)
	}
	return true
}

func (s *sender) wait() {
	if s.delay <= 0 || s.left {
		return
	}
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// part yields unless the reader has left or the context has ended.
func (s *sender) part(p model.Part) bool {
	if s.left || s.ctx.Err() != nil {
		return false
	}
	s.left = !s.yield(p, nil)
	return !s.left
}

func cutAtStop(text string, stops []string) string {
	for _, stop := range stops {
		if stop != "" {
			text, _, _ = strings.Cut(text, stop)
		}
	}
	return text
}

// callID names a call after the conversation that led to it, so that it is the same whenever it is asked again and
// another whenever anything differs.
func callID(req model.Request, r reply) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	_ = enc.Encode([]string{req.System, r.tool, r.args}) // a hash takes everything
	for _, m := range req.Messages {
		_ = enc.Encode([]string{m.ID, string(m.Role), m.CallID, m.Text()})
	}
	return "call_" + hex.EncodeToString(h.Sum(nil)[:12])
}

// inputTokens counts what was asked: system prompt, messages with their calls, and the tools on offer.
func inputTokens(req model.Request) int {
	// Providers wrap each message in a few tokens that say who speaks.
	const perMessage = 4
	total := Tokens(req.System)
	count := func(text string) { total += Tokens(text) }
	for _, m := range req.Messages {
		total += perMessage
		count(m.Text())
		for _, c := range m.ToolCalls {
			count(c.Name)
			count(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		count(t.Name)
		count(t.Description)
		count(string(t.Schema))
	}
	return total
}
