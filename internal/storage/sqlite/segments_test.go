package sqlite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// modelRun is what should be stored of a run.
type modelRun struct {
	run.Run
	lines []string
	ended bool
}

// line is an event as far as the store is concerned; it says where it belongs.
func (m *modelRun) line(n int) string {
	return fmt.Sprintf("{%s event %d of epoch %d %s}\n", m.ID, len(m.lines)+1, m.Epoch, strings.Repeat("x", n))
}

// next is a group of events that follow those that there are, and what the model has when it is written.
func (m *modelRun) next(sizes ...int) (journal.Group, []string) {
	after := *m
	g := journal.Group{Owner: m.Worker, Chunk: journal.Chunk{Run: m.ID, Thread: m.Thread, Epoch: m.Epoch}}
	for _, n := range sizes {
		line := after.line(n)
		after.lines = append(slices.Clip(after.lines), line)
		g.Chunk.Data = append(g.Chunk.Data, line...)
	}
	if len(sizes) > 0 {
		g.Chunk.First, g.Chunk.Last = uint64(len(m.lines)+1), uint64(len(after.lines))
	}
	g.Chunk.Seal()
	return g, after.lines
}

// failer is what a rapid.T and a testing.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// startIn makes a run that a worker has, on a thread of its own.
func startIn(t failer, db *DB, id, worker string) *modelRun {
	t.Helper()
	c, err := db.CreateRun(context.Background(), owner, run.NewRun{ID: id, Thread: "thread of " + id,
		Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true}, At: now(), Worker: worker, Lease: time.Hour})
	if err != nil {
		t.Fatalf("create run %s: %v", id, err)
	}
	return &modelRun{Run: c.Run}
}

// readAll reads a run's lines after an event, of about limit bytes at a time, and looks that they are in order and intact.
func readAll(db *DB, id string, after uint64, limit int) (lines []string, err error) {
	for next := after + 1; ; {
		chunks, err := db.Read(context.Background(), id, next-1, limit)
		if err != nil || len(chunks) == 0 {
			return lines, err
		}
		for _, c := range chunks {
			if c.First > next || c.Last < next || !c.Intact() {
				return lines, fmt.Errorf("events %d to %d come where %d should, intact: %v", c.First, c.Last, next, c.Intact())
			}
			of := strings.SplitAfter(strings.TrimSuffix(string(c.Data), "\n"), "\n")
			of[len(of)-1] += "\n"
			if uint64(len(of)) != c.Last-c.First+1 {
				return lines, fmt.Errorf("events %d to %d are %d lines", c.First, c.Last, len(of))
			}
			lines = append(lines, of[next-c.First:]...)
			next = c.Last + 1
		}
	}
}

func (m *modelRun) check(t failer, db *DB, after, limit int, who string) {
	t.Helper()
	got, err := readAll(db, m.ID, uint64(after), limit)
	if err != nil {
		t.Fatalf("%s: run %s after %d: %v", who, m.ID, after, err)
	}
	if want := m.lines[min(after, len(m.lines)):]; !slices.Equal(got, want) {
		t.Fatalf("%s: run %s after %d has\n%swant\n%s", who, m.ID, after, strings.Join(got, ""), strings.Join(want, ""))
	}
}

// tight bounds are reached by a few tokens.
var tight = bounds{partBytes: 200, runBytes: 400, runParts: 5, mostSegments: 6, mostBytes: 3000, foldsAtOnce: 2, deletesAtOnce: 3}

func openTight(t failer, dir string) *DB {
	t.Helper()
	db, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	db.writer.segments.bounds = tight
	return db
}

// copyKilled copies what the files of a database hold at this moment: what is left of it when its process is killed.
func copyKilled(t failer, from, to string) {
	t.Helper()
	for _, name := range []string{fileName, fileName + "-wal"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("copy: %v", err)
		}
	}
}

// journals is a database beside a plain model of what it should hold.
type journals struct {
	*rapid.T
	db    *DB
	dir   string
	temp  func() string
	runs  map[string]*modelRun
	gone  []string
	count int
	noEnd bool // nothing ends: others delete what has
}

func (j *journals) pick(which func(*modelRun) bool) *modelRun {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(j.runs)) {
		if which(j.runs[id]) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		j.Skip("there is none")
	}
	return j.runs[rapid.SampledFrom(ids).Draw(j.T, "run")]
}

func (j *journals) create(*rapid.T) {
	j.count++
	m := startIn(j, j.db, fmt.Sprint("run-", j.count, "-"), "w")
	j.runs[m.ID] = m
}

