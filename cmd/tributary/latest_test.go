package main

import (
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// latestRun finds the newest run of a data folder.
func latestRun(t *testing.T, dir string) string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	who := run.Identity{Owner: tributary.DefaultOwner}
	threads, _, err := db.SearchThreads(t.Context(), who, run.ThreadQuery{Limit: 1})
	if err != nil || len(threads) == 0 {
		t.Fatalf("no thread: %v", err)
	}
	runs, err := db.ThreadRuns(t.Context(), who, threads[0].ID, "", 1, 0)
	if err != nil || len(runs) == 0 {
		t.Fatalf("no run: %v", err)
	}
	return runs[0].ID
}
