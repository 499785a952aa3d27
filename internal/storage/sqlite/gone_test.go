package sqlite_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

func TestThreadsThatAreGoneAreTold(t *testing.T) {
	var told []run.Thread
	db, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Gone: func(gone []run.Thread) { told = append(told, gone...) }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	who, at := run.Identity{Owner: "ann"}, time.UnixMicro(1_700_000_000_000_001).UTC()
	for _, th := range []run.Thread{{ID: "deleted", CreatedAt: at}, {ID: "expired", CreatedAt: at, ExpiresAt: at.Add(time.Second)}, {ID: "stays", CreatedAt: at}} {
		if _, err := db.CreateThread(t.Context(), who, th); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.DeleteThread(t.Context(), run.Identity{Owner: "bob"}, "deleted"); !errors.Is(err, run.ErrNotFound) || told != nil {
		t.Fatalf("deleting another's thread: got %v, and told was %v", err, told)
	}
	if _, err := db.DeleteThread(t.Context(), who, "deleted"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Sweep(t.Context(), at.Add(time.Minute), 10); err != nil {
		t.Fatal(err)
	}
	want := []run.Thread{{Owner: "ann", ID: "deleted", CreatedAt: at}, {Owner: "ann", ID: "expired", CreatedAt: at}}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("got %+v, want %+v", told, want)
	}
}