// append writes a commit: of some runs tokens, of some with something to save or their end, of some under a lease that was lost, of
// some what cannot be written.
func (j *journals) append(*rapid.T) {
	var groups []journal.Group
	after := map[string]modelRun{}
	fail := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(j.runs)) {
		m := j.runs[id]
		kind := rapid.SampledFrom([]string{"", "tokens", "tokens", "tokens", "tokens", "save", "save alone", "end", "late", "wrong", "twice"}).Draw(j.T, id)
		if kind == "end" && j.noEnd {
			kind = "save"
		}
		if kind == "" || m.ended {
			continue
		}
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 20, 60, 150, 250}), 1, 3).Draw(j.T, "sizes")
		if kind == "save alone" {
			sizes = nil
		}
		g, lines := m.next(sizes...)
		next := modelRun{Run: m.Run, lines: lines}
		switch kind {
		case "save", "save alone":
			g.Saves = []journal.Save{graph.Kept{Checkpoint: must7, Outcome: graph.Outcome{Task: fmt.Sprint(len(lines)), Finished: true}}}
		case "end":
			g.Saves, next.ended = []journal.Save{run.End{Run: m.ID, Thread: m.Thread, Status: run.Success, At: now(), Attempt: 1}}, true
		case "late":
			g.Chunk.Epoch--
			fail[id] = true
		case "wrong":
			g.Saves = []journal.Save{nothing{}}
			fail[id] = true
		case "twice":
			if len(m.lines) == 0 {
				continue
			}
			g.Chunk.First--
			fail[id] = true
		}
		groups = append(groups, g)
		if !fail[id] {
			after[id] = next
		}
	}
	if len(groups) == 0 {
		return
	}
	refused, err := j.db.Append(context.Background(), groups, rapid.Bool().Draw(j.T, "sync"))
	if len(groups) == 1 && fail[groups[0].Chunk.Run] && err != nil {
		return // one that is alone says so by itself
	}
	if err != nil {
		j.Fatalf("append: %v", err)
	}
	for _, g := range groups {
		if id := g.Chunk.Run; (refused[id] != nil) != fail[id] {
			j.Fatalf("run %s was refused with %v, want a refusal: %v", id, refused[id], fail[id])
		}
	}
	for id, next := range after {
		*j.runs[id] = next
	}
}

// nothing is a save that the store does not know.
type nothing struct{}

func (nothing) Stored() {}

const must7 = "0199f2c4-a7a0-7000-8000-000000000000"

// take gives all runs to another worker.
func (j *journals) take(*rapid.T) {
	if err := j.db.Abandon(context.Background(), ""); err != nil {
		j.Fatalf("abandon: %v", err)
	}
	j.count++
	claimed, err := j.db.Claim(context.Background(), fmt.Sprint("w", j.count), time.Hour, 100, run.Between{Most: 1000})
	if err != nil {
		j.Fatalf("claim: %v", err)
	}
	for _, r := range claimed {
		j.runs[r.ID].Run = r
	}
}

func (j *journals) deleteRun(*rapid.T) {
	m := j.pick(func(m *modelRun) bool { return m.ended })
	if err := j.db.DeleteRun(context.Background(), owner, m.ID); err != nil {
		j.Fatalf("delete run %s: %v", m.ID, err)
	}
	delete(j.runs, m.ID)
	j.gone = append(j.gone, m.ID)
}

func (j *journals) deleteThread(*rapid.T) {
	m := j.pick(func(m *modelRun) bool { return m.ended })
	if _, err := j.db.DeleteThread(context.Background(), owner, m.Thread); err != nil {
		j.Fatalf("delete thread %s: %v", m.Thread, err)
	}
	delete(j.runs, m.ID)
	j.gone = append(j.gone, m.ID)
}

// together deletes all that has ended, tries to delete what has not, and writes meanwhile: they share commits, and fail alone.
func (j *journals) together(t *rapid.T) {
	var wg sync.WaitGroup
	errs := make(chan error, 2*len(j.runs))
	for _, id := range slices.Sorted(maps.Keys(j.runs)) {
		m := *j.runs[id]
		if m.ended {
			delete(j.runs, id)
			j.gone = append(j.gone, id)
		}
		wg.Go(func() {
			err := j.db.DeleteRun(context.Background(), owner, id)
			if m.ended != (err == nil) || err != nil && !errors.Is(err, run.ErrBusy) {
				errs <- fmt.Errorf("delete run %s, ended: %v: %w", id, m.ended, err)
			}
		})
	}
	j.noEnd = true
	j.append(t)
	j.noEnd = false
	wg.Wait()
	close(errs)
	for err := range errs {
		j.Fatalf("%v", err)
	}
}

