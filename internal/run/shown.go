package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/piece"
)

// Shown is what the model of a turn was shown.
type Shown struct {
	Turn    event.TurnStarted
	Context event.ContextPrepared
	// Body is the request to the byte, as the provider got it; for a model that is not asked over a network, the JSON form of
	// model.Request.
	Body []byte
}

// Pieces keeps what models were shown, by thread.
type Pieces interface {
	// Piece returns a piece; graph.ErrNoPiece if it is not there. Whoever asks has made sure that the thread is his.
	Piece(ctx context.Context, thread string, h piece.Hash) ([]byte, error)
}

// ReadShown finds what the model of a run's turn was shown; with an empty turn, that of the last one on record. The caller has
// made sure that the run may be read.
func ReadShown(ctx context.Context, j *journal.Journal, pieces Pieces, run, turn string) (Shown, error) {
	var s Shown
	var thread string
	open := map[string]event.TurnStarted{} // turns whose requests have not been met
	for env, err := range j.Read(ctx, run, 0) {
		if errors.Is(err, journal.ErrGone) {
			return s, fmt.Errorf("run %q: %w", run, ErrNotFound)
		}
		if err != nil {
			return s, err
		}
		switch e := env.Event.(type) { // of the many kinds, these two
		case event.TurnStarted:
			thread = env.Thread
			open[e.Turn] = e
		case event.ContextPrepared:
			if turn == "" || e.Turn == turn {
				s = Shown{Turn: open[e.Turn], Context: e}
			}
			delete(open, e.Turn)
		}
	}
	if _, unrecorded := open[turn]; unrecorded {
		return s, fmt.Errorf("the request of turn %q was not recorded: %w", turn, ErrNotFound)
	}
	switch {
	case s.Context.Request == "" && turn == "":
		return s, fmt.Errorf("run %q has no model call whose request was recorded: %w", run, ErrNotFound)
	case s.Context.Request == "":
		return s, fmt.Errorf("run %q has no turn %q: %w", run, turn, ErrNotFound)
	}
	root, err := piece.ParseHash(s.Context.Request)
	if err != nil {
		return s, err
	}
	s.Body, err = piece.Join(root, func(h piece.Hash) ([]byte, error) { return pieces.Piece(ctx, thread, h) })
	return s, err
}
