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

	built *builder       // filled by a goroutine of its own: counting words takes as long as writing passages
	work  chan gathering // to it
	done  chan struct{}  // closed when it has ended
}

// gathering is a passage on its way to the builder.
type gathering struct {
	file               int64
	title, trail, text string
}

func (ix *Index) begin(ctx context.Context) (*batch, error) {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	b := &batch{ix: ix, tx: tx, touched: map[int64]bool{}, work: make(chan gathering, 256), done: make(chan struct{})}
	err = b.prepare(ctx)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	go func(work <-chan gathering) {
		defer close(b.done)
		for g := range work {
			b.built.add(g.file, g.title, g.trail, g.text)
		}
	}(b.work)
	return b, nil
}

// gathered waits until all passages are counted.
func (b *batch) gathered() {
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
	b.built = newBuilder(b.next, b.ix.stems)
	if b.file, err = b.tx.PrepareContext(ctx, "INSERT INTO files (source, path, size, mtime, checked, hash, why, says, author, date) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"); err != nil {
		return err
	}
	b.passage, err = b.tx.PrepareContext(ctx, "INSERT INTO passages (id, file, line, place, title, trail, anchor, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
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

func (b *batch) insert(ctx context.Context, file int64, passages []Passage) error {
	for _, p := range passages {
		trail := strings.Join(p.Trail, "\n")
		b.work <- gathering{file, p.Title, trail, p.Text}
		if _, err := b.passage.ExecContext(ctx, b.next, file, p.Line, p.Place, p.Title, trail, p.Anchor, p.Text); err != nil {
			return err
		}
		b.next++
		b.text += len(p.Text)
	}
	return nil
}

// erase takes a file out. Its postings stay until their segment is put together with another.
func (b *batch) erase(ctx context.Context, file int64) error {
	rows, err := b.tx.QueryContext(ctx, "SELECT id FROM passages WHERE file = ?", file)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		for _, s := range b.segments {
			if id >= s.first && id < s.end() {
				s.lengths[id-s.first] = 0
				b.touched[s.id] = true
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, stmt := range []string{"DELETE FROM passages WHERE file = ?", "DELETE FROM files WHERE id = ?"} {
		if _, err := b.tx.ExecContext(ctx, stmt, file); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) rollback() {
	b.gathered()
	_ = b.tx.Rollback() // after a commit there is nothing to roll back
}

func (b *batch) commit(ctx context.Context) error {
	b.gathered()
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
