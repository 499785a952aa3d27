package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

// byHeader lets a request say who it is.
func byHeader(r *http.Request) (run.Identity, error) {
	who := r.Header.Get("X-Api-Key")
	if who == "" {
		return run.Identity{}, errors.New("say who you are")
	}
	return run.Identity{Owner: who}, nil
}

// TestWhatBelongsToOthersDoesNotExist asks every route for somebody else's things.
func TestWhatBelongsToOthersDoesNotExist(t *testing.T) {
	s := start(t, options{identify: byHeader})
	as := func(who string) []string { return []string{"X-Api-Key", who} }
	post := func(path, body string) map[string]any {
		t.Helper()
		return s.want(200, "POST", path, body, as("alice")...)
	}
	const secret = "alice's secret"
	assistant := post("/assistants", `{"graph_id":"chat","name":"`+secret+`"}`)["assistant_id"].(string)
	thread := post("/threads", `{"metadata":{"note":"`+secret+`"}}`)["thread_id"].(string)
	rn := post("/threads/"+thread+"/runs", `{"assistant_id":"approval","input":{"messages":[{"role":"user","content":"`+secret+`"}]}}`)["run_id"].(string)
	s.want(200, "GET", "/threads/"+thread+"/runs/"+rn+"/join", nil, as("alice")...)
	cron := post("/runs/crons", `{"assistant_id":"chat","schedule":"0 0 1 1 *","metadata":{"note":"`+secret+`"}}`)["cron_id"].(string)
	s.want(204, "PUT", "/store/items", `{"namespace":["mine"],"key":"k","value":{"note":"`+secret+`"}}`, as("alice")...)
	checkpoint := post("/threads/"+thread+"/state", `{"values":{"decision":"`+secret+`"},"as_node":"propose"}`)["checkpoint"].(map[string]any)["checkpoint_id"].(string)

	fact := post("/memory/facts", `{"content":"`+secret+`"}`)["facts"].([]any)[0].(map[string]any)["id"].(string)

	ids := strings.NewReplacer("{fact_id}", fact, "{thread_id}", thread, "{run_id}", rn, "{assistant_id}", assistant, "{cron_id}", cron, "{checkpoint_id}", checkpoint, "{namespace}", "research", "{run}", rn)
	bodies := map[string]string{
		"POST /threads/{thread_id}/state/checkpoint":      `{"checkpoint":{"checkpoint_id":"` + checkpoint + `"}}`,
		"POST /threads/{thread_id}/state":                 `{"values":{"decision":"stolen"}}`,
		"POST /threads/{thread_id}/runs":                  `{"assistant_id":"chat","input":{}}`,
		"POST /threads/{thread_id}/runs/stream":           `{"assistant_id":"chat","input":{}}`,
		"POST /threads/{thread_id}/runs/wait":             `{"assistant_id":"chat","input":{},"if_not_exists":"create"}`,
		"POST /threads/{thread_id}/runs/crons":            `{"assistant_id":"chat","schedule":"0 0 1 1 *"}`,
		"POST /assistants/{assistant_id}/latest":          `{"version":1}`,
		"POST /threads/{thread_id}/commands":              `{"id":1,"method":"state.get"}`,
		"POST /threads/{thread_id}/stream/events":         `{"channels":["values"]}`,
		"POST /runs/cancel":                               `{"thread_id":"` + thread + `","run_ids":["` + rn + `"]}`,
		"PATCH /assistants/{assistant_id}":                `{"name":"stolen"}`,
		"PATCH /threads/{thread_id}":                      `{"metadata":{"stolen":true}}`,
		"PATCH /threads/{thread_id}/state":                `{"metadata":{"stolen":true}}`,
		"PATCH /runs/crons/{cron_id}":                     `{"enabled":false}`,
		"POST /api/chat/stream":                           `{"thread_id":"` + thread + `","messages":[{"role":"user","content":"stolen"}]}`,
		"PUT /threads/{thread_id}/goal":                   `{"objective":"stolen"}`,
		"PUT /threads/{thread_id}/runs/{run_id}/feedback": `{"rating":1}`,
		"DELETE /store/items":                             `{"namespace":["mine"],"key":"k"}`,
		"PUT /store/items":                                `{"namespace":["mine"],"key":"k","value":{"note":"stolen"}}`,
		"POST /store/items/search":                        `{"namespace_prefix":["mine"]}`,
		"PATCH /memory":                                   `{"topOfMind":"stolen"}`,
		"POST /memory/facts":                              `{"content":"stolen"}`,
		"PATCH /memory/facts/{fact_id}":                   `{"content":"stolen"}`,
		"POST /memory/import":                             `{"facts":[]}`,
		"PUT /memory/status":                              `{"enabled":false}`,
	}
	// Routes that name nothing of anybody's: what they answer must not have anything of Alice's in it.
	lists := map[string]int{
		"POST /assistants": 422, "POST /assistants/search": 200, "POST /assistants/count": 200, "POST /threads": 200, "POST /threads/search": 200, "GET /threads/search-text": 422,
		"POST /threads/count": 200, "POST /threads/prune": 200, "POST /runs": 422, "POST /runs/stream": 422, "POST /runs/wait": 422, "POST /runs/batch": 422, "POST /teams": 422,
		"POST /runs/crons": 422, "POST /runs/crons/search": 200, "POST /runs/crons/count": 200, "PUT /store/items": 204, "GET /store/items": 400,
		"GET /api/chat/stream": 422, "GET /api/config": 200, "GET /api/rag/config": 200, "GET /api/rag/resources": 200, "POST /api/report/evaluate": 422,
		"POST /api/prompt/enhance": 422, "POST /api/prose/generate": 422, "POST /api/tts": 422, "POST /api/podcast/generate": 422, "POST /api/ppt/generate": 422,
		"POST /api/mcp/server/metadata": 422, "GET /usage": 200, "GET /suggestions/config": 200, "POST /input-polish": 422,
		"GET /memory": 200, "PATCH /memory": 200, "DELETE /memory": 200, "POST /memory/facts": 200, "GET /memory/search": 200, "GET /memory/export": 200,
		"POST /memory/import": 200, "GET /memory/config": 200, "GET /memory/status": 200, "PUT /memory/status": 200,
		"POST /mcp": 422, "GET /mcp": 405, "DELETE /mcp": 405, "DELETE /store/items": 204, "POST /store/items/search": 200, "POST /store/namespaces": 200,
		// Its answers are those of a thread that does not exist; so is the status.
		"POST /threads/{thread_id}/commands": 200, "GET /threads/{thread_id}/stream/events": 426,
	}
	for _, route := range s.w.server.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if strings.HasPrefix(path, "/tasks") || strings.HasPrefix(path, "/task") || route == "POST /threads/{thread_id}/stream/events" {
			continue // tested where they are; a silent stream is tested below
		}
		t.Run(route, func(t *testing.T) {
			body, ok := bodies[route]
			if !ok && method != "GET" {
				body = `{}`
			}
			want := http.StatusNotFound
			if st, ok := lists[route]; ok {
				want = st
			}
			at := ids.Replace(path)
			res := s.call(method, at, nilIfEmpty(body), as("bob")...)
			if res.status != want {
				t.Errorf("bob got %d, want %d: %s", res.status, want, res.body)
			}
			if bytes.Contains(res.body, []byte("secret")) {
				t.Errorf("bob was told: %s", res.body)
			}
			if res := s.call(method, at, nilIfEmpty(body)); res.status != http.StatusUnauthorized {
				t.Errorf("nobody got %d, want 401", res.status)
			}
		})
	}
	state := s.call("GET", "/threads/"+thread+"/state", nil, as("alice")...)
	if state.status != 200 || !bytes.Contains(state.body, []byte(secret)) || bytes.Contains(state.body, []byte("stolen")) {
		t.Errorf("what Alice has is no longer what it was: %s", state.body)
	}
	remembered := s.call("GET", "/memory", nil, as("alice")...)
	if !bytes.Contains(remembered.body, []byte(secret)) || bytes.Contains(remembered.body, []byte("stolen")) {
		t.Errorf("what is remembered of Alice is %s", remembered.body)
	}
	if on := s.call("GET", "/memory/status", nil, as("alice")...); !bytes.Contains(on.body, []byte(`"enabled":true`)) {
		t.Errorf("Alice's memory is switched: %s", on.body)
	}
	item := s.call("GET", "/store/items?namespace=mine&key=k", nil, as("alice")...)
	if !bytes.Contains(item.body, []byte(secret)) {
		t.Errorf("Alice's item is %s", item.body)
	}
}

