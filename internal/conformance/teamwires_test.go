package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/chat"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// One team is watched on every wire. Each folds the experts and the lead to the same texts: there is one log.
func TestATeamSaysTheSameOnEveryWire(t *testing.T) {
	busy := &model.Error{Class: model.Overloaded, Provider: "test", Message: "no room"}
	broke := make(chan struct{}, 1)
	broke <- struct{}{}
	m := scripted.New(func(req model.Request) scripted.Script {
		switch name, _, ok := strings.Cut(strings.TrimPrefix(req.System, "You are "), ","); {
		case !strings.HasPrefix(req.System, "You are ") || !ok:
			return scripted.Words("All in all, water does much.")
		case name == "ada":
			select {
			case <-broke:
				return scripted.Words("Rivers fall").Fail(busy)
			default:
			}
			return scripted.Words("Rivers rise, says ada.")
		default:
			return scripted.Words("So it is, says " + name + ".")
		}
	})
	url, _, rt := serveTeams(t, m, 0)
	run := startTeam(t, url, `{"question":"What does water do?","experts":[{"name":"ada"},{"name":"ben"},{"name":"cy"}]}`)
	want := map[string]string{}
	for line := range strings.Lines(wholeTeam(t, url, run)) {
		var f struct{ Type, Expert, Content string }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case "expert_result":
			want[f.Expert] = f.Content
		case "team_synthesis":
			want["lead"] = f.Content
		}
	}
	if len(want) != 4 || want["ada"] != "Rivers rise, says ada." || want["lead"] != "All in all, water does much." {
		t.Fatalf("on the team wire: %q", want)
	}
	r, err := rt.Run(t.Context(), "", run)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]string{
		"task":      onTaskWire(t, url, run),
		"LangGraph": onLangGraphWire(t, url, r),
		"chat":      onChatWire(t, rt, run),
	} {
		for who, text := range want {
			if n := countOf(got, text); n != 1 {
				t.Errorf("on %s %s says %q %d times, among %q", name, who, text, n, got)
			}
		}
	}
}

func countOf(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func get(t *testing.T, url string, header ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v: %s", url, res.Status, err, body)
	}
	return string(body)
}

// onTaskWire are the texts of messages in a task object, with those of its sub-agents.
func onTaskWire(t *testing.T, url, run string) (texts []string) {
	t.Helper()
	type block struct{ Type, Text string }
	type task struct {
		Output []struct {
			Type      string
			BlockList []block `json:"block_list"`
		}
		Tasks []json.RawMessage
	}
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		var o task
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		for _, it := range o.Output {
			text := ""
			for _, b := range it.BlockList {
				text += b.Text
			}
			texts = append(texts, text)
		}
		for _, child := range o.Tasks {
			walk(child)
		}
	}
	walk(json.RawMessage(get(t, url+"/tasks/"+run)))
	return texts
}

// onLangGraphWire are the messages of a stream, folded by their ids.
func onLangGraphWire(t *testing.T, url string, r tributary.Run) []string {
	t.Helper()
	body := get(t, url+"/threads/"+r.Thread+"/runs/"+r.ID+"/stream?stream_mode=messages-tuple", "Last-Event-ID", "-1")
	texts := map[string]string{}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var pair []struct {
			ID, Type string
			Content  any
		}
		if json.Unmarshal([]byte(data), &pair) != nil || len(pair) != 2 || !strings.HasPrefix(pair[0].Type, "AI") && pair[0].Type != "ai" {
			continue
		}
		if s, ok := pair[0].Content.(string); ok {
			texts[pair[0].ID] += s
		}
	}
	return slices.Collect(maps.Values(texts))
}

// onChatWire are the messages of DeerFlow's stream, folded by their ids.
func onChatWire(t *testing.T, rt *tributary.Runtime, run string) []string {
	t.Helper()
	p := chat.New()
	texts := map[string]string{}
	for env, err := range rt.Follow(t.Context(), "", run, tributary.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		frames, err := p.Project([]wire.Frame(nil), &env)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			var m struct{ ID, Content string }
			if err := json.Unmarshal(f.Data, &m); err != nil {
				t.Fatalf("%v: %s", err, f.Data)
			}
			texts[m.ID] += m.Content
		}
	}
	return slices.Collect(maps.Values(texts))
}
