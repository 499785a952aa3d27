package search

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// manyDocs are enough for an index of some pages.
func manyDocs() fstest.MapFS {
	all := docs()
	for i := range 60 {
		text := fmt.Sprintf("# Document %d\n\n%s\n\nThe journal of number%d.\n", i, strings.Repeat(fmt.Sprintf("word%d other ", i), 60), i)
		all[fmt.Sprintf("many/%d.md", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// Whatever happened to the file, the next start has an index that finds what the documents say.
func TestDamagedIndexIsBuiltAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i.db")
	opts := Options{Path: path, Sources: []Source{{FS: manyDocs()}}}
	ix, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	want := locations(t, ix, "journal")
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(b []byte) []byte{
		"text":         func([]byte) []byte { return []byte(strings.Repeat("not a database at all ", 100)) },
		"zeros":        func(b []byte) []byte { return make([]byte, len(b)) },
		"cut":          func(b []byte) []byte { return b[:len(b)/2] },
		"cut to bytes": func(b []byte) []byte { return b[:60] },
		"first page":   func(b []byte) []byte { return append(bytes.Repeat([]byte{0xaa}, 4096), b[4096:]...) },
		"header":       func(b []byte) []byte { b[3] ^= 1; return b },
		"tables": func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("CREATE TABLE files"), []byte("CREATE TABEL files"))
		},
		"all but the first page": func(b []byte) []byte {
			for i := 4096; i < len(b); i += 4096 {
				copy(b[i:], bytes.Repeat([]byte{0x55}, 64))
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			opts := Options{Path: filepath.Join(t.TempDir(), "i.db"), Sources: opts.Sources, Log: slog.New(slog.NewTextHandler(&log, nil))}
			if err := os.WriteFile(opts.Path, spoil(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := locations(t, opened(t, opts), "journal"); !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
			if _, err := os.Stat(opts.Path + aside); err != nil || !strings.Contains(log.String(), "built anew") {
				t.Errorf("the damaged file is not kept, or nobody was told: %v, %s", err, log.String())
			}
		})
	}
}

// Damage that is met only later is mended then, once, for all who search at the same time. A search may find less or nothing if SQLite does not see the
// damage, but it does not fail.
func TestDamageThatASearchMeetsIsMended(t *testing.T) {
	rebuilt := 0
	for n := range 6 {
		rng := rand.New(rand.NewPCG(uint64(n), 3))
		var log bytes.Buffer
		opts := Options{Path: filepath.Join(t.TempDir(), "i.db"), Sources: []Source{{FS: manyDocs()}}, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ix := opened(t, opts)
		want := locations(t, ix, "journal")
		if _, err := ix.db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(opts.Path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(4096); at < info.Size(); at += 4096 { // all pages but the first
			if _, err := f.WriteAt([]byte{byte(rng.Uint32()), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		ix.db.SetMaxIdleConns(0) // nothing is remembered of the pages
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := ix.Search(t.Context(), "journal", 20); err != nil {
					t.Errorf("a search fails: %v", err)
				}
			})
		}
		wg.Wait()
		switch times := strings.Count(log.String(), "built anew"); times {
		case 0:
		case 1:
			rebuilt++
			if got := locations(t, ix, "journal"); !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		default:
			t.Errorf("built anew %d times", times)
		}
	}
	if rebuilt == 0 {
		t.Error("the damage was never met: nothing was put to the test")
	}
}
