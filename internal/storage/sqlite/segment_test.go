package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// someParts are parts of three runs.
func someParts() []part {
	var parts []part
	for i := range 3 {
		m := &modelRun{Run: run.Run{ID: fmt.Sprint("run-", i+1), Epoch: 1 + i}, lines: make([]string, 200*i)}
		g, _ := m.next(i*30, 5)
		parts = append(parts, part{int64(i + 1), g.Chunk})
	}
	return parts
}

// Whichever byte of a segment changes, it is known whose parts there are, at most one of them is not intact, and all others are as they were.
func TestAChangedByteOfASegmentHurtsOneRunAtMost(t *testing.T) {
	want := someParts()
	data := encodeSegment(7, want)
	for i := range data {
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[i] ^= 1 << bit
			got, err := decodeSegment(7, changed)
			if err != nil || len(got) != len(want) {
				t.Fatalf("byte %d, bit %d: %d parts, %v", i, bit, len(got), err)
			}
			hurt := 0
			for k := range got {
				got[k].Run, got[k].Thread = want[k].Run, want[k].Thread
				switch {
				case reflect.DeepEqual(got[k], want[k]):
				case got[k].Intact():
					t.Fatalf("byte %d, bit %d: part %d is another, and intact", i, bit, k)
				default:
					hurt++
				}
			}
			if hurt > 1 {
				t.Errorf("byte %d, bit %d: %d parts are hurt", i, bit, hurt)
			}
		}
	}
	if _, err := decodeSegment(8, data); !errors.Is(err, errSegment) {
		t.Errorf("a segment in the place of another is read: %v", err)
	}
}

// What is joined is sealed anew only if it was intact, and is never moved over a hole.
func TestOnlyWhatIsIntactIsJoined(t *testing.T) {
	m := &modelRun{Run: run.Run{ID: "r", Epoch: 1}}
	var chunks []journal.Chunk
	for range 8 {
		g, lines := m.next(3)
		chunks, m.lines = append(chunks, g.Chunk), lines
	}
	whole := func(n ...int) (out []journal.Chunk) {
		for _, i := range n {
			c := chunks[i]
			c.Data = bytes.Clone(c.Data)
			out = append(out, c)
		}
		return out
	}
	spoilt := whole(0, 1, 2, 3, 4)
	spoilt[2].Data[5] ^= 1
	later := whole(0, 1, 2, 3)
	for i := range later[2:] {
		later[2+i].Epoch = 2
		later[2+i].Seal()
	}
	for _, c := range []struct {
		name   string
		chunks []journal.Chunk
		want   [][2]uint64
		bad    int
	}{
		{"nothing", nil, nil, 0},
		{"one", whole(3), [][2]uint64{{4, 4}}, 0},
		{"all", whole(0, 1, 2, 3, 4, 5, 6, 7), [][2]uint64{{1, 8}}, 0},
		{"a hole", whole(0, 1, 3, 4), [][2]uint64{{1, 2}, {4, 5}}, 0},
		{"another lease", later, [][2]uint64{{1, 2}, {3, 4}}, 0},
		{"damage", spoilt, [][2]uint64{{1, 2}, {3, 3}, {4, 5}}, 1},
	} {
		var got [][2]uint64
		var data []byte
		bad := 0
		for _, o := range joined(c.chunks) {
			got, data = append(got, [2]uint64{o.First, o.Last}), append(data, o.Data...)
			if !o.Intact() {
				bad++
			}
		}
		var before []byte
		for _, o := range c.chunks {
			before = append(before, o.Data...)
		}
		if !slices.Equal(got, c.want) || bad != c.bad || !bytes.Equal(data, before) {
			t.Errorf("%s: joined to %v, %d of them damaged, want %v and %d; the data is the same: %v", c.name, got, bad, c.want, c.bad, bytes.Equal(data, before))
		}
	}
}

func FuzzSegment(f *testing.F) {
	f.Add(encodeSegment(1, someParts()))
	f.Add(encodeSegment(1, nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := decodeSegment(1, data)
		if err != nil {
			return
		}
		size := 0
		for _, p := range parts {
			size += len(p.Data)
		}
		if size > len(data) {
			t.Errorf("%d bytes have parts of %d", len(data), size)
		}
		again, err := decodeSegment(1, encodeSegment(1, slices.Clone(parts)))
		if err != nil || len(parts) > 0 && !reflect.DeepEqual(parts, again) {
			t.Errorf("%v becomes %v, %v", parts, again, err)
		}
	})
}

