package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var born = time.UnixMicro(1_700_000_000_000_000)

func open(t *testing.T, f *Folders, th Thread) *os.Root {
	t.Helper()
	root, err := f.Open(th)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func write(t *testing.T, root *os.Root, name, content string) {
	t.Helper()
	if err := root.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func folders(t *testing.T) (*Folders, string) {
	dir := t.TempDir()
	f := New(dir)
	t.Cleanup(func() { f.Close() })
	return f, dir
}

func anyName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", ".", "..", "../..", "/", "/etc", "local", "Local", "LOCAL", "_", "__", "_2e", ".trash", "a+", "con", `a\b`, "a\x00b", "é", "e\u0301"}),
		rapid.Map(rapid.IntRange(150, 700), func(n int) string { return strings.Repeat("x", n) }),
	)
}

func TestEveryNameIsOneFolderThatIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := Thread{anyName().Draw(rt, "owner"), anyName().Draw(rt, "id"), time.UnixMicro(rapid.Int64Range(-1e15, 4e15).Draw(rt, "born"))}
		b := Thread{anyName().Draw(rt, "owner"), anyName().Draw(rt, "id"), a.Born}
		where := place(a)
		if !filepath.IsLocal(where) {
			rt.Fatalf("the place %q leads out", where)
		}
		for e := range strings.SplitSeq(where, "/") {
			if len(e) > 255 || e == trash || e != strings.ToLower(e) {
				rt.Fatalf("the element %q of %q is too long, ours, or has capitals", e, where)
			}
		}
		if a != b && where == place(b) {
			rt.Fatalf("%q and %q have the same place %q", a, b, where)
		}
		dir := t.TempDir()
		base, err := os.OpenRoot(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer base.Close()
		for _, th := range []Thread{a, b} {
			if err := base.MkdirAll(filepath.Join(place(th), "workspace"), 0o700); err != nil {
				rt.Fatal(err)
			}
		}
		got, err := threads(base)
		if err != nil {
			rt.Fatal(err)
		}
		found := map[Thread]bool{}
		for _, th := range got {
			found[th] = true
		}
		if want := 2; a == b && len(got) != 1 || a != b && len(got) != want || !found[a] || !found[b] {
			rt.Fatalf("got %q from the names on disk, want %q and %q", got, a, b)
		}
	})
}

func TestFoldersAreForThisUserAlone(t *testing.T) {
	f, dir := folders(t)
	if _, err := os.Stat(filepath.Join(dir, "threads")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a folder was made before anybody needed one: %v", err)
	}
	open(t, f, Thread{"local", "0192-a", born})
	for _, name := range []string{"threads", "threads/local", "threads/local/0192-a.gqll7vatq8", "threads/local/0192-a.gqll7vatq8/outputs"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			entries, _ := filepath.Glob(filepath.Join(dir, "threads/*/*"))
			t.Fatalf("%v; there are %q", err, entries)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("mode of %s: got %o, want 700", name, got)
		}
	}
}

func TestARemovedThreadLeavesNothing(t *testing.T) {
	f, dir := folders(t)
	a, b := Thread{"ann", "t", born}, Thread{"ann", strings.Repeat("ü", 300), born}
	write(t, open(t, f, a), "workspace/x", "1")
	write(t, open(t, f, b), "workspace/x", "2")
	if err := f.Remove(a); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, f, b).ReadFile("workspace/x"); string(got) != "2" {
		t.Fatalf("another thread's file: got %q, %v", got, err)
	}
	if err := errors.Join(f.Remove(b), f.Remove(b), f.Remove(Thread{"nobody", "never", born})); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "threads", "[a-z]*"))
	if len(left) != 0 {
		t.Fatalf("left behind: %q", left)
	}
	trashed, _ := filepath.Glob(filepath.Join(dir, "threads", trash, "*"))
	if len(trashed) != 0 {
		t.Fatalf("left in the trash: %q", trashed)
	}
}

func TestAThreadMadeAgainUnderItsOldIDBeginsEmpty(t *testing.T) {
	f, _ := folders(t)
	write(t, open(t, f, Thread{"ann", "t", born}), "uploads/secret", "old")
	again := open(t, f, Thread{"ann", "t", born.Add(time.Microsecond)})
	if _, err := again.Stat("uploads/secret"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the old thread's file is there: %v", err)
	}
}

