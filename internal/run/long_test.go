package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// page is a text of so many bytes as the web has them: words that do not repeat, lines, quotation marks, brackets and umlauts.
func page(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < size {
		for range 2 + r.IntN(8) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		switch r.IntN(40) {
		case 0:
			b.WriteString(".\n\n## ")
		case 1:
			b.WriteString(` "ä" `)
		case 2:
			b.WriteString(" <b> & ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()[:size]
}

// sending is a model that tells what it sends, as those of providers do.
type sending struct{ model.Model }

func (m sending) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	if req.Sent != nil {
		var body bytes.Buffer
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(req.Messages); err != nil {
			panic(err)
		}
		req.Sent(body.Bytes())
	}
	return m.Model.Stream(ctx, req)
}

// reading is an agent that fetches pages, each in a call of its own, and says that it did.
func reading(pages ...string) func(context.Context, run.Run) (*graph.Graph, error) {
	type which struct{ Page int }
	set, err := tool.NewSet(tool.Func("fetch", "fetches a page", func(_ context.Context, w which) (string, error) { return pages[w.Page], nil }))
	if err != nil {
		panic(err)
	}
	m := scripted.New(func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return scripted.Say("I have read it.")
		}
		s := scripted.Say("Let me see.")
		for i := range pages {
			s = s.Call(fmt.Sprint("call_", i), "fetch", fmt.Sprintf(`{"Page":%d}`, i))
		}
		return s
	})
	return func(context.Context, run.Run) (*graph.Graph, error) {
		return agent.New(agent.Options{Model: sending{m}, Tools: set})
	}
}

// grown is how many bytes a run adds to a data folder that has seen one before, with everything in its file.
func grown(t *testing.T, pages ...string) (added int64, results []string, state string) {
	t.Helper()
	dir := t.TempDir()
	session := func(pages ...string) (id, thread string) {
		thread = newThread()
		w := open(t, dir, reading(pages...), func(o *run.Options) { o.Requests = true })
		id = w.start(thread, askAgent).ID
		if r := w.wait(id); r.Status != run.Success {
			t.Fatalf("the run is %s: %+v", r.Status, r.Error)
		}
		w.stop(0)
		return id, thread
	}
	size := func() (sum int64) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			sum += info.Size()
		}
		return sum
	}
	session("short")
	before := size()
	id, thread := session(pages...)
	added = size() - before

	w := open(t, dir, reading(pages...)) // another process, which has nothing in memory
	defer w.stop(0)
	shown := 0
	for _, env := range w.events(id) {
		if e, ok := env.Event.(event.ContextPrepared); ok {
			shown = max(shown, e.Bytes)
		}
		if e, ok := env.Event.(event.ItemEnded); ok {
			if r, ok := e.Item.(item.ToolResult); ok {
				results = append(results, item.JoinText(r.Content))
			}
		}
	}
	if shown < len(pages[0]) {
		t.Errorf("the model was shown %d bytes at most, and the page has %d", shown, len(pages[0]))
	}
	snap, err := w.db.Load(t.Context(), thread, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := w.db.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("the check finds %v, %v", found, err)
	}
	return added, results, string(snap.Values["messages"])
}

// A page that a tool fetched is in the event of its result, in that of the node's update, in the state and in what the model is
// shown; on disk it is there once and a little.
func TestAFetchedPageOf100kBTakes220kBAtMost(t *testing.T) {
	const size, most = 100_000, 220_000
	text := page(1, size)
	got, results, state := grown(t, text)
	if len(results) != 1 || results[0] != text {
		t.Errorf("there are %d results in the journal, or not of the text that was fetched", len(results))
	}
	var messages []struct{ Content any }
	if err := json.Unmarshal([]byte(state), &messages); err != nil || len(messages) != 4 || fmt.Sprint(messages[2].Content) != text {
		t.Errorf("the state has %d messages, or another text than was fetched: %v", len(messages), err)
	}
	t.Logf("%d bytes on disk for %d", got, size)
	if got > most {
		t.Errorf("a page of %d bytes takes %d on disk, want at most %d", size, got, most)
	}
}

// Of several pages in one step each finished call is kept until all are, and then what led to the checkpoint.
func TestPagesThatAreFetchedAtTheSameTimeTakeNoMore(t *testing.T) {
	const size, most = 100_000, 3 * 180_000
	var pages []string
	for i := range 3 {
		pages = append(pages, page(uint64(i), size))
	}
	got, results, _ := grown(t, pages...)
	if len(results) != len(pages) {
		t.Errorf("there are %d results in the journal, want %d", len(results), len(pages))
	}
	t.Logf("%d bytes on disk for %d", got, 3*size)
	if got > most {
		t.Errorf("three pages of %d bytes take %d on disk, want at most %d", size, got, most)
	}
}
