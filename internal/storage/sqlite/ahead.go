package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/piece"
)

// What a run has to write at once may be megabytes: the whole of an answer in the events that end it and in the state. All tokens of
// all runs go through the one writer, so that it is given what is left when the run's own goroutine has done the rest: it cuts the
// long texts, hashes the pieces, writes those that the thread has not, a few in a transaction and those below before those above, and
// encodes the rows, which then refer to them. Nothing refers to a piece before the group is written; if it never is, because the
// process dies or the lease is lost, its pieces go with their thread, as all do.

// aheadBytes is about how much is written ahead in one transaction.
const aheadBytes = 64 << 10

// ahead prepares one group.
type ahead struct {
	db *DB
	g  *journal.Group
	l  leased
}

var _ journal.Preparer = (*DB)(nil)

// Prepare writes the long texts of a group ahead of it.
func (db *DB) Prepare(ctx context.Context, g journal.Group) journal.Group {
	a := &ahead{db: db, g: &g}
	light, err := a.prepare(ctx)
	if err != nil {
		return g // Append tries it in the long way, and says what is wrong
	}
	return light
}

func (a *ahead) prepare(ctx context.Context) (light journal.Group, err error) {
	light = *a.g
	c := &a.g.Chunk
	if a.l, err = fence(ctx, &a.db.reads, c.Run, c.Thread, a.g.Owner, c.Epoch); err != nil {
		return light, err
	}
	if light.Chunk.Data, err = shortenLines(ctx, a, a.l.threadNo, c.Data); err != nil {
		return light, err
	}
	light.Saves = make([]journal.Save, 0, len(a.g.Saves))
	for _, s := range a.g.Saves {
		switch save := s.(type) {
		case graph.Commit:
			s, err = encodeCheckpoint(ctx, a, a.l.threadNo, save)
		case graph.Kept:
			s, err = encodeKept(ctx, a, a.l.threadNo, save)
		case graph.Shown:
			if err = a.write(ctx, save.Pieces); err == nil {
				continue
			}
		}
		if err != nil {
			return light, err
		}
		light.Saves = append(light.Saves, s)
	}
	return light, nil
}

// shorten keeps a long text in pieces, ahead of what refers to it.
func (a *ahead) shorten(ctx context.Context, threadNo int64, text []byte) ([]byte, error) {
	if len(text) < longText {
		return text, nil
	}
	stored, root, pieces := cutText(text)
	missing, err := a.missing(ctx, root, pieces)
	if err != nil {
		return nil, err
	}
	return stored, a.write(ctx, missing)
}

const whichPieces = "SELECT hash FROM pieces WHERE thread = ?1 AND hash IN (SELECT unhex(value) FROM json_each(?2))"

// missing are the pieces that the thread has not, those below before those above: what is below a list that it has is there
// already.
func (a *ahead) missing(ctx context.Context, root piece.Hash, pieces map[piece.Hash][]byte) (missing []piece.Piece, err error) {
	for level := []piece.Hash{root}; len(level) > 0; {
		names := make([]string, len(level))
		for i, h := range level {
			names[i] = hex.EncodeToString(h[:])
		}
		list, err := json.Marshal(names)
		if err != nil {
			return nil, err
		}
		rows, err := a.db.reads.query(ctx, whichPieces, a.l.threadNo, string(list))
		there := map[piece.Hash]bool{}
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			var hash []byte
			err := row.Scan(&hash)
			if err == nil && len(hash) == len(piece.Hash{}) {
				there[piece.Hash(hash)] = true
			}
			return struct{}{}, err
		})
		if err != nil {
			return nil, err
		}
		var next []piece.Hash
		for _, h := range level {
			if there[h] {
				continue
			}
			there[h] = true // a text may have a piece twice
			missing = append(missing, piece.Piece{Hash: h, Data: pieces[h]})
			next = slices.AppendSeq(next, piece.Below(pieces[h]))
		}
		level = next
	}
	slices.Reverse(missing)
	return missing, nil
}

// write keeps pieces in their order, a few in a transaction, as long as the run is ours. Of those that write ahead one is in a transaction at a time, and
// nobody's tokens wait for two of them.
func (a *ahead) write(ctx context.Context, pieces []piece.Piece) error {
	c := &a.g.Chunk
	for len(pieces) > 0 {
		n, size := 0, 0
		for n < len(pieces) && (n == 0 || size+len(pieces[n].Data) <= aheadBytes) {
			size += len(pieces[n].Data)
			n++
		}
		some := pieces[:n]
		err := a.db.writeMuch(heavyBytes, false, func(ctx context.Context, tx *tx) error {
			if _, err := fence(ctx, tx, c.Run, c.Thread, a.g.Owner, c.Epoch); err != nil {
				return err
			}
			return tx.savePieces(ctx, a.l.threadNo, some)
		})
		if err != nil {
			return fmt.Errorf("write ahead for run %s: %w", c.Run, err)
		}
		pieces = pieces[n:]
	}
	return nil
}
