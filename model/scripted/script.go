package scripted

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// Script is one answer of a model. The zero Script is an empty answer that ends well.
type Script struct{ steps []step }

// step is one thing a script does. It reports whether the answer goes on.
type step interface{ play(p *player) bool }

func (s Script) then(st step) Script {
	return Script{append(slices.Clip(s.steps), st)}
}

// Say begins a script with text, cut inside words.
func Say(text string) Script { return Script{}.Say(text) }

// Words begins a script with text, cut before each space.
func Words(text string) Script { return Script{}.Words(text) }

// Pieces begins a script with text cut exactly as given.
func Pieces(pieces ...string) Script { return Script{}.Pieces(pieces...) }

// Think begins a script with reasoning; see [Script.Think].
func Think(summaries ...string) Script { return Script{}.Think(summaries...) }

// Call begins a script with a tool call.
func Call(id, name, args string) Script { return Script{}.Call(id, name, args) }

// Parallel begins a script with calls whose pieces are interleaved.
func Parallel(calls ...item.ToolCall) Script { return Script{}.Parallel(calls...) }

// Fail begins, and ends, a script with an error.
func Fail(err error) Script { return Script{}.Fail(err) }

// Stall begins, and ends, a script with silence.
func Stall() Script { return Script{}.Stall() }

// Every begins a script that keeps a pace.
func Every(d time.Duration) Script { return Script{}.Every(d) }

// Wait begins a script that waits for a channel.
func Wait(ch <-chan struct{}) Script { return Script{}.Wait(ch) }

// Say adds text, cut inside words as a tokenizer would. Text that follows text continues its block; text
// after anything else begins a new one.
func (s Script) Say(text string) Script { return s.then(textStep(subwords(text))) }

// Words adds text cut before each space, so that every piece but the first keeps its leading space.
func (s Script) Words(text string) Script { return s.then(textStep(words(text))) }

// Pieces adds text cut exactly as given; an empty piece is sent as an empty piece.
func (s Script) Pieces(pieces ...string) Script { return s.then(textStep(slices.Clone(pieces))) }

// Block makes the text that follows a block of its own.
func (s Script) Block() Script { return s.then(breakStep{}) }

// Think adds reasoning: each argument is one summary of the item. Reasoning that follows reasoning continues
// it; reasoning after anything else begins a new item.
func (s Script) Think(summaries ...string) Script { return s.then(thinkStep(slices.Clone(summaries))) }

// Sign ends the reasoning so far with the provider's signature, which comes without text.
func (s Script) Sign(signature string) Script { return s.then(signStep(signature)) }

// Call adds a tool call. The arguments need not be valid JSON, and the id may be empty, as with providers
// that give none.
func (s Script) Call(id, name, args string) Script {
	return s.Parallel(item.ToolCall{CallID: id, Name: name, Arguments: args})
}

// Parallel adds calls whose pieces arrive in turns: one of each, then the next of each.
func (s Script) Parallel(calls ...item.ToolCall) Script { return s.then(callStep(slices.Clone(calls))) }

// Part adds parts verbatim: pictures, annotations, anything that has no method here. Their block and index
// numbers are the caller's; [Script.Next] tells which ones are free.
func (s Script) Part(parts ...model.Part) Script { return s.then(partStep(slices.Clone(parts))) }

// Usage says what the call has cost so far. It may be said several times; the last one counts. Without it
// the model counts pieces.
func (s Script) Usage(u item.Usage) Script { return s.then(usageStep(u)) }

// Finish ends the answer with a reason of its own; Usage is sent before it.
func (s Script) Finish(reason item.Finish) Script { return s.then(finishStep(reason)) }

// Fail ends the answer with an error: a [*model.Error] for the provider's and the network's faults.
func (s Script) Fail(err error) Script { return s.then(failStep{err}) }

// Cut ends the answer without finish or error, as a connection does that is closed too early.
func (s Script) Cut() Script { return s.then(cutStep{}) }

// Stall says nothing more until the context is cancelled.
func (s Script) Stall() Script { return s.then(waitStep{}) }

// Wait says nothing until the channel is closed or gives a value.
func (s Script) Wait(ch <-chan struct{}) Script {
	return s.then(waitStep{ch})
}

// Pause says nothing for a while.
func (s Script) Pause(d time.Duration) Script { return s.then(pauseStep(d)) }

// Every makes each of the following pieces wait for d first.
func (s Script) Every(d time.Duration) Script { return s.then(paceStep(d)) }

// Do runs a function between two pieces, on the goroutine that reads the stream; its error ends the answer.
func (s Script) Do(fn func(context.Context) error) Script { return s.then(doStep(fn)) }

// Panic ends the answer with a panic, as a bug in a provider's adapter does.
func (s Script) Panic(v any) Script { return s.then(panicStep{v}) }

// Text is the text that the script says if it is read to its end.
func (s Script) Text() string {
	var b strings.Builder
	for _, part := range s.parts() {
		if t, ok := part.(model.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Calls are the tool calls that the script makes if it is read to its end.
func (s Script) Calls() []item.ToolCall {
	var calls []item.ToolCall
	at := map[int]int{}
	for _, part := range s.parts() {
		c, ok := part.(model.ToolCall)
		if !ok {
			continue
		}
		i, seen := at[c.Index]
		if !seen {
			i = len(calls)
			at[c.Index] = i
			calls = append(calls, item.ToolCall{CallID: c.ID, Name: c.Name})
		}
		calls[i].Arguments += c.Arguments
	}
	return calls
}

// Next tells the first block number and the first call index that the script has not used.
func (s Script) Next() (block, call int) {
	for _, part := range s.parts() {
		switch part := part.(type) {
		case model.Text:
			block = max(block, part.Block+1)
		case model.Image:
			block = max(block, part.Block+1)
		case model.ToolCall:
			call = max(call, part.Index+1)
		}
	}
	return block, call
}

// parts plays the script without waiting, acting or ending.
func (s Script) parts() []model.Part {
	var parts []model.Part
	p := newPlayer(context.Background(), model.Request{}, "", func(part model.Part, _ error) bool {
		if part != nil {
			parts = append(parts, part)
		}
		return true
	})
	for _, st := range s.steps {
		switch st := st.(type) {
		case textStep, breakStep, thinkStep, signStep, callStep, partStep, usageStep:
			if !st.play(p) {
				return parts
			}
		case failStep, cutStep, panicStep, finishStep:
			return parts
		case waitStep:
			if st.ch == nil {
				return parts
			}
		}
	}
	return parts
}
