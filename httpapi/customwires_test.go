package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// whoAmI is a model that says which of the souls it has, delegates to an agent that it is told to, and says then what that one said.
func whoAmI(r model.Request) scripted.Script {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == item.Tool {
		return scripted.Say("it said: " + last.Text())
	}
	for _, b := range last.Content {
		if to, ok := strings.CutPrefix(b.Text, "delegate:"); ok {
			return scripted.Call("call_1", "task", fmt.Sprintf(`{"description":"x","prompt":"who are you","subagent_type":%q}`, to))
		}
	}
	for _, soul := range []string{"rivers", "lakes", "seas"} {
		if strings.Contains(r.System, "You speak of "+soul+" only.") {
			return scripted.Say("I am of " + soul + ".")
		}
	}
	return scripted.Say("I am the lead.")
}

// leading are the options of a runtime with the lead agent in a folder.
func leading(t *testing.T, dir string, m model.Model) tributary.Options {
	t.Helper()
	agents := tributary.AgentsIn(dir, nil)
	f, err := lead.New(lead.Options{Agents: agents, Keeper: agents, Skills: tributary.SkillsIn(dir).Options(true, nil)})
	if err != nil {
		t.Fatal(err)
	}
	return tributary.Options{Dir: dir, Agent: f.Graph, Models: tributary.OneModel(m), Files: true}
}

// people has a world in which requests are made on behalf of whom a header names.
func people(t *testing.T, opt tributary.Options) *world {
	t.Helper()
	return serve(t, opt, httpapi.Options{Identify: func(r *http.Request) (string, error) { return r.Header.Get("Who"), nil }})
}

// step makes a request on somebody's behalf.
func (w *world) step(who, method, path, body string, status int, want ...string) string {
	w.Helper()
	res, text := w.call(method, path, body, "Who", who)
	if res.StatusCode != status {
		w.Errorf("%s: %s %s %s: got %d, want %d: %s", who, method, path, body, res.StatusCode, status, text)
	}
	for _, part := range want {
		if !strings.Contains(text, part) {
			w.Errorf("%s: %s %s: %q is not in %s", who, method, path, part, text)
		}
	}
	return text
}

// said is what an assistant answers a Go program.
func said(t *testing.T, rt *tributary.Runtime, req tributary.Request) string {
	t.Helper()
	var text strings.Builder
	for env, err := range rt.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := env.Event.(event.TextDelta); ok && env.NS == "" {
			text.WriteString(d.Text)
		}
	}
	return text.String()
}

