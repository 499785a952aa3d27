package graphs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"
	"regexp"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// piece is what a scripted model says next: text, a part of a tool call, or that it breaks.
type piece struct {
	text string
	call *item.ToolCall // its arguments are the next part
	fail string
}

// script is an answer.
type script struct {
	model  string // "scripted-1" if empty
	pieces iter.Seq[piece]
	pace   time.Duration
	// plain leaves the finish reason and the usage out, as the fake models of LangChain do.
	plain bool
}

// answer streams a script as a model's turn and returns its message.
func answer(ctx context.Context, s *graph.Scope, shown int, sc script) (item.Message, error) {
	if sc.model == "" {
		sc.model = "scripted-1"
	}
	w, err := turn.Start(ctx, s, event.TurnStarted{Turn: messageID(), Execution: s.Execution(), Provider: "scripted", Model: sc.model})
	if err != nil {
		return item.Message{}, err
	}
	count := 0
	for p := range sc.pieces {
		if sc.pace > 0 {
			if err := sleep(ctx, sc.pace); err != nil {
				return item.Message{}, err
			}
		}
		if p.fail != "" {
			cause := errors.New(p.fail)
			msg, err := w.Cut(ctx) // nobody tries again
			if err != nil {
				return item.Message{}, err
			}
			return msg, cause
		}
		count++
		if p.call != nil {
			err = w.Call(ctx, 0, *p.call)
		} else {
			err = w.Text(ctx, 0, p.text)
		}
		if err != nil {
			return item.Message{}, err
		}
		if ctx.Err() != nil {
			return item.Message{}, context.Cause(ctx)
		}
	}
	if sc.plain {
		return w.End(ctx, "", "")
	}
	w.Usage(item.Usage{InputTokens: 7 * shown, OutputTokens: count})
	return w.End(ctx, item.FinishStop, sc.model)
}

func messageID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return "msg_" + hex.EncodeToString(b[:])
}

var word = regexp.MustCompile(`\s*\S+`)

// words splits a sentence into pieces that keep their leading space.
func words(s string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, t := range word.FindAllString(s, -1) {
			if !yield(piece{text: t}) {
				return
			}
		}
	}
}

// letters splits a text into single characters.
func letters(s string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, r := range s {
			if !yield(piece{text: string(r)}) {
				return
			}
		}
	}
}

func then(seqs ...iter.Seq[piece]) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, seq := range seqs {
			for p := range seq {
				if !yield(p) {
					return
				}
			}
		}
	}
}

func pieces(list ...piece) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, p := range list {
			if !yield(p) {
				return
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// nothing is a node that does nothing.
func nothing(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil }
