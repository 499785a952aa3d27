package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// inFolder is the scope of calls in a thread that has a folder.
type inFolder struct {
	tool.Scope
	folder *os.Root
}

func (w inFolder) Folder() (*os.Root, error) {
	if w.folder == nil {
		return nil, errors.New("this runtime keeps no files")
	}
	return w.folder, nil
}

// conversation is a thread with a folder, and the tools of one.
type conversation struct {
	*testing.T
	dir    string
	scope  inFolder
	search tool.Tool
	fetch  tool.Tool
	calls  int
}

// site is what a tool reads that stands for the web.
type site map[string]string

func (s site) tool() tool.Tool {
	type arguments struct {
		URL  string `json:"url"`
		Part int    `json:"part,omitempty"`
	}
	return Keep(tool.Func("read_page", "Reads a page.", func(_ context.Context, in arguments) (item.ToolResult, error) {
		text, ok := s[fmt.Sprint(in.URL, in.Part)]
		if !ok {
			return item.ToolResult{}, errors.New("there is no such page")
		}
		b := item.Block{Type: item.TextBlock, Ref: 1, Text: text, Name: "A \"quoted\" title", URL: in.URL, Author: "A. Person", Date: "2026-01-02"}
		return item.ToolResult{Content: []item.Block{b}, Blocks: []item.Block{b, {Type: item.TextBlock, Text: "A remark about marmalade."}}}, nil
	}))
}

func newConversation(t *testing.T, ix *Index, fetch tool.Tool) *conversation {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	areas := Area{Folder: "uploads", Label: "/mnt/user-data/uploads"}
	return &conversation{t, dir, inFolder{folder: root}, ToolOf(func(context.Context) (*Index, error) { return ix, nil }, areas), fetch, 0}
}

func (c *conversation) call(t tool.Tool, arguments string) item.ToolResult {
	c.Helper()
	c.calls++
	res, err := tool.Invoke(c.Context(), t, tool.Call{ID: fmt.Sprint("c", c.calls), Run: "r", Arguments: json.RawMessage(arguments), Scope: c.scope})
	if err != nil {
		c.Fatal(err)
	}
	return res
}

// finds checks where the passages that a search finds stand, the best first.
func (c *conversation) finds(query string, want ...string) item.ToolResult {
	c.Helper()
	res := c.call(c.search, `{"query":"`+query+`"}`)
	var got []string
	for _, b := range res.Blocks {
		if b.Ref > 0 {
			got = append(got, b.URL)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("%s: found %q, want %q", query, got, want)
	}
	return res
}

func (c *conversation) put(name, text string) {
	c.Helper()
	at := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
		c.Fatal(err)
	}
}

func TestAConversationFindsWhatWasUploadedToItAndNobodyElseDoes(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{Label: "docs", FS: docs()}}})
	anna, bert := newConversation(t, ix, nil), newConversation(t, ix, nil)
	anna.finds("harbour dues for sailing boats")
	anna.put("uploads/dues.html", "<h1>Harbour dues</h1><p>Sailing boats pay four euros each night, and their text lies beside this.")
	anna.put("uploads/dues.html.md", "# Harbour dues\n\nSailing boats pay four euros a night.\n")
	anna.put("workspace/notes.md", "# Harbour dues for sailing boats\n\nThe agent's own notes.\n")
	res := anna.finds("harbour dues for sailing boats", "/mnt/user-data/uploads/dues.html.md#harbour-dues")
	if got, want := res.Content[0].Text, "Source: Harbour dues (/mnt/user-data/uploads/dues.html.md#harbour-dues, line 3)\n\nSailing boats pay four euros a night."; got != want {
		t.Errorf("the model is shown %q, want %q", got, want)
	}
	bert.finds("harbour dues for sailing boats")
	anna.put("uploads/journal.txt", "The journal of the harbour master.\n")
	if res := anna.call(anna.search, `{"query":"journal"}`); len(res.Blocks) < 2 || res.Blocks[0].URL != "/mnt/user-data/uploads/journal.txt" || !strings.HasPrefix(res.Blocks[1].URL, "docs/") || res.Blocks[1].Ref != 2 {
		t.Errorf("of both, the conversation's own first: got %+v", res.Blocks)
	}
	if res := anna.call(anna.search, `{"query":"journal","limit":1}`); len(res.Blocks) != 1 {
		t.Errorf("%d passages, want 1", len(res.Blocks))
	}
	if err := os.Remove(filepath.Join(anna.dir, "uploads/dues.html.md")); err != nil {
		t.Fatal(err)
	}
	if res := anna.finds("harbour zebras giraffes lions"); !strings.Contains(res.Content[0].Text, "No document has: zebras, giraffes, lions.") {
		t.Errorf("harbour is a word of an upload, zebra is none of any: got %q", res.Content[0].Text)
	}
	anna.scope.folder = nil
	anna.finds("harbour dues for sailing boats")
}

func TestAPageThatWasReadIsFoundInItsConversationByItsAddress(t *testing.T) {
	ix := opened(t, Options{Sources: []Source{{Label: "docs", FS: docs()}}})
	web := site{
		"https://example.org/otters?a=1#x0": "# Animals\n\nOtters hold hands while they sleep.\n\n## Food {#food}\n\nThey eat urchins.",
		"https://example.org/otters?a=1#x2": "The second part is about kelp.",
		"file:///etc/passwd0":               "Otters of root.",
	}
	anna, bert := newConversation(t, ix, web.tool()), newConversation(t, ix, web.tool())
	const page = "https://example.org/otters?a=1#x"
	anna.finds("do otters hold hands")
	anna.call(anna.fetch, `{"url":"`+page+`"}`)
	anna.call(anna.fetch, `{"url":"`+page+`","part":2}`)
	anna.call(anna.fetch, `{"url":"file:///etc/passwd"}`)
	if res := anna.call(anna.fetch, `{"url":"https://example.org/none"}`); !res.Error {
		t.Errorf("a page that is not there: got %+v", res)
	}
	res := anna.finds("do otters hold hands", page)
	if b := res.Blocks[0]; b.Author != "A. Person" || b.Date != "2026-01-02" || b.Text != "Otters hold hands while they sleep." {
		t.Errorf("it is cited as %+v", b)
	}
	anna.finds("which urchins are eaten", page)
	anna.finds("kelp", page)
	anna.finds("marmalade") // a remark of the tool's own
	bert.finds("do otters hold hands")
	web["https://example.org/otters?a=1#x0"] = "# Seals\n\nSeals bark."
	anna.call(anna.fetch, `{"url":"`+page+`"}`)
	anna.finds("do otters hold hands")
	anna.finds("seals bark", page)
	anna.scope.folder = nil
	if res := anna.call(anna.fetch, `{"url":"`+page+`"}`); res.Error {
		t.Errorf("without a folder nothing is read: %+v", res)
	}
}

func TestOfTheNewestPagesOnlySoManyAreKept(t *testing.T) {
	web := site{}
	for i := range mostPages + 5 {
		web[fmt.Sprintf("https://example.org/%d0", i)] = fmt.Sprintf("Page number%d.", i)
	}
	ix := opened(t, Options{Sources: []Source{{Label: "docs", FS: docs()}}})
	c := newConversation(t, ix, web.tool())
	long := time.Now().Add(-time.Hour)
	for i := range mostPages + 5 {
		c.call(c.fetch, fmt.Sprintf(`{"url":"https://example.org/%d"}`, i))
		entries, err := os.ReadDir(filepath.Join(c.dir, pages))
		if err != nil || len(entries) != min(i+1, mostPages) {
			t.Fatalf("after %d pages there are %d, %v", i+1, len(entries), err)
		}
		for _, e := range entries { // the clock may stand still between two of them
			if info, err := e.Info(); err == nil && info.ModTime().After(long.Add(time.Minute*30)) {
				at := long.Add(time.Duration(i) * time.Second)
				if err := os.Chtimes(filepath.Join(c.dir, pages, e.Name()), at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	c.finds("number4")
	c.finds("number5", "https://example.org/5")
}
