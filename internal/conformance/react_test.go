package main

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/conformance/graphs"
)

// The browser tests of @langchain/react are run by hand (README.md); that the graphs are there which they speak to is looked at here.
func TestTheGraphsOfReactsSuiteAnswer(t *testing.T) {
	s := start(t, options{react: true})
	all, err := graphs.React()
	if err != nil {
		t.Fatal(err)
	}
	asks := map[string]bool{
		"interrupt_graph": true, "interrupt_once_graph": true, "multi_interrupt_graph": true, "nested_interrupt_graph": true,
		"interrupt_card_graph": true, "headless_tool_graph": true, "deep_agent_interrupt": true,
	}
	ends := map[string]string{
		"deep_agent": "Both subagents completed", "parallel_fanout": "All workers completed.", "create_agent": "64F", "subgraph_graph": "Reply from child",
		"embedded_subgraph_graph": "Summary line", "parallel_subgraph": "Subgraph reply", "remove_message_graph": "Step 3", "stateful_values_graph": `"final"`,
		"stategraph_text": "Plan accepted.", "slow_graph": "Done.", "custom_channel_graph": "Custom channel reply", "error_graph": "intentional error",
	}
	for name := range all {
		t.Run(name, func(t *testing.T) {
			body := string(s.call("POST", "/threads/"+s.thread()+"/runs/wait",
				`{"assistant_id":"`+name+`","input":{"messages":[{"role":"user","content":"Hello"}],"request":"r","prompts":["A","B"]}}`).body)
			switch asked := strings.Count(body, `"prompt":"Approve`) + strings.Count(body, `"toolCall"`) + strings.Count(body, `"cards"`); {
			case asks[name] && asked == 0, !asks[name] && ends[name] == "":
				t.Errorf("got %s, want a question", body)
			case name == "multi_interrupt_graph" && asked != 2:
				t.Errorf("got %d questions, want 2: %s", asked, body)
			case !strings.Contains(body, ends[name]):
				t.Errorf("got %s, want %q in it", body, ends[name])
			}
		})
	}
}