func (j *journals) reopen(*rapid.T) {
	if err := j.db.Close(); err != nil {
		j.Fatalf("close: %v", err)
	}
	j.db = openTight(j, j.dir)
}

func (j *journals) crash(*rapid.T) {
	to := j.temp()
	copyKilled(j, j.dir, to)
	if err := j.db.Close(); err != nil {
		j.Fatalf("close: %v", err)
	}
	j.dir, j.db = to, openTight(j, to)
}

// look reads a run from some point, by whoever writes and by somebody who looks on, and lets the check look for damage.
func (j *journals) look(*rapid.T) {
	m := j.pick(func(*modelRun) bool { return true })
	m.check(j, j.db, rapid.IntRange(0, len(m.lines)+1).Draw(j.T, "after"), rapid.SampledFrom([]int{1, 300, 1 << 20}).Draw(j.T, "limit"), "the writer")
	eye, err := Open(context.Background(), j.dir, Options{ReadOnly: true})
	if err != nil {
		j.Fatalf("look on: %v", err)
	}
	defer eye.Close()
	m.check(j, eye, rapid.IntRange(0, len(m.lines)+1).Draw(j.T, "after"), rapid.SampledFrom([]int{1, 300, 1 << 20}).Draw(j.T, "limit"), "a reader")
	if found, err := eye.Check(context.Background()); err != nil || len(found) > 0 {
		j.Fatalf("the check finds %q, %v", found, err)
	}
}

// invariant: the laws of segments.go that can be seen in the tables.
func (j *journals) invariant(*rapid.T) {
	ask := func(text string, args ...any) int64 {
		n, err := j.db.count(context.Background(), text, args...)
		if err != nil {
			j.Fatalf("%s: %v", text, err)
		}
		return n
	}
	for _, id := range j.gone {
		if n := ask("SELECT (SELECT count(*) FROM segments WHERE instr(data, ?1) > 0) + (SELECT count(*) FROM journal WHERE instr(data, ?1) > 0)", []byte(id)); n > 0 {
			j.Fatalf("%d rows have something of run %s, which was deleted", n, id)
		}
	}
	s := j.db.writer.segments
	if n := ask("SELECT count(*) FROM segments"); n > int64(tight.mostSegments*patience) {
		j.Fatalf("there are %d segments", n)
	} else if len(s.parts) == 0 && n > int64(tight.deletesAtOnce) {
		j.Fatalf("there are %d segments, and no part counts", n)
	}
	bytes := 0
	for _, in := range s.list {
		bytes += in.bytes
	}
	if bytes != s.bytes {
		j.Fatalf("the segments have %d bytes, and %d are counted", bytes, s.bytes)
	}
	for _, m := range j.runs {
		no := ask("SELECT no FROM runs WHERE id = ?", m.ID)
		if parts := s.of(no); m.ended && len(parts) > 0 {
			j.Fatalf("run %s has ended, and %d parts count", m.ID, len(parts))
		}
	}
}

// Whatever runs write, save, lose and delete, and whenever the process is stopped or killed: everybody reads exactly what was
// acknowledged, from any point.
func TestJournalsAreWhatWasWritten(t *testing.T) {
	// A check is several processes on real files.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
		defer f.Value.Set(f.DefValue) //nolint:errcheck // it was this
	}
	rapid.Check(t, func(rt *rapid.T) {
		j := &journals{T: rt, temp: t.TempDir, runs: map[string]*modelRun{}}
		j.dir = j.temp()
		j.db = openTight(rt, j.dir)
		defer func() { j.db.Close() }() //nolint:errcheck // of whichever is open then
		for range 3 {
			j.create(rt)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": j.append, "append more": j.append, "append yet more": j.append, "append a lot": j.append, "create": j.create,
			"take": j.take, "delete a run": j.deleteRun, "delete a thread": j.deleteThread, "together": j.together, "reopen": j.reopen, "crash": j.crash,
			"look": j.look, "": j.invariant,
		})
		for _, m := range j.runs {
			m.check(rt, j.db, 0, 1<<20, "the writer")
		}
	})
}