// leftInSegments is a folder whose process was killed: two runs have parts in three segments.
func leftInSegments(t *testing.T) (dir string, runs []*modelRun) {
	t.Helper()
	from, dir := t.TempDir(), t.TempDir()
	db, err := Open(t.Context(), from, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	runs = []*modelRun{startIn(t, db, "run-1", "w"), startIn(t, db, "run-2", "w")}
	for range 3 {
		var groups []journal.Group
		for _, m := range runs {
			g, lines := m.next(20)
			groups, m.lines = append(groups, g), lines
		}
		if refused, err := db.Append(t.Context(), groups, false); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	copyKilled(t, from, dir)
	return dir, runs
}

// behind changes a file that nobody has open.
func behind(t *testing.T, dir string, text string, args ...any) {
	t.Helper()
	db, err := connect(filepath.Join(dir, fileName), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), text, args...)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func findings(t *testing.T, dir string) string {
	t.Helper()
	eye, err := Open(t.Context(), dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer eye.Close()
	found, err := eye.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, "\n")
}

// Damage in a segment is told of the run whose part it is, by the check and to readers, before it is folded and after, and the other run is whole.
func TestDamageInASegmentIsToldOfItsRun(t *testing.T) {
	dir, runs := leftInSegments(t)
	behind(t, dir, "UPDATE segments SET data = CAST(replace(data, 'run-1 event 2', 'run-1 event 7') AS BLOB)")
	for range 2 {
		if found := findings(t, dir); found != "run run-1: events 2 to 2 are not as they were written" {
			t.Errorf("the check says %q", found)
		}
		db, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(db, "run-1", 0, 1<<20); err == nil || len(got) != 1 {
			t.Errorf("the run whose part is damaged has %q, %v", got, err)
		}
		runs[1].check(t, db, 0, 1<<20, "the writer")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A segment of which nobody can know what was in it keeps nobody from starting. It is told, to the log and by the check, and set aside as it is.
func TestASegmentThatCannotBeReadIsSetAside(t *testing.T) {
	dir, runs := leftInSegments(t)
	behind(t, dir, "UPDATE segments SET data = zeroblob(length(data)) WHERE no = 3")
	if found := findings(t, dir); !strings.Contains(found, "segment 3 is not as it was written") {
		t.Errorf("the check says %q", found)
	}
	var log bytes.Buffer
	db, err := Open(t.Context(), dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range runs {
		m.lines = m.lines[:2]
		m.check(t, db, 0, 1<<20, "the writer")
		g, lines := m.next(5) // they can be written
		m.lines = lines
		if refused, err := db.Append(t.Context(), []journal.Group{g}, false); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		m.check(t, db, 0, 1<<20, "the writer")
	}
	if n, err := db.count(t.Context(), "SELECT count(*) FROM lost_segments_1"); err != nil || n != 3 {
		t.Errorf("%d segments were set aside, %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "segment=3") {
		t.Errorf("the log says %q", log.String())
	}
	if found := findings(t, dir); !strings.Contains(found, "set aside as lost_segments_1") {
		t.Errorf("the check says %q", found)
	}
}

// A file of the version before has no segments: it can be looked at, and is brought to this version.
func TestAFileWithoutSegmentsIsRead(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := startIn(t, db, "run-1", "w")
	g, lines := m.next(20)
	g.Saves = []journal.Save{graph.Kept{Checkpoint: must7, Outcome: graph.Outcome{Task: "t", Finished: true}}} // so that it is a row
	m.lines = lines
	if refused, err := db.Append(t.Context(), []journal.Group{g}, true); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	behind(t, dir, "DROP TABLE segments; PRAGMA user_version = 6")
	for _, opt := range []Options{{ReadOnly: true}, {}} {
		db, err := Open(t.Context(), dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		m.check(t, db, 0, 1<<20, fmt.Sprintf("%+v", opt))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A backup that is made while runs speak has what they said.
func TestABackupHasWhatIsInSegments(t *testing.T) {
	ctx := context.Background()
	db := openPlain(t)
	m := startIn(t, db, "run-1", "w")
	for range 3 {
		g, lines := m.next(20)
		m.lines = lines
		if refused, err := db.Append(ctx, []journal.Group{g}, false); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	eye, err := Open(ctx, filepath.Dir(db.path), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer eye.Close()
	file, dir := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	if about, err := eye.Backup(ctx, file, Backup{}, false); err != nil || len(about.Findings) > 0 {
		t.Fatal(about.Findings, err)
	}
	if _, err := Restore(ctx, file, dir, false); err != nil {
		t.Fatal(err)
	}
	back, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	m.check(t, back, 0, 1<<20, "what was restored")
}
