package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

func TestMain(m *testing.M) {
	providertest.ServeElsewhere()
	goleak.VerifyTestMain(m)
}

// recording is one recorded answer, framed as its provider frames it.
type recording struct {
	name string // provider/story
	kind string // content type
	body []byte
}

func (r recording) responses() bool { return strings.HasPrefix(r.name, "openai-responses/") }

func recordings(t testing.TB) []recording {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(f), "testdata/")
		r := recording{kind: "text/event-stream; charset=utf-8", body: data}
		switch {
		case strings.HasPrefix(name, "golden/"), strings.HasPrefix(name, "shapes/"), strings.HasPrefix(name, "requests/"), strings.HasPrefix(name, "fuzz/"):
			continue
		case strings.HasSuffix(name, ".sse"):
			r.name = strings.TrimSuffix(name, ".sse")
		case strings.HasSuffix(name, ".ndjson"):
			r.name = strings.TrimSuffix(name, ".ndjson")
			r.kind = "application/x-ndjson"
		case strings.HasSuffix(name, ".chunks.jsonl"):
			r.name = strings.TrimSuffix(name, ".chunks.jsonl")
			r.body = frame(t, data, r.responses())
		}
		all = append(all, r)
	}
	if len(all) < 25 {
		t.Fatalf("only %d recordings found", len(all))
	}
	return all
}

// frame puts payloads into the frames of their wire.
func frame(t testing.TB, lines []byte, named bool) []byte {
	t.Helper()
	var b bytes.Buffer
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSpace(line)
		if named {
			var ev struct{ Type string }
			if err := json.Unmarshal(line, &ev); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "event: %s\n", ev.Type)
		}
		fmt.Fprintf(&b, "data: %s\n\n", line)
	}
	if !named {
		b.WriteString("data: [DONE]\n\n")
	}
	return b.Bytes()
}

// cuts are ways to send a body in pieces; each piece is flushed.
var cuts = map[string]func([]byte) [][]byte{
	"whole":        func(b []byte) [][]byte { return [][]byte{b} },
	"line by line": func(b []byte) [][]byte { return slices.Collect(bytes.Lines(b)) },
	"byte by byte": func(b []byte) [][]byte { return slices.Collect(slices.Chunk(b, 1)) },
	"mid-line":     func(b []byte) [][]byte { return slices.Collect(slices.Chunk(b, 97)) },
	"mid-UTF-8": func(b []byte) (out [][]byte) { // inside every character of several bytes
		start := 0
		for i, c := range b {
			if c&0xC0 == 0x80 {
				out = append(out, b[start:i])
				start = i
			}
		}
		return append(out, b[start:])
	},
}

