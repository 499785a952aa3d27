package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened(t *testing.T, opts Options) *Index {
	t.Helper()
	ix, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return ix
}

func docs() fstest.MapFS {
	return fstest.MapFS{
		"journal.md":        {Data: []byte("# The journal\n\nA journal is an ordered list of events.\n\n## Resuming\n\nA reader resumes after the position that it names.\n")},
		"storage/sqlite.md": {Data: []byte("# Storage\n\nSQLite keeps the journal and the checkpoints in one file. Café ist naïve.\n")},
		"中文/日志.md":          {Data: []byte("# 日志\n\n日志是一个有序的事件列表。\n\n## 恢复\n\n读者可以从任意位置恢复阅读。\n")},
		"readme.txt":        {Data: []byte("Plain text about nothing in particular.")},
		".git/secret.md":    {Data: []byte("journal secret")},
		"image.png":         {Data: []byte("journal")},
		"binary.txt":        {Data: []byte("journal\x00\x01")},
	}
}

func locations(t *testing.T, ix *Index, query string) []string {
	t.Helper()
	found, err := ix.Search(t.Context(), query, 20)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range found {
		out = append(out, p.Location())
	}
	return out
}

func TestSearching(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{Label: "docs", FS: docs()}}})
	for query, want := range map[string][]string{
		"ordered events":         {"docs/journal.md#the-journal"},
		"RESUME":                 {"docs/journal.md#resuming"}, // by its stem: the heading and the text say it otherwise
		"reader resumed":         {"docs/journal.md#resuming"},
		"checkpoint":             {"docs/storage/sqlite.md#storage"},
		"cafe naive":             {"docs/storage/sqlite.md#storage"},
		"日志":                     {"docs/中文/日志.md#日志", "docs/中文/日志.md#恢复"}, // the title counts for each of its passages
		"如何恢复？":                  {"docs/中文/日志.md#恢复"},
		"意":                      {"docs/中文/日志.md#恢复"},
		"读":                      {"docs/中文/日志.md#恢复"},
		"表":                      {"docs/中文/日志.md#日志"}, // the last character of its run
		"secret":                 nil,
		"nonexistent":            nil,
		"":                       nil,
		`"`:                      nil,
		"- ( ) * ^ : {}":         nil,
		`text: "particular" NOT`: {"docs/readme.txt"},
		"nonexistent particular": {"docs/readme.txt"},
		"journal OR (a, b)":      {"docs/journal.md#the-journal", "docs/journal.md#resuming", "docs/storage/sqlite.md#storage"},
	} {
		got := locations(t, ix, query)
		if query == "日志" || strings.HasPrefix(query, "journal OR") { // any order between a title's own passages
			slices.Sort(got)
			want = slices.Sorted(slices.Values(want))
			if strings.HasPrefix(query, "journal OR") { // "or", "a" and "title" are words like others
				for _, w := range want {
					if !slices.Contains(got, w) {
						t.Errorf("%q finds %q, which lacks %q", query, got, w)
					}
				}
				continue
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

func TestRanking(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{FS: fstest.MapFS{
		"body.md":  {Data: []byte("# Other\n\nLeases are renewed by their holder; a lease ends when nobody renews it. Every lease has an owner.")},
		"head.md":  {Data: []byte("# Things\n\n## Lease\n\nIt is renewed by its holder, and it ends when nobody cares for it any longer. It has one.")},
		"both.md":  {Data: []byte("# Misc\n\nThe lease of a run and its epoch guard each append. " + strings.Repeat("More words follow here. ", 20))},
		"epoch.md": {Data: []byte("# Epoch\n\n## Epoch\n\nAn epoch is a number.")},
		"other.md": {Data: []byte("# Misc\n\nNothing of the kind.")},
	}}}})
	if got := locations(t, ix, "lease"); len(got) != 3 || got[0] != "head.md#lease" {
		t.Errorf("lease: %q, want the heading first", got)
	}
	if got := locations(t, ix, "lease epoch"); len(got) != 4 || got[0] != "both.md#misc" {
		t.Errorf("lease epoch: %q, want the one with both words first", got)
	}
}

func TestLimit(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 30 {
		files[fmt.Sprintf("%02d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# T%d\n\nThe same subject, number %d.", i, i)}
	}
	files["copy.md"] = files["00.md"]
	ix := opened(t, Options{Sources: []Source{{FS: files}}})
	for limit, want := range map[int]int{-1: 1, 0: 1, 1: 1, 7: 7, 20: 20, 1000: 20} {
		if found, err := ix.Search(t.Context(), "subject", limit); err != nil || len(found) != want {
			t.Errorf("limit %d gives %d passages (%v), want %d", limit, len(found), err, want)
		}
	}
	if found, _ := ix.Search(t.Context(), "number 0", 20); found[0].Text == found[1].Text {
		t.Error("the same text is found twice")
	}
}

