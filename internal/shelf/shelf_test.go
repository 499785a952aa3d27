package shelf_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// put fills a folder with two files that say the same.
func put(s *shelf.Shelf, owner, name, text string) error {
	return s.Put(owner, name, func(to, _ *os.Root) error {
		for _, file := range []string{"a.txt", "deep/b.txt"} {
			if err := shelf.Write(to, file, strings.NewReader(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// read is what a folder says: both files must say the same.
func read(s *shelf.Shelf, owner, name string) (text string, err error) {
	err = s.Read(owner, name, func(root *os.Root) error {
		a, err := root.ReadFile("a.txt")
		if err != nil {
			return err
		}
		b, err := root.ReadFile("deep/b.txt")
		if err == nil && string(a) != string(b) {
			err = fmt.Errorf("one file says %q, the other %q", a, b)
		}
		text = string(a)
		return err
	})
	return text, err
}

func TestFoldersArePutReplacedAndRemovedByOwner(t *testing.T) {
	owners := []string{"local", "", "LOCAL", "../local", "a/b", "名前", strings.Repeat("x", 400), "x\x00y", "."}
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "shelf")
		s := shelf.New(dir)
		want := map[string]map[string]string{}
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			owner := rapid.SampledFrom(owners).Draw(rt, "owner")
			name := rapid.SampledFrom([]string{"a", "b-1", "0"}).Draw(rt, "name")
			_, there := want[owner][name]
			if rapid.Bool().Draw(rt, "remove") {
				if err := s.Remove(owner, name); errors.Is(err, fs.ErrNotExist) == there {
					rt.Fatalf("remove %q of %q: got %v; it is there: %v", name, owner, err, there)
				}
				delete(want[owner], name)
				continue
			}
			text := rapid.StringN(0, 20, -1).Draw(rt, "text")
			if err := put(s, owner, name, text); err != nil {
				rt.Fatal(err)
			}
			if want[owner] == nil {
				want[owner] = map[string]string{}
			}
			want[owner][name] = text
		}
		for _, owner := range owners {
			names, err := s.Names(owner)
			if err != nil || len(names) != len(want[owner]) || !slices.IsSorted(names) {
				rt.Fatalf("%q has %q, %v; want %q", owner, names, err, want[owner])
			}
			for name, text := range want[owner] {
				if got, err := read(s, owner, name); err != nil || got != text {
					rt.Fatalf("%s of %q: got %q, %v; want %q", name, owner, got, err, text)
				}
			}
		}
		around, err := os.ReadDir(filepath.Dir(dir))
		if err != nil || len(around) > 1 {
			rt.Fatalf("something was written outside of the shelf: %v, %v", around, err)
		}
	})
}

func TestNamesThatLeadElsewhereAreNone(t *testing.T) {
	s := shelf.New(t.TempDir())
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "a b", "-a", ".lock", "a\x00", "é", strings.Repeat("a", 65)} {
		if err := put(s, "local", name, "x"); err == nil {
			t.Errorf("put %q: got no error", name)
		}
		if _, err := read(s, "local", name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open %q: got %v, want that it is not there", name, err)
		}
		if err := s.Remove("local", name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("remove %q: got %v, want that it is not there", name, err)
		}
	}
}

func TestAFailedPutChangesNothing(t *testing.T) {
	s, bad := shelf.New(t.TempDir()), errors.New("bad")
	if err := put(s, "local", "a", "first"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		err := s.Put("local", name, func(to, old *os.Root) error {
			if (old != nil) != (name == "a") {
				t.Errorf("%s: the old folder is %v", name, old)
			}
			return errors.Join(shelf.Write(to, "a.txt", strings.NewReader("half")), bad)
		})
		if !errors.Is(err, bad) {
			t.Errorf("%s: got %v, want the error of the one who writes", name, err)
		}
	}
	if got, err := read(s, "local", "a"); got != "first" || err != nil {
		t.Errorf("it says %q, %v; want what it said before", got, err)
	}
	if names, err := s.Names("local"); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("there are %q, %v", names, err)
	}
}