// Readers who come at any moment, of this process and of others, find everything that was acknowledged, without a hole, while parts become rows.
func TestReadersMissNothingWhilePartsBecomeRows(t *testing.T) {
	dir := t.TempDir()
	db := openTight(t, dir)
	defer db.Close()
	eye, err := Open(t.Context(), dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer eye.Close()
	const writers, tokens = 4, 150
	var acknowledged [writers]atomic.Uint64
	runs := make([]*modelRun, writers)
	for i := range runs {
		runs[i] = startIn(t, db, fmt.Sprint("run-", i), "w")
	}
	done := make(chan struct{})
	var readers, writing sync.WaitGroup
	for _, from := range []*DB{db, eye} {
		readers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				i := n % writers
				want := acknowledged[i].Load()
				after := want * uint64(n%7) / 6
				got, err := readAll(from, fmt.Sprint("run-", i), after, 1+n%2*100_000)
				if err != nil || after+uint64(len(got)) < want {
					t.Errorf("run-%d after %d: %d lines of at least %d, %v", i, after, len(got), want-after, err)
					return
				}
			}
		})
	}
	for i, m := range runs {
		writing.Go(func() { // each as a journal of its own: two engines on one store
			for n := range tokens {
				g, lines := m.next(10)
				if n%(7+i) == 6 {
					g.Saves = []journal.Save{graph.Kept{Checkpoint: must7, Outcome: graph.Outcome{Task: "t", Finished: true}}}
				}
				if refused, err := db.Append(context.Background(), []journal.Group{g}, false); err != nil || len(refused) > 0 {
					t.Errorf("append to %s: %v, %v", m.ID, refused, err)
					return
				}
				m.lines = lines
				acknowledged[i].Store(uint64(len(lines)))
			}
		})
	}
	writing.Wait()
	close(done)
	readers.Wait()
	for _, m := range runs {
		m.check(t, db, 0, 1<<20, "the writer")
		m.check(t, eye, 0, 1<<20, "a reader")
	}
}

// The tokens of many runs at once are one row, and when the runs have ended there are few rows of each, and no segments.
func TestTokensOfManyRunsAreOneRow(t *testing.T) {
	db := openPlain(t)
	const runs, tokens = 40, 50
	var all []*modelRun
	for i := range runs {
		all = append(all, startIn(t, db, fmt.Sprint("run-", i), "w"))
	}
	write := func(saves ...journal.Save) {
		var groups []journal.Group
		for _, m := range all {
			g, lines := m.next(60)
			for _, s := range saves {
				end := s.(run.End)
				end.Run, end.Thread = m.ID, m.Thread
				g.Saves = append(g.Saves, end)
			}
			groups, m.lines = append(groups, g), lines
		}
		if refused, err := db.Append(t.Context(), groups, false); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	rows := func(table string) int64 {
		n, err := db.count(t.Context(), "SELECT count(*) FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range tokens {
		write()
	}
	if s, j := rows("segments"), rows("journal"); s != tokens || j != 0 {
		t.Errorf("after %d tokens of %d runs there are %d segments and %d rows of journals, want %d and none", tokens, runs, s, j, tokens)
	}
	write(run.End{Status: run.Success, At: now(), Attempt: 1})
	if s, j := rows("segments"), rows("journal"); s != 0 || j != runs {
		t.Errorf("when all have ended there are %d segments and %d rows of journals, want none and %d", s, j, runs)
	}
	for _, m := range all {
		m.check(t, db, 0, 1<<20, "the writer")
	}
}

// Runs that speak for a long time and save nothing do not pile up: not in the table, not in memory, and not in one commit.
func TestWhatIsOldestIsFolded(t *testing.T) {
	db := openTight(t, t.TempDir())
	defer db.Close()
	slow, fast := startIn(t, db, "slow", "w"), startIn(t, db, "fast", "w")
	say := func(m *modelRun) {
		g, lines := m.next(1)
		if refused, err := db.Append(t.Context(), []journal.Group{g}, false); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		m.lines = lines
	}
	say(slow)
	for range 100 {
		say(fast)
		if n := len(db.writer.segments.list); n > tight.mostSegments+tight.deletesAtOnce {
			t.Fatalf("there are %d segments, want at most %d", n, tight.mostSegments+tight.deletesAtOnce)
		}
	}
	if n := len(db.writer.segments.of(1)); n != 0 {
		t.Errorf("%d parts count of a run that said nothing since a hundred segments", n)
	}
	slow.check(t, db, 0, 1<<20, "the writer")
	fast.check(t, db, 0, 1<<20, "the writer")
}