// Many equal scores, and more of them than the limit: which are shown must not depend on how the index came about.
func TestTiesDoNotDependOnHistory(t *testing.T) {
	files := fstest.MapFS{}
	page := func(i int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "The same subject, number a%02d.", i)}
	}
	for i := range 60 {
		files[fmt.Sprintf("%02d.md", i)] = page(i)
	}
	fresh := locations(t, opened(t, Options{Sources: []Source{{FS: files}}}), "subject")
	aged := fstest.MapFS{}
	ix := opened(t, Options{Sources: []Source{{FS: aged}}})
	for i := 59; i >= 0; i-- {
		aged[fmt.Sprintf("%02d.md", i)] = page(i)
		aged["temporary.md"] = page(100 + i)
		if _, err := ix.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	delete(aged, "temporary.md")
	if _, err := ix.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := locations(t, ix, "subject"); !slices.Equal(got, fresh) {
		t.Errorf("an index with a history finds %q, a fresh one %q", got, fresh)
	}
}

func TestPassagesSayWhereTheyStand(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{Label: "docs", FS: docs()}}})
	found, err := ix.Search(t.Context(), "reader", 5)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	want := Passage{Title: "The journal", Trail: []string{"Resuming"}, Path: "docs/journal.md", Anchor: "resuming", Line: 7, Text: "A reader resumes after the position that it names.", Hits: []Span{{2, 8}}}
	if got := found[0]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRefreshSeesWhatChanged(t *testing.T) {
	for _, where := range []string{"memory", "file"} {
		t.Run(where, func(t *testing.T) {
			opts := Options{Sources: []Source{{FS: docs()}}}
			if where == "file" {
				opts.Path = filepath.Join(t.TempDir(), "a b#1?.db")
			}
			files := opts.Sources[0].FS.(fstest.MapFS)
			var told []Progress
			opts.Progress = func(p Progress) { told = append(told, p) }
			ix := opened(t, opts)
			if len(told) != 5 || told[4].Done != 5 || told[4].Total != 5 || told[0].Path == "" {
				t.Errorf("progress %v", told)
			}
			files["journal.md"] = &fstest.MapFile{Data: []byte("# The journal\n\nNow about penguins.")}
			delete(files, "中文/日志.md")
			files["new.md"] = &fstest.MapFile{Data: []byte("A new page on ordered things.")}
			got, err := ix.Refresh(t.Context())
			if err != nil || got != (Changes{Added: 1, Changed: 1, Removed: 1}) {
				t.Errorf("changes %+v, %v", got, err)
			}
			if got := locations(t, ix, "ordered events"); !slices.Equal(got, []string{"new.md"}) {
				t.Errorf("after the refresh: %q", got)
			}
			if got := locations(t, ix, "日志"); got != nil {
				t.Errorf("a deleted file is found: %q", got)
			}
			if got := locations(t, ix, "penguin"); !slices.Equal(got, []string{"journal.md#the-journal"}) {
				t.Errorf("the changed file is not found: %q", got)
			}
			var words, passages int
			if err := ix.db.QueryRow("SELECT (SELECT sum(length(replace(hex(lengths), '00', ''))/2) FROM segments), (SELECT count(*) FROM passages)").Scan(&words, &passages); err != nil || words != passages {
				t.Errorf("the words of %d passages are kept, and there are %d (%v)", words, passages, err)
			}
			if got, err := ix.Refresh(t.Context()); err != nil || got != (Changes{}) {
				t.Errorf("a second refresh finds changes: %+v, %v", got, err)
			}
		})
	}
}

// counting counts how often files are opened for reading.
type counting struct {
	fs.FS
	mu    sync.Mutex
	reads []string
}

func (c *counting) ReadFile(name string) ([]byte, error) {
	c.mu.Lock()
	c.reads = append(c.reads, name)
	c.mu.Unlock()
	return fs.ReadFile(c.FS, name)
}

func TestReopeningReadsOnlyWhatMayHaveChanged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, age time.Duration) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(p, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("old.md", "an old page", time.Hour)
	write("touched.md", "a page", time.Hour)
	write("fresh.md", "written just now", 0)
	write("gone.md", "soon gone", time.Hour)
	db := filepath.Join(t.TempDir(), "index.db")
	src := &counting{FS: os.DirFS(dir)}
	opts := Options{Path: db, Sources: []Source{{Label: "d", FS: src}, {Label: "e", FS: docs()}}}
	ix, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	write("touched.md", "a page", time.Minute)
	if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	src.reads = nil
	opts.Sources = opts.Sources[:1]
	ix = opened(t, opts)
	// A file written just before it was read may be written again within the same tick, so it is read once more.
	if want := []string{"fresh.md", "touched.md"}; !slices.Equal(src.reads, want) {
		t.Errorf("read %q, want %q", src.reads, want)
	}
	files, passages, err := ix.Stats(t.Context())
	if err != nil || files != 3 || passages != 3 {
		t.Errorf("%d files, %d passages, %v; the removed source and file should be gone", files, passages, err)
	}
}

