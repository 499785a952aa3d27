package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

// Whatever is wrong with the file or the disk reaches readers and writers as something that is not available now.
func TestBrokenFileIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	who := run.Identity{Owner: "x"}
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 { // more than fits on a page
		if _, err := db.CreateThread(t.Context(), who, run.Thread{ID: fmt.Sprint("thread-", i), CreatedAt: now()}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.read.QueryContext(t.Context(), "SELECT pageno FROM dbstat WHERE name NOT IN ('meta', 'sqlite_schema')")
	pages, err := collect(rows, err, func(row scanner) (n int, err error) { return n, row.Scan(&n) })
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tributary.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range pages { // all but what is needed to open the file at all
		copy(data[(n-1)*pageBytes:], make([]byte, 64)) // the head of a page
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err = Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatalf("it does not open, and nothing was put to the test: %v", err)
	}
	defer db.Close()
	ctx := t.Context()
	for name, ask := range map[string]func() error{
		"Thread":        func() error { _, err := db.Thread(ctx, who, "thread-7"); return err },
		"SearchThreads": func() error { _, _, err := db.SearchThreads(ctx, who, run.ThreadQuery{Limit: 5}); return err },
		"Load":          func() error { _, err := db.Load(ctx, "thread-7", "", ""); return err },
		"Read":          func() error { _, err := db.Read(ctx, "run", 0, 1); return err },
		"CreateThread": func() error {
			_, err := db.CreateThread(ctx, who, run.Thread{ID: "new", CreatedAt: now()})
			return err
		},
		"SearchItems": func() error { _, err := db.SearchItems(ctx, who, run.ItemQuery{Limit: 1}); return err },
	} {
		if err := ask(); !isDamage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := db.Check(ctx); err != nil || len(found) == 0 {
		t.Errorf("Check says %q, %v", found, err)
	}
}

func TestClosedDatabaseIsUnavailable(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = db.CreateThread(context.Background(), run.Identity{}, run.Thread{ID: "t"})
	if !errors.Is(err, run.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
}
