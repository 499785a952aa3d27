package search

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

const (
	batchText    = 128 << 20 // bytes of text that are gathered before they are written: each batch writes all its terms
	mostSegments = 8         // above which neighbours are put together
)

// batch is a transaction that adds a segment. Searches see all of it or nothing.
type batch struct {
	ix       *Index
	tx       *sql.Tx
	file     *sql.Stmt
	passage  *sql.Stmt
	segments []*segment // those that are there, with what the batch erases in them
	touched  map[int64]bool
	next     int64 // number of the next passage
	text     int
	in       *vocabulary // of the words; nil before the first

	built *builder      // filled by a goroutine of its own: counting words takes as long as writing passages
	work  chan sheet    // to it; nil when it has ended
	done  chan struct{} // closed when it has ended
}

// sheet is a document on its way to the builder.
type sheet struct {
	file  int64
	in    *vocabulary
	words []wording
}

func (ix *Index) begin(ctx context.Context) (*batch, error) {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	b := &batch{ix: ix, tx: tx, touched: map[int64]bool{}, work: make(chan sheet, ahead), done: make(chan struct{})}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	b.built = &builder{segment: segment{first: b.next}}
	go func(work <-chan sheet) {
		defer close(b.done)
		for d := range work {
			b.built.in = d.in
			for _, w := range d.words {
				b.built.add(d.file, w)
			}
		}
	}(b.work)
	return b, nil
}

// counted waits until all words are.
func (b *batch) counted() {
	if b.work != nil {
		close(b.work)
		b.work = nil
		<-b.done
	}
}

func (b *batch) prepare(ctx context.Context) (err error) {
	if b.segments, err = loadSegments(ctx, b.tx); err != nil {
		return err
	}
	b.next = 1
	if n := len(b.segments); n > 0 {
		b.next = b.segments[n-1].end()
	}
	if b.file, err = b.tx.PrepareContext(ctx, "INSERT INTO files (source, path, size, mtime, checked, hash, why, says, title, author, date) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"); err != nil {
		return err
	}
	b.passage, err = b.tx.PrepareContext(ctx, "INSERT INTO passages (id, file, line, place, trail, anchor, text) VALUES (?, ?, ?, ?, ?, ?, ?)")
	return err
}

