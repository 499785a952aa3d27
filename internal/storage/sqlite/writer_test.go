package sqlite

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// Promises are flushed to the disk and tokens are not, on the same connection: the setting must follow each commit, also
// if the driver keeps the statement that sets it.
func TestEachCommitIsAsDurableAsItMustBe(t *testing.T) {
	db := openPlain(t)
	for _, disk := range []bool{true, false, true, true, false, false, true} {
		var level int
		err := db.write(t.Context(), disk, func(ctx context.Context, _ *tx) error {
			return db.writer.conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level)
		})
		if err != nil || (level == 2) != disk { // 2 is FULL
			t.Errorf("disk %v was written with level %d, %v", disk, level, err)
		}
	}
}

// The write-ahead log begins anew only after a moment at which all of it is in the file. While commits follow each other
// there is no such moment, and it would grow as long as the load lasts. Here each commit comes just after the log was
// moved, which is the worst that can happen.
func TestLogDoesNotGrowWithTheLoad(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mover, err := connect(filepath.Join(dir, "tributary.db"), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer mover.Close()
	const (
		commits = 200
		size    = 64 << 10
		limit   = 1 << 20
	)
	value := make([]byte, size)
	for range commits {
		err := db.write(t.Context(), false, func(ctx context.Context, tx *tx) error {
			err := tx.exec(ctx, "INSERT INTO items (owner, ns, key, value, created, updated) VALUES ('', '', hex(randomblob(16)), ?, 0, 0)", value)
			db.moveOnce(mover, limit/pageBytes)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Stat(filepath.Join(dir, "tributary.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if log.Size() > 3*limit {
		t.Errorf("after writing %d bytes the log has %d, want not much more than %d", commits*size, log.Size(), limit)
	}
}

// Of what waits while a transaction is committed, all that is small is in the next one, whatever stands before it, and with it
// at most one large write: nobody's token waits for two of them.
func TestSmallWritesAreBehindOneLargeOneAtMost(t *testing.T) {
	db := openPlain(t)
	w := db.writer
	held, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- db.write(t.Context(), false, func(context.Context, *tx) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	sizes := []int{heavyBytes, 0, 4 << 20, heavyBytes - 1, heavyBytes, 0, heavyBytes, 0}
	in := make([]uint64, len(sizes)) // the transaction that each was in
	var ops []*op
	for i, size := range sizes {
		ops = append(ops, &op{weight: size, done: make(chan struct{}), do: func(context.Context, *tx) error {
			in[i] = w.commits.Load() // of those before it
			return nil
		}})
	}
	w.mu.Lock()
	w.queue = append(w.queue, ops...)
	w.mu.Unlock()
	w.wake()
	close(release)
	for _, o := range ops {
		<-o.done
		if o.err != nil {
			t.Fatal(o.err)
		}
	}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	next := slices.Min(in)
	large := map[uint64]int{}
	for i, size := range sizes {
		if size < heavyBytes && in[i] != next {
			t.Errorf("the small write %d was %d transactions later than it could be", i, in[i]-next)
		}
		if size >= heavyBytes {
			large[in[i]]++
		}
	}
	for n, count := range large {
		if count > 1 {
			t.Errorf("transaction %d had %d large writes, want one", n-next, count)
		}
	}
	if !slices.IsSorted([]uint64{in[0], in[2], in[4], in[6]}) {
		t.Errorf("large writes were not made in their order, but in the transactions %v", in)
	}
}

// What callers search for is no reason to remember anything for ever, and any number of words is a search.
func TestSearchesLeaveNothingBehind(t *testing.T) {
	db := openPlain(t)
	who := run.Identity{Owner: "x"}
	err := db.PutItem(t.Context(), who, run.Item{Namespace: []string{"n"}, Key: "k", Value: json.RawMessage(`{"text":"Ärger mit Größe"}`)})
	if err != nil {
		t.Fatal(err)
	}
	search := func(text, filter string) int {
		t.Helper()
		found, err := db.SearchItems(t.Context(), who, run.ItemQuery{Text: text, Filter: json.RawMessage(filter), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	search("a", "")
	before := len(db.reads.all)
	for n := range 50 {
		search(strings.Repeat("MIT ", n), `{"a`+strings.Repeat(`":1,"a`, n)+`":{"$gt":1}}`)
	}
	if after := len(db.reads.all); after != before {
		t.Errorf("%d statements are kept, %d before", after, before)
	}
	for text, want := range map[string]int{"Ärger MIT": 1, "Größe": 1, "mit nichts": 0, strings.Repeat("mit ", 3000): 1} {
		if got := search(text, ""); got != want {
			t.Errorf("%.20q finds %d, want %d", text, got, want)
		}
	}
}

// What was deleted does not stay in the file for ever.
func TestDeletedSpaceIsGivenBack(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(dir, "tributary.db")
	mover, err := connect(path, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer mover.Close()
	write := func(text string, args ...any) {
		t.Helper()
		err := db.write(t.Context(), false, func(ctx context.Context, tx *tx) error { return tx.exec(ctx, text, args...) })
		if err != nil {
			t.Fatal(err)
		}
	}
	length := func() int64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const kept = freePages * pageBytes
	value := make([]byte, 1<<20)
	for range 12 {
		write("INSERT INTO items (owner, ns, key, value, created, updated) VALUES ('', '', hex(randomblob(16)), ?, 0, 0)", value)
	}
	db.moveOnce(mover, 1<<20)
	before := length()
	write("DELETE FROM items")
	for range 20 {
		db.moveOnce(mover, 1<<20)
		write("UPDATE meta SET value = value") // behind what the writer was asked to do
	}
	db.moveOnce(mover, 1<<20)
	if after := length(); before < 3*kept || after > kept+kept/4 || after < kept/2 {
		t.Errorf("the file had %d bytes and has %d; want about the %d that are kept for later", before, after, kept)
	}
	var result string
	if err := db.read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		t.Errorf("the file is %s, %v", result, err)
	}
}

// A file that was deleted can still be written to by whoever has it open, and nobody would find that again.
func TestDeletedFileIsNotWrittenTo(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(dir, "tributary.db")
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	who := run.Identity{Owner: "x"}
	create := func(id string) error {
		db.writer.lookFor(path, file)
		_, err := db.CreateThread(t.Context(), who, run.Thread{ID: id, CreatedAt: now()})
		return err
	}
	if err := create("before"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := create("while it is away"); !isDamage(err) {
		t.Errorf("written to nowhere: %v", err)
	}
	if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := create("while another is there"); !isDamage(err) {
		t.Errorf("written to nowhere: %v", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if err := create("after"); err != nil {
		t.Errorf("it is back: %v", err)
	}
}
