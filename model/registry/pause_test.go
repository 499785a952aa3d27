package registry_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/model/registry"
)

// An answer that Anthropic paused goes back to it as it came, so that its own tool goes on; and nothing is put behind it.
func TestAPausedAnswerGoesBackToAnthropic(t *testing.T) {
	recording := func(name string) string {
		raw, err := os.ReadFile("../anthropic/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	p := newProvider(t, recording("SYNTHETIC-pause-turn.sse"), recording("text-basic.sse"))
	reg := open(t, registry.Options{Models: []registry.Config{{Name: "m", Provider: "anthropic", Model: "claude-sonnet-4-5", BaseURL: p.URL, Key: registry.NewSecret("k"), Tools: []any{"web_search"}, Cache: "off"}}})
	e, _ := reg.Lookup("m")
	rt, err := tributary.Open(t.Context(), tributary.Options{Dir: t.TempDir(), Models: tributary.OneModel(e.Model())})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, rt, "", "how high is the Rhine?")
	if err := rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(p.asked) != 2 {
		t.Fatalf("the model was asked %d times, want 2", len(p.asked))
	}
	var sent struct {
		Messages []struct {
			Role    string
			Content []struct{ Type, Text, ID string }
		}
	}
	if err := json.Unmarshal([]byte(p.asked[1]), &sent); err != nil || len(sent.Messages) != 2 {
		t.Fatalf("%v, %s", err, p.asked[1])
	}
	last := sent.Messages[1]
	if last.Role != "assistant" || len(last.Content) != 2 || last.Content[0].Type != "text" || last.Content[1].Type != "server_tool_use" || last.Content[1].ID != "srvtoolu_pause" {
		t.Errorf("what goes back is %+v", last)
	}
}