// queries is a database or a transaction.
type queries interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func loadSegments(ctx context.Context, q queries) ([]*segment, error) {
	rows, err := q.QueryContext(ctx, "SELECT id, first, lengths, files FROM segments ORDER BY first")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*segment
	for rows.Next() {
		s := &segment{}
		if err := rows.Scan(&s.id, &s.first, &s.lengths, &s.files); err != nil {
			return nil, err
		}
		if len(s.files) != 4*len(s.lengths) {
			return nil, errTorn
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func (b *batch) full() bool { return b.text >= batchText }

func (b *batch) insert(ctx context.Context, file int64, r reading) error {
	ctx = context.WithoutCancel(ctx) // or the driver has a goroutine for each statement; whoever leaves waits for one file
	b.in = r.in
	b.work <- sheet{file, r.in, r.words}
	for _, p := range r.passages {
		if _, err := b.passage.ExecContext(ctx, b.next, file, p.Line, p.Place, strings.Join(p.Trail, "\n"), p.Anchor, p.Text); err != nil {
			return err
		}
		b.next++
		b.text += len(p.Text)
	}
	return nil
}

// erase takes a file out. Its postings stay until their segment is put together with another.
func (b *batch) erase(ctx context.Context, file int64) error {
	for _, s := range b.segments {
		from, to := s.passagesOf(uint32(file))
		if from == to {
			continue
		}
		clear(s.lengths[from:to])
		b.touched[s.id] = true
		for _, stmt := range []string{"DELETE FROM passages WHERE id >= ? AND id < ?", "DELETE FROM vectors WHERE passage >= ? AND passage < ?"} {
			if _, err := b.tx.ExecContext(ctx, stmt, s.first+int64(from), s.first+int64(to)); err != nil {
				return err
			}
		}
	}
	_, err := b.tx.ExecContext(ctx, "DELETE FROM files WHERE id = ?", file)
	return err
}

func (b *batch) rollback() {
	b.counted()
	_ = b.tx.Rollback() // after a commit there is nothing to roll back
}

func (b *batch) commit(ctx context.Context) error {
	b.counted()
	if len(b.built.lengths) > 0 {
		if err := b.store(ctx, &b.built.segment); err != nil {
			return err
		}
		if err := b.writeTerms(ctx, b.built.id, func(put func(term string, data []byte) error) error {
			for _, l := range b.built.sorted() {
				if err := put(l.term, l.data); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		b.segments = append(b.segments, &b.built.segment)
	}
	for _, s := range b.segments {
		if b.touched[s.id] {
			if _, err := b.tx.ExecContext(ctx, "UPDATE segments SET lengths = ? WHERE id = ?", s.lengths, s.id); err != nil {
				return err
			}
		}
	}
	for len(b.segments) > mostSegments {
		if err := b.merge(ctx); err != nil {
			return err
		}
	}
	if _, err := b.tx.ExecContext(ctx, "UPDATE state SET generation = generation + 1"); err != nil {
		return err
	}
	return b.tx.Commit()
}

func (b *batch) store(ctx context.Context, s *segment) error {
	res, err := b.tx.ExecContext(ctx, "INSERT INTO segments (first, lengths, files) VALUES (?, ?, ?)", s.first, s.lengths, s.files)
	if err != nil {
		return err
	}
	s.id, err = res.LastInsertId()
	return err
}

func (b *batch) writeTerms(ctx context.Context, id int64, all func(put func(term string, data []byte) error) error) error {
	stmt, err := b.tx.PrepareContext(ctx, "INSERT INTO terms (segment, term, data) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer stmt.Close()
	ctx = context.WithoutCancel(ctx) // as in insert; what is left to do takes a second
	return all(func(term string, data []byte) error {
		_, err := stmt.ExecContext(ctx, id, term, data)
		return err
	})
}

// merge puts the two neighbours together that are smallest.
func (b *batch) merge(ctx context.Context) error {
	at := 0
	size := func(i int) int { return len(b.segments[i].lengths) + len(b.segments[i+1].lengths) }
	for i := range len(b.segments) - 1 {
		if size(i) < size(at) {
			at = i
		}
	}
	x, y := b.segments[at], b.segments[at+1]
	sum := &segment{first: x.first, lengths: append(append([]byte{}, x.lengths...), y.lengths...), files: append(append([]byte{}, x.files...), y.files...)}
	if err := b.store(ctx, sum); err != nil {
		return err
	}
	if err := b.writeTerms(ctx, sum.id, func(put func(string, []byte) error) error { return b.together(ctx, x, y, put) }); err != nil {
		return err
	}
	for _, stmt := range []string{"DELETE FROM terms WHERE segment IN (?, ?)", "DELETE FROM segments WHERE id IN (?, ?)"} {
		if _, err := b.tx.ExecContext(ctx, stmt, x.id, y.id); err != nil {
			return err
		}
	}
	b.segments = append(b.segments[:at], append([]*segment{sum}, b.segments[at+2:]...)...)
	return nil
}

// together gives the terms of two segments in their order.
func (b *batch) together(ctx context.Context, x, y *segment, put func(string, []byte) error) error {
	rows, err := b.tx.QueryContext(ctx, "SELECT term, segment, data FROM terms WHERE segment IN (?, ?) ORDER BY term", x.id, y.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	var last string
	var lists [2][]byte
	flush := func() error {
		if lists[0] == nil && lists[1] == nil {
			return nil
		}
		data := merged(x, y, lists[0], lists[1])
		lists = [2][]byte{}
		if len(data) == 0 {
			return nil
		}
		return put(last, data)
	}
	for rows.Next() {
		var term string
		var id int64
		var data []byte
		if err := rows.Scan(&term, &id, &data); err != nil {
			return err
		}
		if term != last {
			if err := flush(); err != nil {
				return err
			}
			last = term
		}
		if id == x.id {
			lists[0] = data
		} else {
			lists[1] = data
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return flush()
}
