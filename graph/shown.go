package graph

import (
	"context"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/piece"
)

// Show puts on record what a model is shown: the event, whose Request it fills in, together with those pieces of the
// request that the run has not stored before.
func (s *Scope) Show(ctx context.Context, e event.ContextPrepared, request []byte) error {
	pieces := piece.Split(request)
	e.Request = pieces[len(pieces)-1].Hash.String()
	b := Batch{Events: []event.Envelope{s.engine.envelope(s.task.Node, s.step, e)}}
	if pieces = shelves.Get(s).fresh(pieces); len(pieces) > 0 && s.engine.storing() {
		b.Save = []Save{Shown{Thread: s.engine.x.Thread, Pieces: pieces}}
	}
	return s.engine.x.record(ctx, b)
}

// shelves know which pieces an attempt of a run has stored already. The store knows it of earlier ones.
var shelves = NewLocal(func(*Scope) *shelf { return &shelf{known: map[piece.Hash]bool{}} })

type shelf struct {
	mu    sync.Mutex
	known map[piece.Hash]bool
}

func (s *shelf) fresh(pieces []piece.Piece) []piece.Piece {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := pieces[:0]
	for _, p := range pieces {
		if !s.known[p.Hash] {
			s.known[p.Hash] = true
			fresh = append(fresh, p)
		}
	}
	return fresh
}
