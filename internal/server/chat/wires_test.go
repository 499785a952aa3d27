package chat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
	"github.com/tributary-ai/tributary/item"
)

// The same run, watched over four wires at once, is the same texts.
func TestFourWiresTellTheSameTexts(t *testing.T) {
	w := serve(t, play)
	started := w.do("POST", "/threads/four/runs/stream", `{"assistant_id":"research","if_not_exists":"create","stream_mode":["messages-tuple"],"stream_subgraphs":true,
		"input":{"messages":[{"role":"user","content":"Why do rivers bend?"}]},"config":{"configurable":{"auto_accepted_plan":true,"enable_background_investigation":false}}}`)
	_, run, _ := strings.Cut(started.Header.Get("Content-Location"), "/runs/")
	chatting := w.do("GET", "/api/chat/stream?thread_id=four", "")
	native := w.do("GET", "/tasks/"+run+"/events", "")

	var want []string // in Go
	for env, err := range w.rt.Follow(t.Context(), "", run, tributary.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.ItemEnded); ok {
			if m, ok := e.Item.(item.Message); ok && m.Role != item.User && m.Text() != "" {
				want = append(want, m.Text())
			}
		}
	}
	if len(want) < 3 {
		t.Fatalf("Go has %q, want a plan, a finding and a report", want)
	}

	var chat []string
	for _, text := range texts(w.read(chatting, nil)) {
		_, text, _ = strings.Cut(text, ": ")
		chat = append(chat, text)
	}
	compare(t, "chat", chat, want)

	var fold tasktest.Fold
	for _, f := range w.lines(native) {
		if err := fold.Apply([]byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	object, _ := fold.Task(run)
	var tree any
	if err := json.Unmarshal(object, &tree); err != nil {
		t.Fatal(err)
	}
	compare(t, "task", messagesIn(tree), want)

	said := map[string]string{}
	for _, line := range w.lines(started) {
		var tuple []json.RawMessage
		var chunk struct {
			ID, Type string
			Content  any
		}
		if json.Unmarshal([]byte(line), &tuple) != nil || len(tuple) != 2 || json.Unmarshal(tuple[0], &chunk) != nil || chunk.Type != "ai" {
			continue
		}
		if text, ok := chunk.Content.(string); ok {
			said[chunk.ID] += text
		}
	}
	var lg []string
	for _, text := range said {
		if text != "" {
			lg = append(lg, text)
		}
	}
	compare(t, "langgraph", lg, want)
}

func compare(t *testing.T, wire string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s tells\n%q\nGo\n%q", wire, got, want)
	}
}

// messagesIn finds the texts of all messages in a task's object, wherever its sub-agents are.
func messagesIn(v any) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, messagesIn(e)...)
		}
	case map[string]any:
		if blocks, ok := v["block_list"].([]any); ok && v["type"] == "message" {
			text := ""
			for _, b := range blocks {
				piece, _ := b.(map[string]any)["text"].(string)
				text += piece
			}
			return append(out, text)
		}
		for _, e := range v {
			out = append(out, messagesIn(e)...)
		}
	}
	return out
}
