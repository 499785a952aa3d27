package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/internal/journal"
)

// At the pace of models every run has one token in every commit. As rows of the journal they would lie far apart: each on a page of its own,
// which is found, split and written, 4 kB for a token of 130 bytes. So small chunks of all runs of a commit are one row of a table that
// is only appended to, a segment (segment.go), and are kept in memory by run. When a run saves something or has gathered enough, its parts become a
// row of the journal, in the same transaction; a segment of which nothing is needed any more is deleted.
//
// The laws:
//
//   - A part of a segment counts if it lies beyond the run's rows in the journal. A run's rows and the parts that count are its
//     journal, in order and without holes, after every commit. So whoever reads the segments first and the rows then misses nothing.
//   - What is in memory is what was committed. The operations of a transaction make a plan, which is carried out in memory when the transaction is.
//   - A run that has ended has no parts that count, and of one that was deleted nothing is left in any segment.
//   - The table is short: what is oldest in it is folded when it has too many segments.
//   - Opening the database folds all there is (fold.go), so that nothing is known from memory alone.

// bounds say when parts become rows.
type bounds struct {
	partBytes     int // a chunk up to this size goes into a segment
	runBytes      int // how much of a run
	runParts      int // and how many parts are gathered before they become a row
	mostSegments  int // how many segments there are before the oldest are folded
	mostBytes     int // and how many bytes they have
	foldsAtOnce   int // how many runs' parts one commit turns into rows because of these bounds, so that it does not take long
	deletesAtOnce int // how many segments are deleted together, where more follow
}

var usualBounds = bounds{
	partBytes: 1 << 10, runBytes: 8 << 10, runParts: 64, mostSegments: 1024, mostBytes: 8 << 20, foldsAtOnce: 8, deletesAtOnce: 32,
}

// patience is how many times a bound may be reached before what is beyond it is folded in any case, whatever the commit has done already.
const patience = 4

// segments is what the writer knows of the table. All of it is the writer's, but readers may look at the parts.
type segments struct {
	bounds
	list  []*segment    // in order
	next  int64         // the number of the next one
	bytes int           // of all
	texts map[int64]int // in how many segments there is something of a run, by its number

	mu    sync.RWMutex
	parts map[int64]*gathered // that count, by the run's number
}

// segment is a row of the table.
type segment struct {
	no    int64
	bytes int
	runs  []int64 // whose parts it has
	live  int     // how many of its parts count
	gone  bool    // it was deleted, and stands in the list until its turn comes
}

// gathered are the parts of a run that count. Parts are only ever added.
type gathered struct {
	parts []journal.Chunk
	in    []*segment // of each part
	bytes int
}

func newSegments(next int64) *segments {
	return &segments{bounds: usualBounds, next: next, texts: map[int64]int{}, parts: map[int64]*gathered{}}
}

// of returns the parts of a run that count. They are not changed any more.
func (s *segments) of(no int64) []journal.Chunk {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if g := s.parts[no]; g != nil {
		return g.parts
	}
	return nil
}

// plan is what the operations of a transaction do to the segments. One of them at most adds parts, so that a run has one part in a segment.
type plan struct {
	*segments
	added   []part
	made    *segment             // that holds them
	folded  map[int64]*gathered  // by the run's number: their parts count no longer
	dead    map[*segment]int     // how many parts of it do not count any more
	removed []int64              // runs of which nothing may be left
	kept    map[*segment][]int64 // the runs that are left in segments from which something was erased
	front   int                  // how many segments were deleted from the front
	folds   int
}

func (s *segments) plan() *plan { return &plan{segments: s} }

// copy is for going back to, should the next operation fail. Nothing has been written of the plan yet.
func (p *plan) copy() *plan {
	if p == nil {
		return nil
	}
	c := *p
	c.folded, c.dead = maps.Clone(p.folded), maps.Clone(p.dead)
	return &c
}

// waiting are the parts of a run that count, but for those that are added now.
func (p *plan) waiting(no int64) *gathered {
	if p.folded[no] != nil {
		return nil
	}
	return p.segments.parts[no]
}

// lastOf is the number of the last event of a run in a segment, 0 if there is none.
func (p *plan) lastOf(no int64) uint64 {
	if g := p.waiting(no); g != nil {
		return g.parts[len(g.parts)-1].Last
	}
	return 0
}

// fits reports whether a chunk, which comes with nothing else, goes into a segment. If not, it becomes a row, with what was gathered.
func (p *plan) fits(no int64, c *journal.Chunk) bool {
	if len(c.Data) > p.partBytes {
		return false
	}
	g := p.waiting(no)
	if g == nil {
		return true
	}
	over := max((g.bytes+len(c.Data))/p.runBytes, len(g.parts)/p.runParts)
	if over == 0 || over < patience && p.folds >= p.foldsAtOnce {
		return true
	}
	p.folds++
	return false
}

func (p *plan) add(no int64, c *journal.Chunk) { p.added = append(p.added, part{no, *c}) }

// drop notes that the parts of a run count no longer, and returns them.
func (p *plan) drop(no int64) []journal.Chunk {
	g := p.waiting(no)
	if g == nil {
		return nil
	}
	if p.folded == nil {
		p.folded, p.dead = map[int64]*gathered{}, map[*segment]int{}
	}
	p.folded[no] = g
	for _, s := range g.in {
		p.dead[s]++
	}
	return g.parts
}

