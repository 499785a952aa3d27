package files

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
)

// corpus are paths that want to get out. %s is the real folder that has the trap.
var corpus = []string{
	// dots
	"../trap.txt", "../../trap.txt", "../../../trap.txt", "./../trap.txt", "a/../../trap.txt", "a/b/../../../../trap.txt", "..", "../..", "../../..",
	"....//....//trap.txt", "..././..././trap.txt", ".../trap.txt", "..;/..;/trap.txt", "../uploads/../../trap.txt", "a/./.././../trap.txt",
	"/mnt/user-data/../trap.txt", "/mnt/user-data/workspace/../../trap.txt", "/mnt/user-data/workspace/../trap.txt", "/mnt/user-data/outputs/../../../trap.txt",
	"/mnt/user-data/workspace/../../user-data/../trap.txt", "/mnt/user-data/trap.txt", "/mnt/user-data/./trap.txt", "/mnt/user-data//../trap.txt",
	"/mnt/user-data/workspacex/../../trap.txt", "/mnt/user-data/workspace../trap.txt", "/mnt/user-data-evil/workspace/trap.txt", "/mnt/user-datax/trap.txt",
	// absolute
	"/trap.txt", "//trap.txt", "/etc/passwd", "//etc/passwd", "/proc/self/environ", "/proc/self/root/trap.txt", "/dev/null", "/mnt", "/", "//", "%s/trap.txt", "/%s/trap.txt", "%s", "%s/thread/trap.txt",
	"/mnt/user-data/workspace/%s/trap.txt", "/mnt/user-data/workspace//%s/../trap.txt", "file://%s/trap.txt", "file:///etc/passwd", "~/trap.txt", "~root/.ssh/id_rsa", "$HOME/trap.txt", "${PWD}/../trap.txt",
	// encoded, twice encoded, overlong
	"%%2e%%2e%%2ftrap.txt", "%%2e%%2e/%%2e%%2e/trap.txt", "..%%2ftrap.txt", "..%%2f..%%2ftrap.txt", "%%252e%%252e%%252ftrap.txt", "..%%252f..%%252ftrap.txt", "%%25252e%%25252e/trap.txt", "..%%c0%%aftrap.txt", "..%%c1%%9ctrap.txt", "%%c0%%ae%%c0%%ae/trap.txt",
	"/mnt/user-data/workspace/%%2e%%2e/%%2e%%2e/trap.txt", "%%u002e%%u002e/trap.txt", "&#46;&#46;/trap.txt", `\u002e\u002e/trap.txt`, "..\xc0\xaf..\xc0\xaftrap.txt", "\xc0\xae\xc0\xae/trap.txt", "=2E=2E/trap.txt",
	// backslashes and other systems
	`..\trap.txt`, `..\..\trap.txt`, `\..\trap.txt`, `\mnt\user-data\workspace\..\..\trap.txt`, `..\/..\/trap.txt`, `/mnt/user-data\..\..\trap.txt`, `C:\trap.txt`, "C:/trap.txt", "C:trap.txt", `\\?\C:\trap.txt`, `\\server\share\trap.txt`, `..%%5ctrap.txt`, `..%%255ctrap.txt`,
	// bytes that end or break a name
	"trap.txt\x00", "../trap.txt\x00.md", "\x00../trap.txt", "a\x00/../../trap.txt", "/mnt/user-data/workspace/\x00/../../../trap.txt", "..\x00/trap.txt", "../trap.txt%%00.md", "..\n/trap.txt", "../trap.txt\r\n", "\t../trap.txt", "..\u2028/trap.txt", "\x1b[2K../trap.txt", "\x7f../trap.txt",
	// look-alikes
	"․․/trap.txt", "‥/trap.txt", "…/trap.txt", "．．/trap.txt", "．．／trap.txt", "..∕trap.txt", "..⁄trap.txt", "..／..／trap.txt", "..＼trap.txt", "。。/trap.txt", ".\u200b./trap.txt", ".\u200d./trap.txt", "\u202e../trap.txt", "\ufeff../trap.txt", "..\u00a0/trap.txt", ".\u0307/trap.txt",
	"/mnt/user-dаta/trap.txt", "/mnt／user-data/trap.txt", "/ｍnt/user-data/../trap.txt",
	// spaces and ends
	" ../trap.txt", ".. /trap.txt", "../trap.txt ", "../trap.txt/", "../trap.txt/.", "../trap.txt.", "..../trap.txt", ". ./trap.txt", "../trap.txt::$DATA", "../trap.txt:stream",
	// links that are there
	"file", "dir/trap.txt", "dir", "absolute", "root/etc/passwd", "twice", "twice/trap.txt", "up/trap.txt", "up/uploads/trap.txt", "up/thread/trap.txt", "given/new.txt", "loop", "loop/trap.txt", "dir/../trap.txt", "up/../trap.txt",
	"/mnt/user-data/workspace/file", "/mnt/user-data/workspace/dir/trap.txt", "/mnt/user-data/workspace/given/new.txt", "/mnt/user-data/outputs/dir/trap.txt", "/mnt/user-data/outputs/file",
	// uploads are for reading
	"/mnt/user-data/uploads/new.txt", "../uploads/new.txt", "/mnt/user-data/workspace/../uploads/new.txt", "/mnt/user-data/uploads", "/mnt/user-data/outputs/../uploads/a/new.txt", "given",
}

func hostile(outer string) []string {
	out := []string{
		strings.Repeat("../", 1000) + "trap.txt", strings.Repeat("a/", 1000) + strings.Repeat("../", 1002) + "trap.txt", strings.Repeat("a", 300), strings.Repeat("a", 300) + "/../../trap.txt",
		strings.Repeat("x/", 5000) + "trap.txt", "/" + strings.Repeat("/", 4000) + "trap.txt", strings.Repeat("ü", 200), "",
	}
	for _, c := range corpus {
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(c, "%s", outer), "%%", "%"))
	}
	return out
}

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
	paths := hostile(w.outer)
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
	for _, p := range hostile("/tmp/outer") {
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