// rpc makes a call of the Model Context Protocol, in a session of its own.
func (w *world) rpc(who, method, params string) string {
	w.Helper()
	kind := []string{"Who", who, "Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	res, body := w.call("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, kind...)
	if res.StatusCode != 200 {
		w.Fatalf("initialize: %s %s", res.Status, body)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		kind = append(kind, "Mcp-Session-Id", id)
	}
	w.call("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, kind...)
	_, body = w.call("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, method, params), kind...)
	return body
}

func TestACustomAgentIsAnAssistantOnEveryWire(t *testing.T) {
	w := people(t, leading(t, t.TempDir(), scripted.New(whoAmI)))
	w.step("anna", "POST", "/assistants/search", `{}`, 200, `"lead_agent"`)
	w.step("anna", "POST", "/agents", `{"name":"river","description":"Knows rivers.","soul":"You speak of rivers only."}`, 201)

	var found []struct {
		ID    string `json:"assistant_id"`
		Name  string `json:"name"`
		Graph string `json:"graph_id"`
	}
	text := w.step("anna", "POST", "/assistants/search", `{"name":"RIV"}`, 200, `"description":"Knows rivers."`, `"agent_name":"river"`)
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found) != 1 || found[0].Name != "river" || found[0].Graph != tributary.LeadGraph {
		t.Fatalf("the search found %s, %v", text, err)
	}
	id := found[0].ID
	w.step("anna", "POST", "/assistants/search", `{"metadata":{"agent_name":"river"}}`, 200, id)
	if text := w.step("anna", "POST", "/assistants/search", `{"metadata":{"agent_name":"lake"}}`, 200); text != "[]" {
		t.Errorf("found by other metadata: %s", text)
	}
	w.step("anna", "POST", "/assistants/search", `{"graph_id":"lead_agent"}`, 200, id)
	for _, name := range []string{"river", id} {
		w.step("anna", "GET", "/assistants/"+name, "", 200, id, `"name":"river"`)
		w.step("anna", "GET", "/assistants/"+name+"/graph", "", 200, `"nodes"`)
		w.step("anna", "GET", "/assistants/"+name+"/schemas", "", 200, `"graph_id":"lead_agent"`, `"messages"`)
		w.step("anna", "POST", "/assistants/"+name+"/versions", `{}`, 200, `"version":1`)
		w.step("anna", "PATCH", "/assistants/"+name, `{"name":"x"}`, 403, "/agents/river")
		w.step("anna", "DELETE", "/assistants/"+name, "", 403, "/agents/river")
	}

	const hello = `{"messages":[{"role":"user","content":"who are you"}]}`
	thread := "0190a1b2-0000-7000-8000-000000000001"
	asked := func(who, soul string) {
		t.Helper()
		w.step(who, "POST", "/runs/wait", `{"assistant_id":"river","input":`+hello+`}`, 200, "I am of "+soul+".")
		w.step(who, "POST", "/tasks", `{"assistant":"river","input":"who are you"}`, 200, "I am of "+soul+".")
		if got := said(t, w.rt, tributary.Request{Owner: who, Assistant: "river", Text: "who are you"}); got != "I am of "+soul+"." {
			t.Errorf("a Go program is told %q", got)
		}
		if got := w.rpc(who, "tools/call", `{"name":"river","arguments":{"message":"who are you"}}`); !strings.Contains(got, "I am of "+soul+".") {
			t.Errorf("an MCP client is told %s", got)
		}
		got := said(t, w.rt, tributary.Request{Owner: who, Assistant: tributary.LeadGraph, Text: "delegate:river", Context: json.RawMessage(`{"subagent_enabled":true}`)})
		if !strings.Contains(got, "it said: I am of "+soul+".") {
			t.Errorf("an agent that delegates to it says %q", got)
		}
	}
	asked("anna", "rivers")
	if got := w.rpc("anna", "tools/list", `{}`); !strings.Contains(got, `"river"`) || !strings.Contains(got, "Knows rivers.") {
		t.Errorf("the tools for MCP clients are %s", got)
	}
	// The state of a thread on which it ran is shown and edited like any other's.
	w.step("anna", "POST", "/threads", `{"thread_id":"`+thread+`"}`, 200)
	w.step("anna", "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"river","input":`+hello+`}`, 200)
	w.step("anna", "POST", "/threads/"+thread+"/state", `{"values":{"title":"Rivers"}}`, 200)
	w.step("anna", "GET", "/threads/"+thread+"/state", "", 200, `"title":"Rivers"`, "I am of rivers.")

	// Nobody else has it; his own of that name is another.
	for _, path := range []string{"", "/graph", "/schemas"} {
		w.step("bert", "GET", "/assistants/river"+path, "", 404)
		w.step("bert", "GET", "/assistants/"+id+path, "", 404)
	}
	if text := w.step("bert", "POST", "/assistants/search", `{}`, 200); strings.Contains(text, "river") {
		t.Errorf("somebody else sees %s", text)
	}
	w.step("bert", "POST", "/runs/wait", `{"assistant_id":"`+id+`","input":`+hello+`}`, 404)
	w.step("bert", "POST", "/tasks", `{"assistant":"river","input":"x"}`, 404)
	w.step("bert", "POST", "/runs/wait", `{"assistant_id":"lead_agent","context":{"agent_name":"river"},"input":`+hello+`}`, 422, "river")
	if got := w.rpc("bert", "tools/list", `{}`); strings.Contains(got, "river") {
		t.Errorf("somebody else's tools are %s", got)
	}
	w.step("bert", "POST", "/agents", `{"name":"river","soul":"You speak of seas only."}`, 201)
	asked("bert", "seas")

	// What is changed and deleted is so at once.
	w.step("anna", "PUT", "/agents/river", `{"soul":"You speak of lakes only.","description":"Knows lakes."}`, 200)
	asked("anna", "lakes")
	if got := w.rpc("anna", "tools/list", `{}`); !strings.Contains(got, "Knows lakes.") {
		t.Errorf("after a change the tools for MCP clients are %s", got)
	}
	w.step("anna", "DELETE", "/agents/river", "", 204)
	w.step("anna", "GET", "/assistants/river", "", 404)
	w.step("anna", "POST", "/tasks", `{"assistant":"river","input":"x"}`, 404)
	if text := w.step("anna", "POST", "/assistants/search", `{}`, 200); strings.Contains(text, "river") {
		t.Errorf("after it was deleted there is %s", text)
	}
	if got := w.rpc("anna", "tools/list", `{}`); strings.Contains(got, "river") {
		t.Errorf("after it was deleted the tools for MCP clients are %s", got)
	}
	asked("bert", "seas")
}

// Pages of a list that has assistants of both sorts are parts of one order.
func TestCustomAgentsAndOtherAssistantsAreOneList(t *testing.T) {
	w := people(t, leading(t, t.TempDir(), scripted.New(whoAmI)))
	for i := range 7 {
		w.step("anna", "POST", "/agents", fmt.Sprintf(`{"name":"agent-%d"}`, i), 201)
		w.step("anna", "POST", "/assistants", fmt.Sprintf(`{"graph_id":"agent","name":"agent-%d-x"}`, i), 200)
	}
	w.step("anna", "POST", "/assistants/count", `{"name":"agent-"}`, 200, "14")
	for _, by := range []string{"assistant_id", "graph_id", "name", "created_at", "updated_at"} {
		for _, dir := range []string{"asc", "desc"} {
			ids := func(limit, offset int) (out []string) {
				text := w.step("anna", "POST", "/assistants/search", fmt.Sprintf(`{"sort_by":%q,"sort_order":%q,"limit":%d,"offset":%d}`, by, dir, limit, offset), 200)
				var list []struct {
					ID string `json:"assistant_id"`
				}
				if err := json.Unmarshal([]byte(text), &list); err != nil {
					t.Fatal(err, text)
				}
				for _, a := range list {
					out = append(out, a.ID)
				}
				return out
			}
			whole := ids(100, 0)
			var pages []string
			for at := 0; at < len(whole); at += 3 {
				pages = append(pages, ids(3, at)...)
			}
			if len(whole) != 16 || fmt.Sprint(pages) != fmt.Sprint(whole) {
				t.Errorf("by %s %s: in pages %v, as a whole %v", by, dir, pages, whole)
			}
		}
	}
}

// interviewer is a model that makes an agent: it asks what it is for, and sets it up.
func interviewer(r model.Request) scripted.Script {
	if !strings.Contains(r.System, "You help a person to make an agent") {
		return whoAmI(r)
	}
	results := map[string]string{}
	for _, m := range r.Messages {
		if m.Role == item.Tool {
			results[m.CallID] = strings.TrimPrefix(m.Text(), "The person answered: ")
		}
	}
	switch {
	case results["load"] == "":
		return scripted.Call("load", "load_skill", `{"name":"bootstrap"}`)
	case results["ask"] == "":
		return scripted.Call("ask", "ask_clarification", `{"question":"What does it speak of?"}`)
	case results["make"] == "":
		return scripted.Call("make", "setup_agent", fmt.Sprintf(`{"soul":"You speak of %s only.","description":"Speaks of %s.","skills":[]}`, results["ask"], results["ask"]))
	}
	return scripted.Say(results["make"])
}

// The bootstrap conversation from end to end: as DeerFlow's page has it, over LangGraph's wire.
func TestAnAgentThatWasMadeInAConversationAnswersAtOnceOnEveryWire(t *testing.T) {
	m := scripted.New(interviewer)
	m.Record = true
	w := people(t, leading(t, t.TempDir(), m))
	const thread = "0190a1b2-0000-7000-8000-000000000002"
	const context = `"context":{"mode":"flash","is_bootstrap":true,"agent_name":"River"}`
	w.step("anna", "POST", "/threads", `{"thread_id":"`+thread+`"}`, 200)
	w.step("anna", "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"lead_agent",`+context+`,"input":{"messages":[{"role":"user","content":"Make me an agent."}]}}`, 200, "What does it speak of?")
	w.step("anna", "GET", "/agents/river", "", 404)
	for _, spec := range m.Requests()[0].Tools {
		if spec.Name != "load_skill" && spec.Name != "ask_clarification" && spec.Name != "setup_agent" {
			t.Errorf("the one who makes agents has %s too", spec.Name)
		}
	}
	if system := m.Requests()[0].System; !strings.Contains(system, "- bootstrap: ") || strings.Contains(system, "- report: ") || !strings.Contains(system, "called river") {
		t.Errorf("its prompt is %s", system)
	}
	w.step("anna", "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"lead_agent",`+context+`,"command":{"resume":"rivers"}}`, 200, "The agent river is there")
	w.step("anna", "GET", "/agents/river", "", 200, `"soul":"You speak of rivers only."`, `"skills":[]`, `"tool_groups":null`)
	const hello = `{"messages":[{"role":"user","content":"who are you"}]}`
	w.step("anna", "POST", "/runs/wait", `{"assistant_id":"river","input":`+hello+`}`, 200, "I am of rivers.")
	w.step("anna", "POST", "/runs/wait", `{"assistant_id":"lead_agent","context":{"agent_name":"river"},"input":`+hello+`}`, 200, "I am of rivers.")
	w.step("anna", "POST", "/tasks", `{"assistant":"river","input":"who are you"}`, 200, "I am of rivers.")
	if got := said(t, w.rt, tributary.Request{Owner: "anna", Assistant: "river", Text: "who are you"}); got != "I am of rivers." {
		t.Errorf("a Go program is told %q", got)
	}
	got := said(t, w.rt, tributary.Request{Owner: "anna", Assistant: tributary.LeadGraph, Text: "delegate:river", Context: json.RawMessage(`{"subagent_enabled":true}`)})
	if !strings.Contains(got, "it said: I am of rivers.") {
		t.Errorf("an agent that delegates to it says %q", got)
	}
	w.step("anna", "POST", "/runs/wait", `{"assistant_id":"lead_agent","context":{"is_bootstrap":true,"agent_name":"user-x"},"input":`+hello+`}`, 422, "user-")
	w.step("bert", "GET", "/agents/river", "", 404)
}
