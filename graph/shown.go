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
		// A large request is stored bit by bit, before the event that names it, so that other runs need not wait for it.
		for n := atOnce(pieces); n < len(pieces); n = atOnce(pieces) {
			if err := s.engine.x.record(ctx, Batch{Save: []Save{Shown{Thread: s.engine.x.Thread, Pieces: pieces[:n]}}}); err != nil {
				return err
			}
			pieces = pieces[n:]
		}
		b.Save = []Save{Shown{Thread: s.engine.x.Thread, Pieces: pieces}}
	}
	return s.engine.x.record(ctx, b)
}

// atOnce is how many of the pieces are stored in one write.
func atOnce(pieces []piece.Piece) int {
	const most = 256 << 10
	size := 0
	for i := range pieces {
		if size += len(pieces[i].Data); size > most && i > 0 {
			return i
		}
	}
	return len(pieces)
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
