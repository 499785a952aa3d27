package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What is answered must be what is described, with no member too many or too few.
func TestAnswersAreWhatIsSaid(t *testing.T) {
	w := newAPI(t)
	ids := w.things()
	unseen := map[string]bool{}
	w.each(func(route string, op *apiOperation) {
		for status, r := range op.Responses {
			if _, ok := r.Content["application/json"]; ok {
				unseen[route+" "+status] = true
			}
		}
	})
	call := func(route, query, body string) (answer map[string]any) {
		t.Helper()
		method, path, _ := strings.Cut(route, " ")
		res := w.do(method, ids.Replace(path)+query, ids.Replace(body))
		op := w.doc.Paths[path][strings.ToLower(method)]
		r, ok := op.Responses[fmt.Sprint(res.status)]
		if !ok || res.status > 299 {
			t.Fatalf("%s: got %d: %s", route, res.status, res.body)
		}
		delete(unseen, fmt.Sprint(route, " ", res.status))
		c, ok := r.Content["application/json"]
		if !ok {
			if len(res.body) > 0 && r.Content["text/event-stream"].Schema == nil {
				t.Errorf("%s answers with what is not described: %s", route, res.body)
			}
			return nil
		}
		var got any
		if err := json.Unmarshal(res.body, &got); err != nil {
			t.Fatalf("%s: %v: %s", route, err, res.body)
		}
		if err := w.schema(c.Schema, true).Validate(got); err != nil {
			t.Errorf("%s answers with what is described otherwise: %v\n%s", route, err, res.body)
		}
		answer, _ = got.(map[string]any)
		return answer
	}

	for _, path := range []string{"/", "/ok", "/livez", "/readyz", "/info", "/openapi.json"} {
		call("GET "+path, "", "")
	}
	call("POST /assistants", "", `{"graph_id":"agent","name":"n","description":"d","config":{"tags":["x"]},"metadata":{"a":1}}`)
	call("POST /assistants/search", "", `{}`)
	call("POST /assistants/count", "", `{}`)
	call("GET /assistants/{assistant_id}", "", "")
	call("PATCH /assistants/{assistant_id}", "", `{"name":"m"}`)
	call("GET /assistants/{assistant_id}/graph", "?xray=true", "")
	call("GET /assistants/{assistant_id}/schemas", "", "")
	call("GET /assistants/{assistant_id}/subgraphs", "?recurse=true", "")
	call("GET /assistants/{assistant_id}/subgraphs/{namespace}", "", "")
	call("POST /assistants/{assistant_id}/versions", "", `{}`)
	call("POST /assistants/{assistant_id}/latest", "", `{"version":1}`)

	empty := call("POST /threads", "", `{"ttl":60}`)["thread_id"].(string)
	first := ids
	ids = strings.NewReplacer("{thread_id}", empty)
	call("GET /threads/{thread_id}/state", "", "")
	ids = first
	call("POST /threads/{thread_id}/runs/wait", "", `{"assistant_id":"ask","input":{"messages":"hi"}}`)
	call("POST /threads/search", "", `{}`)
	call("GET /threads/search-text", "?q=hi", "")
	call("POST /threads/count", "", `{"status":"interrupted"}`)
	call("GET /threads/{thread_id}", "", "")
	call("PATCH /threads/{thread_id}", "", `{"metadata":{"b":2}}`)
	call("PATCH /threads/{thread_id}/state", "", `{"ttl":{"ttl":5}}`)
	call("POST /threads/{thread_id}/copy", "", "")
	call("GET /threads/{thread_id}/state", "?subgraphs=true", "")
	call("GET /threads/{thread_id}/state/{checkpoint_id}", "", "")
	call("POST /threads/{thread_id}/state/checkpoint", "", `{"checkpoint":{"checkpoint_id":"{checkpoint_id}"}}`)
	call("GET /threads/{thread_id}/history", "?limit=100", "")
	call("POST /threads/{thread_id}/history", "", `{}`)
	call("POST /threads/{thread_id}/commands", "", `{"id":1,"method":"state.get"}`)
	call("POST /threads/{thread_id}/commands", "", `{"id":2,"method":"no.such"}`)

	w.must(200, "GET", "/runs/"+call("POST /threads/{thread_id}/runs", "", `{"assistant_id":"agent","input":{"messages":"hi"}}`)["run_id"].(string)+"/join", "")
	call("GET /threads/{thread_id}/runs", "?limit=100", "")
	call("GET /threads/{thread_id}/runs/{run_id}", "", "")
	call("GET /threads/{thread_id}/runs/{run_id}/join", "", "")
	call("POST /threads/{thread_id}/runs/{run_id}/cancel", "?wait=true", "")
	call("POST /runs", "", `{"assistant_id":"agent","input":{"messages":"hi"}}`)
	call("POST /runs/wait", "", `{"assistant_id":"agent","input":{"messages":"hi"}}`)
	call("POST /runs/batch", "", `[{"assistant_id":"agent","input":{"messages":"hi"}}]`)
	call("GET /runs/{run_id}", "", "")
	call("GET /runs/{run_id}/join", "", "")
	call("POST /runs/{run_id}/cancel", "", "")

	call("POST /runs/crons", "", `{"assistant_id":"agent","schedule":"0 0 1 1 *","timezone":"Europe/Berlin","end_time":"2100-01-01T00:00:00Z"}`)
	call("POST /threads/{thread_id}/runs/crons", "", `{"assistant_id":"agent","schedule":"0 0 1 1 *"}`)
	call("POST /runs/crons/search", "", `{}`)
	call("POST /runs/crons/count", "", `{}`)
	call("PATCH /runs/crons/{cron_id}", "", `{"enabled":false}`)
	call("DELETE /runs/crons/{cron_id}", "", "")

	call("GET /store/items", "?namespace=a&key=k", "")
	call("PUT /store/items", "", `{"namespace":["a"],"key":"k","value":{"text":"word"}}`)
	call("GET /store/items", "?namespace=a&key=k", "")
	call("POST /store/items/search", "", `{"query":"word"}`)
	call("POST /store/namespaces", "", `{}`)
	call("DELETE /store/items", "", `{"namespace":["a"],"key":"k"}`)

	call("PATCH /memory", "", `{"topOfMind":"boats"}`)
	fact := call("POST /memory/facts", "", `{"content":"likes tea","category":"preference","confidence":0.9,"topics":["drinks"]}`)["facts"].([]any)[0].(map[string]any)["id"].(string)
	call("GET /memory", "", "")
	call("GET /memory", "?agent_name=nobody", "")
	ids = strings.NewReplacer("{fact_id}", fact)
	call("GET /memory/facts/{fact_id}", "", "")
	call("PATCH /memory/facts/{fact_id}", "", `{"content":"likes coffee"}`)
	call("GET /memory/search", "?query=coffee", "")
	exported, err := json.Marshal(call("GET /memory/export", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	call("POST /memory/import", "", string(exported))
	call("GET /memory/config", "", "")
	call("GET /memory/status", "", "")
	call("PUT /memory/status", "", `{"enabled":false}`)
	call("DELETE /memory/facts/{fact_id}", "", "")
	call("DELETE /memory", "", "")
	ids = first

	call("POST /tasks", "", `{"input":"hi"}`)
	manager := call("POST /tasks", "", `{"input":"hi","assistant":"manager"}`)["task_id"].(string)
	asked := call("POST /tasks", "", `{"input":"hi","assistant":"ask"}`)
	id, question := asked["task_id"].(string), asked["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	ids = strings.NewReplacer("{id}", id)
	call("POST /tasks/{id}/input", "", `{"interrupt_id":"`+question+`","value":"me"}`)
	ids = first
	call("GET /tasks", "", "")
	call("GET /tasks/{id}", "", "")
	call("GET /tasks/{id}/model-view", "", "")
	call("GET /tasks/{id}/references", "", "")
	ids = strings.NewReplacer("{id}", manager, "{turn}", "last")
	call("GET /tasks/{id}/requests/{turn}", "", "")
	ids = first
	call("GET /api/config", "", "")
	call("GET /api/rag/config", "", "")
	call("GET /api/rag/resources", "", "")
	call("POST /api/mcp/server/metadata", "", `{"transport":"sse","url":"https://example.com","headers":{"A":"b"},"timeout_seconds":5}`)
	call("POST /api/report/evaluate", "", `{"content":"# A"}`)
	call("POST /api/prompt/enhance", "", `{"prompt":"hi"}`)
	call("GET /usage", "?since=2020-01-01T00:00:00Z", "")
	call("GET /threads/{thread_id}/token-usage", "", "")
	call("GET /suggestions/config", "", "")
	call("POST /threads/{thread_id}/suggestions", "", `{"messages":[{"role":"user","content":"hi"}],"n":2}`)
	call("POST /input-polish", "", `{"text":"hi"}`)
	call("GET /threads/{thread_id}/goal", "", "")
	call("PUT /threads/{thread_id}/goal", "", `{"objective":"the sea"}`)
	call("DELETE /threads/{thread_id}/goal", "", "")
	call("PUT /threads/{thread_id}/runs/{run_id}/feedback", "", `{"rating":-1,"comment":"too long"}`)
	call("GET /threads/{thread_id}/runs/{run_id}/feedback", "", "")
	call("DELETE /threads/{thread_id}/runs/{run_id}/feedback", "", "")
	team := call("POST /teams", "", `{"question":"hi","assistant":"agent"}`)["run"].(string)
	ids = strings.NewReplacer("{run}", team)
	call("POST /teams/{run}/commands", "", `{"type":"cancel"}`)
	ids = first
	slow := w.must(200, "POST", "/runs", `{"assistant_id":"agent","input":{"messages":"hi"},"after_seconds":3600}`).object(t)["run_id"].(string)
	ids = strings.NewReplacer("{id}", slow)
	call("POST /tasks/{id}/cancel", "", `{}`)
	call("POST /tasks/{id}/cancel", "", `{"wait":true}`)
	ids = first

	call("DELETE /assistants/{assistant_id}", "", "")
	call("POST /threads/{thread_id}/state", "", `{"values":{"messages":"by hand"}}`)
	call("POST /threads/prune", "", `{"thread_ids":["{thread_id}"]}`)
	for route := range unseen {
		t.Errorf("%s was not tried", route)
	}
}
