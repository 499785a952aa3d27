package langgraph_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

var update = flag.Bool("update", false, "run the graphs and write their journals for the tests of package protocol2")

// Journals are written where the tests of the other dialect of the same clients read them, since it cannot run graphs of this
// package. They hold ids and times, so they are only written when asked for.
func TestJournalsForProtocol2(t *testing.T) {
	if !*update {
		t.Skip("run with -update to write them")
	}
	s := serve(t)
	second := json.RawMessage(`{"messages":[{"type":"human","content":"more","id":"human-2"}]}`)
	for name, requests := range map[string][]run.Request{
		"chat":      {hello("chat"), {Graph: "chat", Input: second}},
		"tools":     {{Graph: "tools", Input: json.RawMessage(`{"messages":[{"type":"human","content":"weather in Paris?","id":"human-1"}]}`)}},
		"subgraph":  {hello("subgraph"), {Graph: "subgraph", Input: second}},
		"custom":    {hello("custom")},
		"failing":   {hello("failing"), {Graph: "failing"}},
		"approval":  {hello("approval"), {Graph: "approval", Command: json.RawMessage(`{"resume":{"answer":"yes"}}`)}},
		"parallel":  {{Graph: "parallel", Input: json.RawMessage(`{}`)}},
		"flaky":     {hello("flaky")},
		"team":      {hello("team")},
		"weather":   {hello("weather"), {Graph: "weather"}},
		"historian": {hello("historian"), {Graph: "historian", Input: second}},
	} {
		th := s.thread()
		for _, req := range requests {
			th.run(req)
		}
		raw, err := json.MarshalIndent(th.runs, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join("..", "protocol2", "testdata", "journals")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