func TestChangesAreSeenWhileWatching(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(-time.Hour)
		write := func(name, text string, at time.Time) {
			t.Helper()
			p := filepath.Join(dir, name)
			if err := errors.Join(os.WriteFile(p, []byte(text), 0o600), os.Chtimes(p, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		write("a.md", "About penguins.", at)
		write("gone.md", "About walruses.", at)
		src := &counting{FS: os.DirFS(dir)}
		ix, err := Open(t.Context(), Options{Sources: []Source{{FS: src}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); ix.Watch(ctx, time.Second) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		src.mu.Lock()
		if len(src.reads) != 2 {
			t.Errorf("read %q while nothing changed", src.reads)
		}
		src.mu.Unlock()
		write("a.md", "About seals.", at.Add(time.Minute))
		write("new.md", "About otters.", at)
		if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for query, want := range map[string]int{"penguins": 0, "walruses": 0, "seals": 1, "otters": 1} {
			if got := locations(t, ix, query); len(got) != want {
				t.Errorf("%s: found %q, want %d", query, got, want)
			}
		}
		cancel()
		<-done
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	files := docs()
	files["locked.docx"] = &fstest.MapFile{Data: []byte("\xD0\xCF\x11\xE0E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")}
	files["huge.md"] = &fstest.MapFile{Data: make([]byte, 5000)}
	want := []LeftOut{
		{"unknown format", 2, "binary.txt: it is not text: it has bytes that no text has"},
		{"protected", 1, "locked.docx: it is locked with a password; save a copy without one"},
		{"too large", 1, "huge.md"},
	}
	opts := Options{Path: filepath.Join(t.TempDir(), "i.db"), Sources: []Source{{FS: files}}, MaxFileSize: 4000}
	for _, when := range []string{"first", "again"} { // what could not be read is remembered
		ix, err := Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		got := ix.LeftOut()
		got[0].Example = want[0].Example // either of the two
		if !slices.Equal(got, want) {
			t.Errorf("%s: left out %+v, want %+v", when, got, want)
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	delete(files, "locked.docx")
	if got := opened(t, opts).LeftOut(); len(got) != 2 {
		t.Errorf("left out %+v after one is gone", got)
	}
}

func TestCommentsAreNotQuotedAndAnchorsAreTheAuthors(t *testing.T) {
	text := "# Guide {#top}\n\nBefore <!-- secret --> after. `<!-- shown -->` too.\n\n<!--\nsecret\n\n## secret\n-->\n\n## Fees and more {#fees .wide}\n\nCost.\n\n" +
		"## <a name=\"old\"></a>Older\n\n```html\n<!-- code -->\n```\n\n## Plain heading\n\nText <!-- never closed\n"
	var got []string
	for _, p := range Split("g.md", text) {
		got = append(got, fmt.Sprintf("%d %s %s | %s", p.Line, p.Location(), p.Heading(), strings.ReplaceAll(p.Text, "\n", "/")))
	}
	want := []string{
		"3 g.md#top Guide | Before  after. `<!-- shown -->` too.",
		"13 g.md#fees Guide › Fees and more | Cost.",
		"17 g.md#old Guide › Older | ```html/<!-- code -->/```",
		"23 g.md#plain-heading Guide › Plain heading | Text <!-- never closed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSnippetsMarkTheHits(t *testing.T) {
	long := strings.Repeat("Nothing of interest stands here. ", 20) + "A reader resumes after the position. " + strings.Repeat("And more follows. ", 20)
	ix := opened(t, Options{Sources: []Source{{FS: fstest.MapFS{"a.md": {Data: []byte(long)}, "b.md": {Data: []byte("日志是有序的事件。")}}}}})
	for query, want := range map[string]string{"reader resuming": "A «reader» «resumes» after", "日志事件": "«日志»是有序的«事件»。"} {
		found, err := ix.Search(t.Context(), query, 1)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", query, found, err)
		}
		if got := found[0].Snippet("«", "»"); !strings.Contains(got, want) || len(got) > 2*snippetSize {
			t.Errorf("snippet %q, want %q in it", got, want)
		}
	}
}

func TestOpeningRefuses(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign.db")
	db, err := open(t.Context(), foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA application_id = 7"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for want, opts := range map[string]Options{
		"database of something else": {Path: foreign},
		"two folders are labelled":   {Sources: []Source{{FS: docs()}, {FS: docs()}}},
		"file does not exist":        {Sources: []Source{{Label: "x", FS: mustSub(t, os.DirFS(dir), "missing")}}},
	} {
		if ix, err := Open(t.Context(), opts); err == nil {
			ix.Close()
			t.Errorf("opened, want an error with %q", want)
		} else if !strings.Contains(err.Error(), want) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %q, want %q in it", err, want)
		}
	}
}

func mustSub(t *testing.T, fsys fs.FS, dir string) fs.FS {
	t.Helper()
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestAnOlderIndexIsBuiltAnew(t *testing.T) {
	opts := Options{Path: filepath.Join(t.TempDir(), "i.db"), Sources: []Source{{FS: docs()}}}
	ix, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ix.db.Exec("PRAGMA user_version = 0; DELETE FROM terms"); err != nil {
		t.Fatal(err)
	}
	ix.Close()
	if got := locations(t, opened(t, opts), "checkpoint"); len(got) != 1 {
		t.Errorf("found %q", got)
	}
}

func TestCancellingStopsTheIndexing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opts := Options{Path: filepath.Join(t.TempDir(), "i.db"), Sources: []Source{{FS: docs()}}, Progress: func(Progress) { cancel() }}
	if _, err := Open(ctx, opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a cancelled context", err)
	}
	opts.Progress = nil
	if got := locations(t, opened(t, opts), "checkpoint"); len(got) != 1 {
		t.Errorf("after going on: %q", got)
	}
}

func TestSearchingWhileRefreshing(t *testing.T) {
	ix := opened(t, Options{Path: filepath.Join(t.TempDir(), "i.db"), Sources: []Source{{FS: docs()}}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if got, err := ix.Search(t.Context(), "checkpoint", 3); err != nil || len(got) != 1 {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
		wg.Go(func() {
			if _, err := ix.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestTheTool(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{Label: "docs", FS: docs()}}})
	tl := ix.Tool()
	if spec := tl.Spec(); spec.Name != "search" || !spec.Repeatable {
		t.Errorf("spec %+v", spec)
	}
	call := func(args string) item.ToolResult {
		t.Helper()
		res, err := tool.Invoke(t.Context(), tl, tool.Call{ID: "c1", Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := call(`{"query":"journal","limit":2}`)
	if res.Error || len(res.Content) != 2 || len(res.Blocks) != 2 {
		t.Fatalf("result %+v", res)
	}
	for i := range res.Content {
		model, person := res.Content[i], res.Blocks[i]
		if !strings.HasSuffix(model.Text, "\n\n"+person.Text) || !strings.HasPrefix(model.Text, "Source: ") || !strings.Contains(model.Text, person.URL) {
			t.Errorf("views of passage %d differ: %q and %q", i, model.Text, person.Text)
		}
		if person.Ref != i+1 || model.Ref != i+1 || person.Name == "" || !strings.HasPrefix(person.URL, "docs/") {
			t.Errorf("block %+v", person)
		}
	}
	if got := res.Blocks[0].Name; got != "The journal — docs/journal.md#the-journal" {
		t.Errorf("name %q", got)
	}
	if got := res.Content[0].Text; !strings.HasPrefix(got, "Source: The journal (docs/journal.md#the-journal, line 3)\n\n") {
		t.Errorf("model view %q", got)
	}
	res = call(`{"query":"xyzzy"}`)
	if res.Error || len(res.Content) != 1 || res.Content[0].URL != "" || !strings.Contains(res.Content[0].Text, `No passage of the documents matches "xyzzy"`) {
		t.Errorf("nothing found: %+v", res)
	}
	if res = call(`{"q":"x"}`); !res.Error {
		t.Errorf("arguments of another tool were accepted: %+v", res)
	}
}

// Whatever is typed: it is words, never an error, and what is found is where it is said to be.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{`a" OR "b`, "title:x", "NEAR(a b, 3)", "日志 AND 恢复", "a*", "^a", "-a +b", "\x00", "'; DROP TABLE files; --", "é\u0301", "ｆｕｌｌ", "カタカナ", "\xff"} {
		f.Add(s)
	}
	ix, err := Open(context.Background(), Options{Sources: []Source{{FS: docs()}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ix.Close() })
	f.Fuzz(func(t *testing.T, query string) {
		found, err := ix.Search(t.Context(), query, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			last := 0
			for _, h := range p.Hits {
				if h.From < last || h.To <= h.From || h.To > len(p.Text) || !utf8.ValidString(p.Text[h.From:h.To]) {
					t.Fatalf("hits %v of %q", p.Hits, p.Text)
				}
				last = h.To
			}
			if s := p.Snippet("<", ">"); !utf8.ValidString(s) {
				t.Fatalf("snippet %q", s)
			}
		}
		if _, err := ix.Missing(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	})
}
