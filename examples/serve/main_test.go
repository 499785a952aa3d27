package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// The model asks for the weather and repeats what it is told.
func talkative() model.Model {
	return scripted.New(func(req model.Request) scripted.Script {
		if last := req.Messages[len(req.Messages)-1]; last.Role == item.Tool {
			return scripted.Say(last.Text())
		}
		return scripted.Call("call_1", "weather", `{"city":"Paris"}`)
	})
}

func TestOwnGraphsAndToolsAreOnEveryWireBehindOwnAuthentication(t *testing.T) {
	rt, err := tributary.Open(t.Context(), tributary.Options{
		Models: tributary.OneModel(talkative()), Tools: []tool.Tool{weather},
		Graphs: map[string]tributary.Builder{"shout": tributary.Fixed(shout())},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	agents, mux, err := routes(rt)
	if err != nil {
		t.Fatal(err)
	}
	defer agents.Close()
	server := httptest.NewServer(mux)
	defer server.Close()
	call := func(method, path, key, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	const anna, bert = "annas-key", "berts-key"
	const thread = "/agents/threads/00000000-0000-7000-8000-000000000001"
	for _, c := range []struct {
		method, path, key, body string
		status                  int
		says                    string
	}{
		{"GET", "/", "", "", 200, "/agents/"},
		{"POST", "/agents/tasks", "stolen", `{"assistant":"shout","input":{"text":"hello"}}`, 401, "a key of this house"},
		{"POST", "/agents/tasks", anna, `{"input":"the weather, please","stream":true}`, 200, "It is sunny in Paris."},
		{"POST", "/agents/runs/wait", anna, `{"assistant_id":"shout","input":{"text":"hello"}}`, 200, `"text":"HELLO"`},
		{"POST", "/agents/threads", anna, `{"thread_id":"00000000-0000-7000-8000-000000000001"}`, 200, `"idle"`},
		{"POST", thread + "/runs/stream", anna, `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"weather?"}]}}`, 200, "It is sunny in Paris."},
		{"GET", thread + "/state", anna, "", 200, "It is sunny in Paris."},
		{"GET", thread + "/state", bert, "", 404, "not found"},
		{"GET", "/agents/openapi.json", "", "", 200, `"servers":[{"url":"/agents"}]`},
	} {
		if status, text := call(c.method, c.path, c.key, c.body); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s as %q: %d %.600s; want %d with %q", c.method, c.path, c.key, status, text, c.status, c.says)
		}
	}
}