func nilIfEmpty(body string) any {
	if body == "" {
		return nil
	}
	return body
}

// TestAStrangersStreamStaysSilent follows somebody else's thread, which is like one that does not exist: the stream opens
// and nothing comes.
func TestAStrangersStreamStaysSilent(t *testing.T) {
	s := start(t, options{identify: byHeader})
	thread := s.want(200, "POST", "/threads", `{}`, "X-Api-Key", "alice")["thread_id"].(string)
	s.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"custom","input":{}}`, "X-Api-Key", "alice")
	ctx, cancel := withCancel(t)
	res, err := s.open(ctx, "POST", "/threads/"+thread+"/stream/events", `{"channels":["values","lifecycle"]}`, "X-Api-Key", "bob")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		t.Fatalf("got %d", res.StatusCode)
	}
	// Alice's own stream tells everything at once; when it has, Bob's had its chance.
	own, err := s.open(ctx, "POST", "/threads/"+thread+"/stream/events", `{"channels":["values","lifecycle"]}`, "X-Api-Key", "alice")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Body.Close()
	n := 0
	_ = frames(own.Body, func(frame) bool { n++; return n < 3 })
	if n != 3 {
		t.Fatalf("Alice saw %d events", n)
	}
	cancel()
	if got := allFrames(res.Body); len(got) > 0 {
		t.Errorf("Bob was told %v", fmt.Sprint(got))
	}
}