func TestSweepRemovesFoldersWhoseThreadIsGone(t *testing.T) {
	f, dir := folders(t)
	alive, dead, unknown := Thread{"ann", "alive", born}, Thread{"ann", "dead", born}, Thread{"bob", "unknown", born}
	for _, th := range []Thread{alive, dead, unknown} {
		write(t, open(t, f, th), "workspace/x", "1")
	}
	// A removal that a crash cut off, and somebody else's folder.
	for _, name := range []string{trash + "/half", "lost+found", "ann/Foreign"} {
		if err := os.MkdirAll(filepath.Join(dir, "threads", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("the database is damaged")
	err := f.Sweep(context.Background(), func(_ context.Context, th Thread) (bool, error) {
		if th == unknown {
			return false, failed
		}
		return th == alive, nil
	})
	if !errors.Is(err, failed) {
		t.Fatalf("got %v, want it to tell that one could not be asked for", err)
	}
	for name, want := range map[string]bool{
		place(alive): true, place(dead): false, place(unknown): true, "lost+found": true, "ann/Foreign": true, trash: false,
	} {
		if _, err := os.Stat(filepath.Join(dir, "threads", name)); (err == nil) != want {
			t.Errorf("%s: is there: %t, want %t", name, err == nil, want)
		}
	}
	if err := New(t.TempDir()).Sweep(context.Background(), nil); err != nil {
		t.Errorf("sweeping where there is nothing: %v", err)
	}
}

// Somebody deleted the database, or put an empty one into its place.
func TestSweepRemovesNothingWhereNoThreadIsKnown(t *testing.T) {
	f, dir := folders(t)
	for i := range few + 1 {
		open(t, f, Thread{"ann", strings.Repeat("x", i), born})
	}
	nobody := func(context.Context, Thread) (bool, error) { return false, nil }
	if err := f.Sweep(context.Background(), nobody); err == nil || !strings.Contains(err.Error(), "9 threads, of which none is known") {
		t.Errorf("got %v, want it to tell", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "threads/ann/*")); len(left) != few+1 {
		t.Errorf("%d folders are left, want all %d", len(left), few+1)
	}
}

func TestFoldersThatCodeHasClosedAreRemoved(t *testing.T) {
	f, dir := folders(t)
	th := Thread{"ann", "t", born}
	root := open(t, f, th)
	for _, name := range []string{"workspace/a", "workspace/a/\xff", "workspace/a/\xff/c"} {
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Skipf("the file system takes UTF-8 only: %v", err)
		}
	}
	write(t, root, "workspace/a/\xff/c/d", "1")
	for _, name := range []string{"workspace/a/\xff/c", "workspace/a/\xff", "workspace/a", "workspace"} {
		if err := root.Chmod(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Remove(th); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "threads", trash)); len(left) != 0 {
		t.Fatalf("left in the trash: %v", left)
	}
}

func TestAFolderIsFullAtItsQuota(t *testing.T) {
	f, _ := folders(t)
	root := open(t, f, Thread{"ann", "t", born})
	write(t, root, "workspace/a", "12345678")
	if err := root.MkdirAll("outputs/\xffdir", 0o700); err == nil {
		write(t, root, "outputs/\xffdir/b", "12")
	} else {
		root.Mkdir("outputs/dir", 0o700)
		write(t, root, "outputs/dir/b", "12")
	}
	if got, want := Measure(root), (Usage{10, 3}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		quota Quota
		bytes int64
		files int
		full  string
	}{
		{Quota{}, 1000, 10, ""},
		{Quota{Bytes: 11, Files: 4}, 1, 1, ""},
		{Quota{Bytes: 11, Files: 4}, 2, 1, "10 of 11 bytes"},
		{Quota{Bytes: 11, Files: 3}, 1, 1, "3 of 3 files"},
		{Quota{Bytes: 5, Files: 1}, -3, 0, ""},
		{Quota{Bytes: -1, Files: 3}, 1 << 40, 0, ""},
		{Quota{Bytes: -1, Files: -1}, 1 << 40, 1 << 30, ""},
	} {
		err := c.quota.Room(root, c.bytes, c.files)
		var full *Full
		if errors.As(err, &full) != (c.full != "") || err != nil && !strings.Contains(err.Error(), c.full) {
			t.Errorf("%+v, %d bytes and %d files more: got %v, want %q", c.quota, c.bytes, c.files, err, c.full)
		}
	}
}