// A process can die between any two steps of Put. These are the folders that it leaves behind.
func TestACrashLeavesTheOldFolderOrTheNew(t *testing.T) {
	for name, c := range map[string]struct {
		moves []string // pairs: from, to
		want  string
	}{
		"before the old one is moved":        {nil, "first"},
		"after the old one is moved":         {[]string{"a", ".old-a"}, "first"},
		"before the old one is thrown away":  {[]string{"a", ".old-a", "next", "a"}, "second"},
		"after the new one was begun, alone": {[]string{"next", ".new-a"}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := shelf.New(dir)
			if err := errors.Join(put(s, "local", "a", "first"), put(s, "local", "next", "second")); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(c.moves); i += 2 {
				if err := os.Rename(filepath.Join(dir, "local", c.moves[i]), filepath.Join(dir, "local", c.moves[i+1])); err != nil {
					t.Fatal(err)
				}
			}
			names, err := s.Names("local")
			if err != nil || !slices.Contains(names, "a") {
				t.Errorf("there are %q, %v; a is missing", names, err)
			}
			if got, err := read(s, "local", "a"); got != c.want || err != nil {
				t.Errorf("it says %q, %v; want %q", got, err, c.want)
			}
			if err := put(s, "local", "a", "third"); err != nil {
				t.Fatal(err)
			}
			if got, err := read(s, "local", "a"); got != "third" || err != nil {
				t.Errorf("after the next put it says %q, %v", got, err)
			}
			if err := s.Remove("local", "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := read(s, "local", "a"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after it was removed: got %v", err)
			}
		})
	}
}

func TestReadersNeverSeeAFolderThatIsHalfWritten(t *testing.T) {
	dir := t.TempDir()
	if err := put(shelf.New(dir), "local", "a", "0"); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	done := make(chan struct{})
	for w := range 3 {
		writers.Go(func() {
			for i := range 6 {
				if err := put(shelf.New(dir), "local", "a", fmt.Sprint(w, i)); err != nil { // as another process would
					t.Error(err)
				}
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	for s := shelf.New(dir); ; {
		names, err := s.Names("local")
		if err != nil || !slices.Equal(names, []string{"a"}) {
			t.Fatalf("there are %q, %v", names, err)
		}
		if _, err := read(s, "local", "a"); err != nil {
			t.Fatalf("it was not whole for a moment: %v", err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestLinksAreNoFolders(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	s := shelf.New(dir)
	if err := put(s, "local", "a", "x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(dir, "local", "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := read(s, "local", "link"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was opened: %v", err)
	}
	if err := put(s, "local", "link", "x"); err == nil {
		t.Error("a link was replaced")
	}
}

// The names of a folder that was left alone for a while are remembered until its time says that something has changed; a time that is too young to be
// trusted is not.
func TestNamesAreRememberedUntilTheFolderHasChanged(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration // of the owner's folder, when it is listed
		want []string      // after a change that left no trace in the folder's time
	}{{time.Hour, []string{"a"}}, {time.Second, []string{"a", "b"}}} {
		dir := t.TempDir()
		s, own := shelf.New(dir), filepath.Join(dir, "local")
		names := func() []string {
			t.Helper()
			got, err := s.Names("local")
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if err := put(s, "local", "a", "x"); err != nil {
			t.Fatal(err)
		}
		names() // makes the file that readers lock
		then := time.Now().Add(-c.age)
		age := func(to time.Time) {
			t.Helper()
			if err := os.Chtimes(own, to, to); err != nil {
				t.Fatal(err)
			}
		}
		age(then)
		if got := names(); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("there are %q, want a", got)
		}
		if err := os.Mkdir(filepath.Join(own, "b"), 0o700); err != nil {
			t.Fatal(err)
		}
		age(then)
		if got := names(); !slices.Equal(got, c.want) {
			t.Errorf("a folder that changed %v ago, and now without a trace, has %q, want %q", c.age, got, c.want)
		}
		age(then.Add(time.Minute))
		if got := names(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("after a change there are %q, want a and b", got)
		}
		if err := s.Remove("local", "a"); err != nil {
			t.Fatal(err)
		}
		if got := names(); !slices.Equal(got, []string{"b"}) {
			t.Errorf("after one was removed there are %q, want b", got)
		}
	}
}
