package files

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool/files/filestest"
)

// every calls all tools with a path.
func (w *world) every(p string) []item.ToolResult {
	return []item.ToolResult{
		w.call("", "ls", arguments{"path": p}),
		w.call("", "read_file", arguments{"path": p}),
		w.call("", "glob", arguments{"pattern": "**/trap.txt", "path": p}),
		w.call("", "glob", arguments{"pattern": p}),
		w.call("", "grep", arguments{"pattern": "TRAP", "path": p}),
		w.call("", "grep", arguments{"pattern": "TRAP", "glob": p}),
		w.call("", "write_file", arguments{"path": p, "content": "overwritten"}),
		w.call("", "write_file", arguments{"path": p, "content": "added", "append": true}),
		w.call("", "str_replace", arguments{"path": p, "old_str": "TRAP", "new_str": "overwritten"}),
		w.call("", "str_replace", arguments{"path": p, "old_str": "overwritten", "new_str": "x", "replace_all": true}),
		w.call("", "present_files", arguments{"filepaths": []string{p}}),
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	w := newWorld(t, Options{})
	paths := filestest.Paths(w.outer)
	for _, area := range []string{"workspace", "outputs"} {
		for name, target := range map[string]string{
			"file": "../../trap.txt", "dir": "../..", "absolute": filepath.Join(w.outer, "trap.txt"), "root": "/", "twice": "dir", "up": "..", "given": "../uploads", "loop": "loop",
		} {
			w.link(target, area+"/"+name)
		}
	}
	for _, p := range paths {
		w.intact(p, w.every(p)...)
	}
	t.Logf("%d paths", len(paths))
}

// The folder on the way is now a folder, now a link to where nothing may be written. Whatever a tool looked at first, it must
// not be taken there.
func TestALinkThatIsSwappedInIsNotFollowed(t *testing.T) {
	for name, target := range map[string]string{"outside": "../..", "uploads": "../uploads"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.put("workspace/at/trap.txt", "inside")
			w.link(target, "workspace/link")
			stop := w.swap("at", "link", "real")
			var results []item.ToolResult
			for range 30 {
				results = append(results, w.every("at/trap.txt")...)
				results = append(results, w.every("at")...)
			}
			t.Logf("%d swaps", stop())
			w.intact("swapped", results...)
		})
	}
}

// swap puts link in the place of at, and back, until it is stopped; it tells how often.
func (w *world) swap(at, link, aside string) (stop func() int) {
	place := func(name string) string { return filepath.Join(w.outer, "thread/workspace", name) }
	done, count := make(chan struct{}), 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for ; ; count++ {
			for _, move := range [][2]string{{at, aside}, {link, at}, {at, link}, {aside, at}} {
				if os.Rename(place(move[0]), place(move[1])) != nil { // a write that found nothing there has made the folder
					os.RemoveAll(place(move[1]))
					os.Rename(place(move[0]), place(move[1]))
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		return count
	}
}

// names are ones that files can have.
func names() *rapid.Generator[string] {
	element := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9 ._%~$-]{1,20}`), rapid.StringOfN(rapid.Rune(), 1, 30, 120),
		rapid.SampledFrom([]string{"workspace", "uploads", "mnt", "user-data", "...", "%2e%2e", "é", "e\u0301", " "}),
	)
	return rapid.Map(rapid.SliceOfN(element, 1, 6), func(parts []string) string { return strings.Join(parts, "/") })
}

func TestNamesAreTheSameAfterBothTranslations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := Path{rapid.SampledFrom(areas).Draw(rt, "area"), names().Draw(rt, "name")}
		if p.Name != filepath.Clean(p.Name) || !filepath.IsLocal(p.Name) || p.Name == "." || readable(p.String()) != nil {
			rt.Skip("not the name of a file")
		}
		got, err := ParsePath(p.String())
		if err != nil || got != p {
			rt.Fatalf("%q is shown as %q, which is read as %q, %v", p, p.String(), got, err)
		}
		if p.shown() != p.String() {
			rt.Fatalf("%q is listed as %q", p, p.shown())
		}
	})
}

// check holds ParsePath to its law for one text.
func check(t testing.TB, written string) {
	p, err := ParsePath(written)
	if err != nil {
		return
	}
	if back, err := ParsePath(p.String()); err != nil || back != p {
		t.Fatalf("%q is read as %q, which is shown as %q, which is read as %q, %v", written, p, p.String(), back, err)
	}
	known := p.Area == "" && p.Name == "."
	for _, a := range areas {
		known = known || p.Area == a
	}
	if !known || !filepath.IsLocal(filepath.FromSlash(p.Name)) || strings.ContainsAny(p.Name, "\x00\\\n") {
		t.Fatalf("%q is read as %q", written, p)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, p := range filestest.Paths("/tmp/outer") {
		f.Add(p)
	}
	f.Add("/mnt/user-data/workspace/a b/ü.md")
	f.Fuzz(func(t *testing.T, written string) { check(t, written) })
}

func TestPathsAreReadAsPeopleMeanThem(t *testing.T) {
	for written, want := range map[string]string{
		"notes.md": "workspace notes.md", "a/b.md": "workspace a/b.md", ".": "workspace .", "../outputs/x": "outputs x",
		"/mnt/user-data": " .", "/mnt/user-data/": " .", "/mnt/user-data/uploads/": "uploads .", "/mnt/user-data/outputs/./a//b": "outputs a/b",
		"/mnt/user-data/workspace/%2e%2e": "workspace %2e%2e", "..x": "workspace ..x", "/mnt/user-data/workspace/résumé.pdf": "workspace résumé.pdf",
	} {
		p, err := ParsePath(written)
		if got := p.Area + " " + p.Name; err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", written, got, err, want)
		}
	}
}
