package graphs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	agents "github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// reactAgents are those graphs of the browser tests that are agents with tools and sub-agents.
func reactAgents() (map[string]*graph.Graph, error) {
	type subs []agents.Sub
	type tools []tool.Tool
	// helper is a sub-agent that calls a tool once.
	helper := func(name, description string, t tool.Tool, args, answer string) (agents.Sub, error) {
		set, err := tool.NewSet(t)
		return agents.Sub{Name: name, Description: description, Options: agents.Options{
			Tools: set, Model: callsOnce(scripted.Call("", t.Spec().Name, args), said(answer)),
		}}, err
	}
	researcher, err := helper("researcher", "Searches the web.", found("search_web", "query"), `{"query":"protocol risks"}`,
		"Research completed: reconnect and lifecycle handling need coverage.")
	if err != nil {
		return nil, err
	}
	analyst, err := helper("data-analyst", "Queries databases.", found("query_database", "table"), `{"table":"sample_data"}`,
		"Analysis completed: found 2 sample records.")
	if err != nil {
		return nil, err
	}
	approver, err := helper("approver", "Asks before it acts.", asks("request_approval"), `{}`, "Approval recorded.")
	if err != nil {
		return nil, err
	}
	worker := agents.Sub{Name: "worker", Description: "Does a part of the work.", Options: agents.Options{Model: scripted.Always(said("My part is done."))}}
	var fanOut []item.ToolCall
	for i := range workers {
		fanOut = append(fanOut, task(fmt.Sprintf("task-%d", i+1), fmt.Sprintf("Worker worker-%03d covering topic %d", i+1, i+1), "worker"))
	}
	out := map[string]*graph.Graph{}
	for _, a := range []struct {
		name   string
		model  scripted.Script
		answer string
		tools  tools
		subs   subs
	}{
		{"create_agent", scripted.Call("call-weather-1", "get_weather", `{"city":"San Francisco"}`), "It's 64F and foggy in San Francisco.", tools{found("get_weather", "city")}, nil},
		{"interrupt_card_graph", scripted.Call("call-review-1", "review_action", `{"toolArg":"delete_db"}`), "Done.", tools{reviewAction()}, nil},
		{"headless_tool_graph", scripted.Call("tool-call-browser-1", "get_location", `{"highAccuracy":false}`), "Location received!", tools{getLocation()}, nil},
		{"deep_agent", scripted.Parallel(task("task-1", "Search the web for protocol risks", "researcher"), task("task-2", "Inspect the sample dataset", "data-analyst")),
			"Both subagents completed their tasks successfully.", nil, subs{researcher, analyst}},
		{"deep_agent_interrupt", scripted.Parallel(task("task-approve-1", "Request approval for the pending change", "approver")), "Subagent approval completed.", nil, subs{approver}},
		{"parallel_fanout", scripted.Parallel(fanOut...), "All workers completed.", nil, subs{worker}},
	} {
		set, err := tool.NewSet(a.tools...)
		if err != nil {
			return nil, err
		}
		o := agents.Options{Name: a.name, Tools: set, Model: onceATurn(a.model, said(a.answer)), Limits: agents.Limits{Concurrent: workers}}
		if a.subs != nil {
			o.Team = &agents.Team{Description: "Has work done.", Members: a.subs}
		}
		if out[a.name], err = agents.New(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// said is an answer at a pace at which the tests see that something is under way.
func said(answer string) scripted.Script { return scripted.Every(3 * reading).Words(answer) }

// onceATurn is a model that makes its calls in every turn of a person, and then answers.
func onceATurn(calls, then scripted.Script) *scripted.Model {
	return scripted.New(func(r model.Request) scripted.Script {
		for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != item.User; i-- {
			if r.Messages[i].Role == item.Tool {
				return then
			}
		}
		return calls
	})
}

// task is a call of a sub-agent as the agents of the tests make it: what is to be done is told to it as it is to people.
func task(id, description, agent string) item.ToolCall {
	args, _ := json.Marshal(map[string]string{"description": description, "prompt": description, "subagent_type": agent}) // strings always encode
	return item.ToolCall{CallID: id, Name: "task", Arguments: string(args)}
}

// found is a tool that finds two things whatever it is asked.
func found(name, argument string) tool.Tool {
	return tool.Repeatable(tool.Func(name, "Finds something.", func(_ context.Context, in struct {
		Query string `json:"query,omitempty"`
		Table string `json:"table,omitempty"`
		City  string `json:"city,omitempty"`
	}) (string, error) {
		text, err := json.Marshal(map[string]any{"status": "success", argument: in.Query + in.Table + in.City, "results": []string{"one", "another"}})
		return string(text), err
	}))
}

// asks is a tool that asks for approval and reports the answer.
func asks(name string) tool.Tool {
	return tool.FuncOfCall(name, "Asks a person.", func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
		said, err := c.Scope.Ask(tool.Question{Value: map[string]string{"prompt": "Approve subagent tool action?"}})
		return string(said), err
	})
}

// reviewAction asks with a message that the page then puts into the state, and takes its time.
func reviewAction() tool.Tool {
	type in struct {
		Arg string `json:"toolArg"`
	}
	return tool.FuncOfCall("review_action", "Does what needs approval.", func(ctx context.Context, c tool.Call, a in) (string, error) {
		said, err := tool.Ask[struct {
			Approved bool `json:"approved"`
		}](c.Scope, tool.Question{Value: map[string]any{
			"type": "ai", "content": fmt.Sprintf("Please review the %q action.", a.Arg),
			"response_metadata": map[string]any{"cards": map[string]any{"kind": "tool_validation", "action": a.Arg, "buttons": []string{"approve", "reject"}}},
		}})
		switch {
		case err != nil:
			return "", err
		case !said.Approved:
			return "User has rejected the toolcall", nil
		}
		return fmt.Sprintf("Executed %q.", a.Arg), sleep(ctx, time.Second)
	})
}

// getLocation is a tool that the page carries out: it asks for its own result.
func getLocation() tool.Tool {
	return tool.FuncOfCall("get_location", "Where the user is.", func(_ context.Context, c tool.Call, in struct {
		HighAccuracy bool `json:"highAccuracy,omitempty"`
	}) (string, error) {
		said, err := c.Scope.Ask(tool.Question{Value: map[string]any{
			"type": "tool", "toolCall": map[string]any{"id": c.ID, "name": "get_location", "args": in},
		}})
		return string(said), err
	})
}
