package sqlite

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/storage/storagetest"
)

// Tables that grow without end are looked up, never walked: a heartbeat or a claim that reads every run there ever
// was would hold up all that is being written, a little longer each day. Indexes of what is in flight, held or
// about to expire are small whatever the table is.
func TestNoStatementWalksATableThatGrows(t *testing.T) {
	texts := map[string]bool{}
	t.Run("suite", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storagetest.Backend {
			db := openPlain(t)
			t.Cleanup(func() {
				for _, all := range []*statements{&db.writer.tx.statements, &db.reads} {
					for text := range all.all {
						texts[text] = true
					}
				}
			})
			return db
		})
	})
	db := openPlain(t)
	walk := regexp.MustCompile(`^SCAN (\w+)( USING (COVERING )?INDEX (runs_leased|runs_in_flight|runs_pending|follow_ups_held|\w+_by_expiry))?$`)
	for text := range texts {
		for _, step := range planOf(t, db, text) {
			m := walk.FindStringSubmatch(step)
			if m == nil || m[2] != "" || m[1] == "CONSTANT" {
				continue
			}
			// Names that stand for no table of ours are lists of JSON, or small.
			if strings.Contains(text, "assistant") || m[1] == "want" || m[1] == "have" || m[1] == "json_each" || m[1] == "live" || m[1] == "chain" || m[1] == "k" || m[1] == "d" {
				continue
			}
			t.Errorf("%s\n\t%s", step, text)
		}
	}
	if len(texts) < 50 {
		t.Errorf("only %d statements were seen", len(texts))
	}
}

func openPlain(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func planOf(t *testing.T, db *DB, text string) []string {
	t.Helper()
	if strings.HasPrefix(text, "PRAGMA") || !strings.Contains(text, " ") {
		return nil
	}
	rows, err := db.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, 20)...)
	steps, err := collect(rows, err, func(row scanner) (step string, err error) {
		var id, parent, unused int
		return step, row.Scan(&id, &parent, &unused, &step)
	})
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return steps
}
