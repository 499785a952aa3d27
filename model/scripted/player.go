package scripted

import (
	"context"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// player is one reading of a script: it numbers blocks, items and calls, and keeps count for the usage.
type player struct {
	ctx   context.Context
	yield func(model.Part, error) bool
	req   model.Request
	name  string
	pace  time.Duration

	last    kind // of the part before this one
	block   int  // of the text being said
	item    int  // of the reasoning being thought
	summary int
	calls   int // made so far

	pieces   int
	thoughts int
	counted  bool // usage has been said by the script
}

// kind tells parts that continue each other from parts that do not.
type kind int

const (
	nothing kind = iota
	text
	thought
	other
)

func newPlayer(ctx context.Context, req model.Request, name string, yield func(model.Part, error) bool) *player {
	return &player{ctx: ctx, yield: yield, req: req, name: name, block: -1, item: -1}
}

// play reads a script to its end.
func (p *player) play(s Script) {
	for _, st := range s.steps {
		if !st.play(p) {
			return
		}
	}
	reason := item.FinishStop
	if p.calls > 0 {
		reason = item.FinishToolCalls
	}
	finishStep(reason).play(p)
}

// send yields one part, in time, unless the context has ended.
func (p *player) send(part model.Part) bool {
	if p.pace > 0 && !pauseStep(p.pace).play(p) {
		return false
	}
	if err := p.ctx.Err(); err != nil {
		return p.fail(err)
	}
	return p.yield(part, nil)
}

func (p *player) fail(err error) bool {
	p.yield(nil, err)
	return false
}

type textStep []string

func (st textStep) play(p *player) bool {
	if len(st) == 0 {
		return true
	}
	if p.last != text {
		p.block++
		p.last = text
	}
	for _, piece := range st {
		p.pieces++
		if !p.send(model.Text{Block: p.block, Text: piece}) {
			return false
		}
	}
	return true
}

type breakStep struct{}

func (breakStep) play(p *player) bool { p.last = other; return true }

type thinkStep []string

func (st thinkStep) play(p *player) bool {
	for i, summary := range st {
		switch {
		case p.last != thought:
			p.item++
			p.summary = 0
			p.last = thought
		case i > 0:
			p.summary++
		}
		for _, piece := range subwords(summary) {
			p.pieces++
			p.thoughts++
			if !p.send(model.Reasoning{Item: p.item, Block: p.summary, Text: piece}) {
				return false
			}
		}
	}
	return true
}

type signStep string

func (st signStep) play(p *player) bool {
	if p.last != thought { // a signature over reasoning that the provider does not show
		p.item++
		p.summary = 0
	}
	p.last = other
	return p.send(model.Reasoning{Item: p.item, Block: p.summary, Signature: string(st)})
}

type callStep []item.ToolCall

func (st callStep) play(p *player) bool {
	if len(st) == 0 {
		return true
	}
	p.last = other
	first := p.calls
	p.calls += len(st)
	rest := make([][]string, len(st))
	for i, c := range st {
		rest[i] = fragments(c.Arguments)
		p.pieces++
		if !p.send(model.ToolCall{Index: first + i, ID: c.CallID, Name: c.Name, Signature: c.Signature}) {
			return false
		}
	}
	for left := true; left; {
		left = false
		for i := range rest {
			if len(rest[i]) == 0 {
				continue
			}
			p.pieces++
			if !p.send(model.ToolCall{Index: first + i, Arguments: rest[i][0]}) {
				return false
			}
			rest[i] = rest[i][1:]
			left = true
		}
	}
	return true
}

type partStep []model.Part

func (st partStep) play(p *player) bool {
	p.last = other
	for _, part := range st {
		switch part := part.(type) {
		case model.Text:
			p.block = max(p.block, part.Block)
		case model.Image:
			p.block = max(p.block, part.Block)
		case model.Reasoning:
			p.item = max(p.item, part.Item)
		case model.ToolCall:
			p.calls = max(p.calls, part.Index+1)
		case model.Usage:
			p.counted = true
		}
		if !p.send(part) {
			return false
		}
		if _, ok := part.(model.Finish); ok {
			return false
		}
	}
	return true
}

type usageStep item.Usage

func (st usageStep) play(p *player) bool {
	p.counted = true
	return p.send(model.Usage{Usage: item.Usage(st)})
}

type finishStep item.Finish

func (st finishStep) play(p *player) bool {
	if !p.counted && !usageStep(p.usage()).play(p) {
		return false
	}
	p.send(model.Finish{Reason: item.Finish(st), Raw: string(st), Model: p.name})
	return false
}

// usage counts a token for each piece said and for each word asked.
func (p *player) usage() item.Usage {
	in := len(strings.Fields(p.req.System))
	for _, m := range p.req.Messages {
		in += 1 + len(strings.Fields(m.Text()))
	}
	return item.Usage{InputTokens: in, OutputTokens: p.pieces, ReasoningTokens: p.thoughts}
}

type failStep struct{ err error }

func (st failStep) play(p *player) bool { return p.fail(st.err) }

type cutStep struct{}

func (cutStep) play(*player) bool { return false }

// waitStep waits for its channel; without one, for the end of the context alone.
type waitStep struct{ ch <-chan struct{} }

func (st waitStep) play(p *player) bool {
	select {
	case <-st.ch:
		return true
	case <-p.ctx.Done():
		return p.fail(p.ctx.Err())
	}
}

type pauseStep time.Duration

func (st pauseStep) play(p *player) bool {
	timer := time.NewTimer(time.Duration(st))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return p.fail(p.ctx.Err())
	}
}

type paceStep time.Duration

func (st paceStep) play(p *player) bool { p.pace = time.Duration(st); return true }

type doStep func(context.Context) error

func (st doStep) play(p *player) bool {
	if err := st(p.ctx); err != nil {
		return p.fail(err)
	}
	return true
}

type panicStep struct{ value any }

func (st panicStep) play(*player) bool { panic(st.value) }
