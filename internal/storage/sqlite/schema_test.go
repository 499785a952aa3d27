package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

// shape is what tables and indexes there are, however they came about.
func shape(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `
		SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk
			FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
		UNION ALL
		SELECT 'index ' || m.name || ' ' || coalesce(replace(m.sql, 'IF NOT EXISTS ', ''), '') FROM sqlite_master m WHERE m.type = 'index'`)
	out, err := collect(rows, err, func(row scanner) (s string, err error) { return s, row.Scan(&s) })
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// version1 makes a file as the first version did, in one of its forms, with one of everything.
func version1(t *testing.T, form string) string {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "tributary.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{form, "version1-data.sql"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Files of every form of the first version are opened, are then like new ones, and everything is still there.
func TestOldFilesAreOpened(t *testing.T) {
	want := shape(t, openPlain(t).read)
	for _, form := range []string{"version1-first.sql", "version1-last.sql"} {
		t.Run(form, func(t *testing.T) {
			dir := version1(t, form)
			for range 2 { // the second time it is a file of this version
				db, err := Open(t.Context(), dir, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := shape(t, db.read); !slices.Equal(got, want) {
					t.Errorf("the schema is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				findAll(t.Context(), t, db)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func findAll(ctx context.Context, t *testing.T, db *DB) {
	t.Helper()
	who := run.Identity{Owner: "alice"}
	th, err := db.Thread(ctx, who, "thread-1")
	if err != nil || string(th.Metadata) != `{"graph_id":"g"}` || th.Error == nil || th.Error.Message != "went wrong" {
		t.Errorf("the thread is %+v, %v", th, err)
	}
	r, err := db.Run(ctx, who, "run-1")
	if err != nil || string(r.Request.Input) != `{"words":"of a user"}` || r.Usage.InputTokens != 7 {
		t.Errorf("the run is %+v, %v", r, err)
	}
	if runs, err := db.ThreadRuns(ctx, who, "thread-1", "", 10, 0); err != nil || len(runs) != 1 {
		t.Errorf("the thread has %d runs, %v", len(runs), err)
	}
	snaps, err := db.List(ctx, "thread-1", "", "", 10)
	if err != nil || len(snaps) != 2 {
		t.Fatalf("there are %d checkpoints, %v", len(snaps), err)
	}
	if v := string(snaps[0].Values["messages"]); v != `["the first words","more words"]` || snaps[0].Run != "run-1" || len(snaps[0].Kept) != 1 {
		t.Errorf("the latest checkpoint is %+v with %s", snaps[0], v)
	}
	if snap, err := db.Load(ctx, "thread-1", "", ""); err != nil || snap.ID != snaps[0].ID {
		t.Errorf("the latest is %+v, %v", snap, err)
	}
	if snaps, err := db.List(ctx, "pruned", "", "", 10); err != nil || len(snaps) != 1 {
		t.Errorf("the pruned thread has %d checkpoints, %v", len(snaps), err)
	}
	if chunks, err := db.Read(ctx, "run-1", 0, 1<<20); err != nil || len(chunks) != 1 || string(chunks[0].Data) != "{}\n" {
		t.Errorf("the journal is %v, %v", chunks, err)
	}
	if a, err := db.Assistant(ctx, who, "assistant-1"); err != nil || a.Name != "second name" || a.Version != 2 {
		t.Errorf("the assistant is %+v, %v", a, err)
	}
	if it, err := db.Item(ctx, who, []string{"a", "b"}, "k", 0); err != nil || string(it.Value) != `{"v":"words"}` {
		t.Errorf("the item is %+v, %v", it, err)
	}
	if _, _, err := db.SearchCrons(ctx, who, run.CronQuery{Limit: 1, Metadata: json.RawMessage(`{}`)}); err != nil {
		t.Errorf("crons: %v", err)
	}
	// It can be worked with.
	c, err := db.CreateRun(ctx, who, run.NewRun{ID: "new", Thread: "thread-1", At: now()})
	if err != nil {
		t.Fatalf("a new run: %v", err)
	}
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		return tx.exec(ctx, "DELETE FROM runs WHERE id = ?", c.Run.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		return tx.change(ctx, settleThread, 1, "error", `{"code":"bad","message":"went wrong"}`, 5)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		return tx.change(ctx, threadRows.update("no = ?1", "metadata", "?2", "runs", "1"), 1, `{"graph_id":"g"}`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A step that fails leaves the file as it was.
func TestFailedStepChangesNothing(t *testing.T) {
	dir := version1(t, "version1-first.sql")
	path := filepath.Join(dir, "tributary.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "ALTER TABLE kept ADD COLUMN sum"); err != nil { // in the way of the step
		t.Fatal(err)
	}
	before := shape(t, db)
	if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "from schema version 1 to 2") {
		t.Errorf("opened: %v", err)
	}
	if after := shape(t, db); !slices.Equal(before, after) {
		t.Errorf("the schema was\n%v\nand is\n%v", before, after)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	whole := func(t *testing.T, dir string) string {
		db, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "tributary.db")
	}
	sqlIn := func(t *testing.T, path, text string) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), text)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string) error
		says  string
		lost  bool
	}{
		{"a newer version", func(t *testing.T, dir string) error { sqlIn(t, whole(t, dir), "PRAGMA user_version = 99"); return nil }, "use a newer tributary", false},
		{"no version at all", func(t *testing.T, dir string) error { sqlIn(t, whole(t, dir), "PRAGMA user_version = -3"); return nil }, "unknown schema version -3", false},
		{"some other program's", func(t *testing.T, dir string) error {
			sqlIn(t, filepath.Join(dir, "tributary.db"), "CREATE TABLE theirs (a)")
			return nil
		}, "some other program", false},
		{"empty", func(t *testing.T, dir string) error { return os.Truncate(whole(t, dir), 0) }, "the file is empty", true},
		{"shorter than a header", func(t *testing.T, dir string) error { return os.Truncate(whole(t, dir), 60) }, "cut short", true},
		{"cut in half", func(t *testing.T, dir string) error { return os.Truncate(whole(t, dir), 4096*5) }, "bytes and had", true},
		{"without its file", func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "tributary.db-wal"), []byte("words"), 0o600)
		}, "its write-ahead log is not", true},
	} {
		dir := t.TempDir()
		if err := c.spoil(t, dir); err != nil {
			t.Fatal(err)
		}
		for range 2 { // being refused does not make it acceptable
			db, err := Open(t.Context(), dir, Options{})
			if err == nil {
				_ = db.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || isDamage(err) != c.lost {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// A process may die at any moment of its first start.
func TestFirstStartThatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	for _, left := range []string{"lock", "tributary.db.new", "tributary.db.new-wal", "tributary.db.new-shm"} {
		if err := os.WriteFile(filepath.Join(dir, left), []byte("half of something"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.new*"))
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