// serve answers every request with the pieces of a body.
func serve(t testing.TB, kind string, pieces [][]byte) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		for _, p := range pieces {
			if _, err := w.Write(p); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// options point at a test server, with a client whose connections end with the test.
func options(t testing.TB, srv *httptest.Server) Options {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return Options{Model: "m", BaseURL: srv.URL + "/v1", Provider: "test", Key: NewKey(canary), HTTPClient: client}
}

const canary = "sk-canary-0123456789abcdef"

func open(responses bool, o Options) model.Model {
	if responses {
		return Responses(o)
	}
	return Chat(o)
}

var hello = model.Request{Messages: []item.Message{item.UserText("1", "hello")}}

// reply is what an answer amounts to.
type reply struct {
	Text      map[int]string
	Reasoning map[[2]int]string
	Sealed    map[int]string // signature, encrypted content and id of reasoning items
	Calls     []item.ToolCall
	Images    []model.Image
	Kept      []json.RawMessage
	Cites     []model.Annotation
	Usage     *item.Usage
	Finish    *model.Finish
	Err       error
	parts     []model.Part
}

// collect reads an answer and checks the laws of model.Stream on the way.
func collect(t testing.TB, ctx context.Context, m model.Model, req model.Request) reply {
	t.Helper()
	a := reply{Text: map[int]string{}, Reasoning: map[[2]int]string{}, Sealed: map[int]string{}}
	for p, err := range m.Stream(ctx, req) {
		if a.Err != nil || a.Finish != nil {
			t.Errorf("%T, %v came after the end", p, err)
		}
		if err != nil {
			a.Err = err
			continue
		}
		a.parts = append(a.parts, p)
		switch p := p.(type) {
		case model.Text:
			if p.Text == "" {
				t.Error("an empty piece of text")
			}
			a.Text[p.Block] += p.Text
		case model.Reasoning:
			if p.Text != "" {
				a.Reasoning[[2]int{p.Item, p.Block}] += p.Text
			}
			if p.Signature+p.Encrypted+p.ID != "" {
				a.Sealed[p.Item] += fmt.Sprintf("%s|%s|%s", p.Signature, p.Encrypted, p.ID)
			}
		case model.ToolCall:
			switch {
			case p.Index == len(a.Calls):
				if p.Name == "" {
					t.Error("a call begins without a name")
				}
				a.Calls = append(a.Calls, item.ToolCall{CallID: p.ID, Name: p.Name, Arguments: p.Arguments})
			case p.Index < len(a.Calls):
				if p.Name != "" {
					t.Error("a name is said twice")
				}
				a.Calls[p.Index].Arguments += p.Arguments
			default:
				t.Errorf("call %d begins after %d calls", p.Index, len(a.Calls))
			}
		case model.Image:
			a.Images = append(a.Images, p)
		case model.Opaque:
			var head struct{ Type string }
			if err := json.Unmarshal(p.Raw, &head); err != nil || head.Type == "" {
				t.Errorf("%.100q is kept, of which nobody knows what it is", p.Raw)
			}
			a.Kept = append(a.Kept, p.Raw)
		case model.Annotation:
			a.Cites = append(a.Cites, p)
		case model.Usage:
			a.Usage = &p.Usage
		case model.Finish:
			a.Finish = &p
		}
	}
	if (a.Err == nil) == (a.Finish == nil) {
		t.Errorf("an answer ends with a finish or an error: finish %v, error %v", a.Finish, a.Err)
	}
	return a
}

func (a reply) text() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(a.Text)) {
		b.WriteString(a.Text[k])
	}
	return b.String()
}

func (a reply) reasoning() string {
	var b strings.Builder
	for _, k := range slices.SortedFunc(maps.Keys(a.Reasoning), func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		b.WriteString(a.Reasoning[k])
	}
	return b.String()
}

// golden is the answer in a form to read and compare.
func (a reply) golden() string {
	var b strings.Builder
	for _, k := range slices.SortedFunc(maps.Keys(a.Reasoning), func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		fmt.Fprintf(&b, "reasoning %d.%d: %q\n", k[0], k[1], a.Reasoning[k])
	}
	for _, k := range slices.Sorted(maps.Keys(a.Sealed)) {
		fmt.Fprintf(&b, "sealed %d: %.200q\n", k, a.Sealed[k])
	}
	for _, k := range slices.Sorted(maps.Keys(a.Text)) {
		fmt.Fprintf(&b, "text %d: %q\n", k, a.Text[k])
	}
	for _, c := range a.Cites {
		runes := []rune(a.Text[c.Block])
		fmt.Fprintf(&b, "cites %s (%s) for %q\n", c.URL, c.Title, string(runes[c.Start:c.End]))
	}
	for i, c := range a.Calls {
		fmt.Fprintf(&b, "call %d: %s %s(%s) valid=%v\n", i, c.CallID, c.Name, c.Arguments, json.Valid([]byte(c.Arguments)))
	}
	for _, i := range a.Images {
		fmt.Fprintf(&b, "image %d: partial=%v %s %.60s… (%d bytes)\n", i.Block, i.Partial, i.MIME, i.URL, len(i.URL))
	}
	for i, k := range a.Kept {
		fmt.Fprintf(&b, "kept %d: %.200s… (%d bytes)\n", i, k, len(k))
	}
	if a.Usage != nil {
		fmt.Fprintf(&b, "usage: %+v\n", *a.Usage)
	}
	if a.Finish != nil {
		fmt.Fprintf(&b, "finish: %s (%s) by %s\n", a.Finish.Reason, a.Finish.Raw, a.Finish.Model)
	}
	if a.Err != nil {
		var e *model.Error
		if errors.As(a.Err, &e) {
			fmt.Fprintf(&b, "error: %s: %s\n", e.Class, e.Message)
		} else {
			fmt.Fprintf(&b, "error: %v\n", a.Err)
		}
	}
	return b.String()
}