// remove notes that nothing of a run may be left.
func (p *plan) remove(no int64) {
	p.drop(no)
	if slices.ContainsFunc(p.added, func(a part) bool { return a.no == no }) {
		p.added = slices.DeleteFunc(slices.Clone(p.added), func(a part) bool { return a.no == no })
	}
	if p.texts[no] > 0 {
		p.removed = append(p.removed, no)
	}
}

func (p *plan) liveIn(s *segment) int { return s.live - p.dead[s] }

// fold makes rows of the parts of a run, and of a chunk that follows them.
func (t *tx) fold(ctx context.Context, no int64, more ...journal.Chunk) error {
	chunks := append(slices.Clip(t.plan.drop(no)), more...)
	for _, c := range joined(chunks) {
		if err := t.insertChunk(ctx, no, &c, c.Data); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what was planned.
func (p *plan) finish(ctx context.Context, t *tx) error {
	if err := p.shorten(ctx, t); err != nil {
		return err
	}
	if err := p.erase(ctx, t); err != nil {
		return err
	}
	if len(p.added) > 0 {
		p.made = &segment{no: p.next, live: len(p.added)}
		for i := range p.added {
			p.made.runs = append(p.made.runs, p.added[i].no)
		}
		data := encodeSegment(p.next, p.added)
		p.made.bytes = len(data)
		if err := t.exec(ctx, "INSERT INTO segments (no, data) VALUES (?, ?)", p.next, data); err != nil {
			return fmt.Errorf("segment %d: %w", p.next, err)
		}
	}
	return p.clear(ctx, t)
}

// shorten folds what is in the oldest segments, if there are too many.
func (p *plan) shorten(ctx context.Context, t *tx) error {
	left, bytes := len(p.list), p.bytes
	for _, s := range p.list {
		over := max(left/p.mostSegments, bytes/p.mostBytes)
		if over == 0 {
			return nil
		}
		for _, no := range s.runs {
			if g := p.waiting(no); g == nil || g.in[0].no > s.no {
				continue
			}
			if p.folds >= p.foldsAtOnce && over < patience {
				return nil
			}
			p.folds++
			if err := t.fold(ctx, no); err != nil {
				return fmt.Errorf("run with number %d: %w", no, err)
			}
		}
		left, bytes = left-1, bytes-s.bytes
	}
	return nil
}

// erase takes what segments have of runs that are removed out of them.
func (p *plan) erase(ctx context.Context, t *tx) error {
	if len(p.removed) == 0 {
		return nil
	}
	p.kept = map[*segment][]int64{}
	for _, s := range p.list {
		if s.gone || !slices.ContainsFunc(s.runs, func(no int64) bool { return slices.Contains(p.removed, no) }) {
			continue
		}
		var parts []part
		var runs []int64
		for _, no := range s.runs {
			g := p.waiting(no)
			if g == nil {
				continue
			}
			for i, in := range g.in {
				if in == s {
					parts, runs = append(parts, part{no, g.parts[i]}), append(runs, no)
				}
			}
		}
		p.kept[s] = runs
		var err error
		if len(parts) == 0 {
			err = t.exec(ctx, "DELETE FROM segments WHERE no = ?", s.no)
		} else {
			err = t.exec(ctx, "UPDATE segments SET data = ?2 WHERE no = ?1", s.no, encodeSegment(s.no, parts))
		}
		if err != nil {
			return fmt.Errorf("segment %d: %w", s.no, err)
		}
	}
	return nil
}

// clear deletes the segments at the front of which nothing is needed: some at a time, or all there are.
func (p *plan) clear(ctx context.Context, t *tx) error {
	n := 0
	for n < len(p.list) && p.liveIn(p.list[n]) == 0 {
		n++
	}
	if n == 0 || n < p.deletesAtOnce && (n < len(p.list) || len(p.added) > 0) {
		return nil
	}
	if err := t.exec(ctx, "DELETE FROM segments WHERE no BETWEEN ? AND ?", p.list[0].no, p.list[n-1].no); err != nil {
		return err
	}
	p.front = n
	return nil
}

// carryOut does in memory what was committed.
func (p *plan) carryOut() {
	s := p.segments
	s.mu.Lock()
	defer s.mu.Unlock()
	for no := range p.folded {
		delete(s.parts, no)
	}
	for in, n := range p.dead {
		in.live -= n
	}
	for in, runs := range p.kept {
		s.without(in.runs)
		in.runs, in.gone = runs, len(runs) == 0
		s.with(runs)
	}
	for _, in := range s.list[:p.front] {
		s.without(in.runs)
		s.bytes -= in.bytes
	}
	s.list = slices.Delete(s.list, 0, p.front)
	if p.made == nil {
		return
	}
	s.next++
	s.bytes += p.made.bytes
	s.list = append(s.list, p.made)
	s.with(p.made.runs)
	for i := range p.added {
		a := &p.added[i]
		g := s.parts[a.no]
		if g == nil {
			g = &gathered{}
			s.parts[a.no] = g
		}
		g.parts, g.in, g.bytes = append(g.parts, a.Chunk), append(g.in, p.made), g.bytes+len(a.Data)
	}
}

func (s *segments) with(runs []int64) {
	for _, no := range runs {
		s.texts[no]++
	}
}

func (s *segments) without(runs []int64) {
	for _, no := range runs {
		if s.texts[no]--; s.texts[no] <= 0 {
			delete(s.texts, no)
		}
	}
}
