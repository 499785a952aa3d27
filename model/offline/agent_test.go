package offline_test

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// What another agent answered out of passages is not repeated: the passages are quoted, each once, whoever found it.
func TestTheAnswersOfOtherAgentsAreReadForThePassagesThatTheyCite(t *testing.T) {
	found := "<referencable-item>\nID: 3\nSource: sea.md\nThe tide follows the moon twice a day, and the harbour knows it.\n</referencable-item>"
	req := user("How does the tide move?")
	req.Tools, req.Choice = []model.Tool{{Name: "ask_ada"}, {Name: "ask_ben"}}, "none"
	req.Messages = append(req.Messages,
		item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "1", Name: "ask_ada"}, {CallID: "2", Name: "ask_ben"}, {CallID: "3", Name: "ask_cy"}}},
		item.Message{Role: item.Tool, CallID: "1", Content: item.Text(found + "\nIt follows the moon [^3].")},
		item.Message{Role: item.Tool, CallID: "2", Content: item.Text(found + "\nAsk the harbour [^3].")},
		item.Message{Role: item.Tool, CallID: "3", Failed: true, Content: item.Text("Cy is missing: cancelled")})
	got := ask(t, req).text
	if strings.Count(got, "[^3]") != 1 || strings.Contains(got, "Ask the harbour") {
		t.Errorf("want the passage once, and no answer of others:\n%s", got)
	}
	if !strings.Contains(got, "Cy is missing") {
		t.Errorf("it does not say who is missing:\n%s", got)
	}
}
