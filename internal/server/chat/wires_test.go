package chat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// The same run, watched over four wires at once, is the same texts. The researchers, who work at the same time, wait until all
// watch.
func TestFourWiresTellTheSameTexts(t *testing.T) {
	watched := make(chan struct{})
	w := serve(t, func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasPrefix(req.System, "You plan research") && !strings.Contains(last.Text(), "<finding"):
			return scripted.Say(`{"title":"Rivers","steps":[{"title":"Meanders"},{"title":"Deltas"},{"title":"Both","step_type":"analysis","depends_on":["1","2"]}]}`)
		case strings.HasPrefix(req.System, "You find out") && last.Role == item.Tool:
			_, about, _ := strings.Cut(req.Messages[0].Text(), "<question>")
			return scripted.Wait(watched).Say("I looked at " + strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(about), "</question>")) + ". The outer bank is worn away. [^1]")
		case strings.HasPrefix(req.System, "You draw conclusions"):
			return scripted.Say("Both are made by water.")
		}
		return play(req)
	})
	started := w.do("POST", "/threads/four/runs/stream", `{"assistant_id":"research","if_not_exists":"create","stream_mode":["messages-tuple"],"stream_subgraphs":true,
		"input":{"messages":[{"role":"user","content":"Why do rivers bend?"}]},"config":{"configurable":{"auto_accepted_plan":true,"enable_background_investigation":false,"parallel_steps":2}}}`)
	_, run, _ := strings.Cut(started.Header.Get("Content-Location"), "/runs/")
	chatting := w.do("GET", "/api/chat/stream?thread_id=four", "")
	native := w.do("GET", "/tasks/"+run+"/events", "")

	var want []string // in Go
	all := sync.OnceFunc(func() { close(watched) })
	for env, err := range w.rt.Follow(t.Context(), "", run, tributary.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		all()
		if e, ok := env.Event.(event.ItemEnded); ok {
			if m, ok := e.Item.(item.Message); ok && m.Role != item.User && m.Text() != "" {
				want = append(want, m.Text())
			}
		}
	}
	if len(want) != 5 && len(want) != 6 { // the planner may be asked once more
		t.Fatalf("Go has %q, want a plan, three findings and a report", want)
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
