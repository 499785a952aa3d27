package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// confidant is an MCP server that notes who speaks to it with which header, and that tells nobody its tools until it is told to. It repeats what
// it was sent in what it says of its tool, as servers do.
type confidant struct {
	*httptest.Server
	mu     sync.Mutex
	heard  map[string]int // by the header Authorization and the query
	answer chan struct{}
}

func newConfidant(t *testing.T) *confidant {
	t.Helper()
	c := &confidant{heard: map[string]int{}, answer: make(chan struct{})}
	handler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		server := sdk.NewServer(&sdk.Implementation{Name: "confidant", Version: "1"}, nil)
		server.AddTool(&sdk.Tool{Name: "repeat", Description: "You sent " + r.Header.Get("Authorization"), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
		return server
	}, &sdk.StreamableHTTPOptions{Stateless: true}) // a client that is killed ends no session
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.heard[r.Header.Get("Authorization")]++
		c.heard[r.URL.Query().Get("key")]++
		c.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever asked is gone
		}
		if bytes.Contains(body, []byte(`"tools/list"`)) {
			select {
			case <-c.answer:
			case <-r.Context().Done():
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

func (c *confidant) count(header string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard[header]
}

// canaryWord is what every secret of these tests begins with.
const canaryWord = "canary-9c41e7"

// clean looks for canaries.
func clean(t *testing.T, where string, data []byte) {
	t.Helper()
	if i := bytes.Index(data, []byte(canaryWord)); i >= 0 {
		t.Errorf("%s shows a secret: …%.200q", where, data[max(0, i-80):])
	}
}

func cleanFolder(t *testing.T, when, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		clean(t, when+", the file "+filepath.Base(path), data)
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%s: %d files were read: %v", when, files, err)
	}
}

// What a request brings in confidence, on every wire that takes it, reaches the MCP server that it is for, also after the process was
// killed in between; and it is in no file, no answer, no event and no line of the log.
func TestSecretsOfARequestAreSeenNowhere(t *testing.T) {
	server := newConfidant(t)
	dir := t.TempDir()
	config := writeConfig(t, "mcp:\n  requests: true\n  allow: [127.0.0.1]\naccess_log: true\n")
	args := []string{"--config", config, "--log-level", "debug"}
	p := startProcess(t, dir, args...)

	var canaries []string
	settings := func() string {
		n := len(canaries)
		canary := fmt.Sprintf("%s-%d", canaryWord, n)
		canaries = append(canaries, canary)
		return fmt.Sprintf(`"mcp_settings":{"servers":{"c":{"url":"%s/?key=%s-query","headers":{"Authorization":"Bearer %s"}}}},"secrets":{"KEY":"%s"}`, server.URL, canary, canary, canary)
	}
	post := func(path, body string) (int, []byte) {
		t.Helper()
		res, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, path, data)
		return res.StatusCode, data
	}
	thread := func() string {
		var made struct {
			ID string `json:"thread_id"`
		}
		if _, data := post("/threads", `{}`); json.Unmarshal(data, &made) != nil || made.ID == "" {
			t.Fatalf("no thread: %s", data)
		}
		return made.ID
	}
	for _, w := range []struct{ path, body string }{
		{"/threads/" + thread() + "/runs", `{"assistant_id":"agent","input":{"messages":"count to one"},"config":{"configurable":{` + settings() + `}}}`},
		{"/threads/" + thread() + "/runs", `{"assistant_id":"agent","input":{"messages":"count to one"},"context":{` + settings() + `}}`},
		{"/runs", `{"assistant_id":"agent","input":{"messages":"count to one"},"context":{` + settings() + `}}`},
		{"/threads/" + thread() + "/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"agent","input":{"messages":"count to one"},"config":{"configurable":{` + settings() + `}}}}`},
		{"/tasks", `{"input":"count to one","stream":true,"configurable":{` + settings() + `}}`},
		{"/tasks", `{"input":"count to one","stream":true,"context":{` + settings() + `}}`},
	} {
		if strings.Contains(w.body, `"stream":true`) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+w.path, strings.NewReader(w.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil || res.StatusCode != 200 {
				t.Fatalf("%s: %+v, %v", w.path, res, err)
			}
			defer res.Body.Close() // it is followed after the restart
			continue
		}
		if status, data := post(w.path, w.body); status != 200 {
			t.Fatalf("%s: %d %s", w.path, status, data)
		}
	}
	hear := func(when string, least map[string]int) {
		t.Helper()
		for _, canary := range canaries {
			for _, word := range []string{"Bearer " + canary, canary + "-query"} {
				if !within(time.Minute, func() bool { return server.count(word) > least[word] }) {
					t.Fatalf("%s the server did not hear %q", when, word)
				}
			}
		}
	}
	hear("before the crash", nil)
	cleanFolder(t, "while the runs wait", dir)
	p.kill()
	cleanFolder(t, "after the process was killed", dir)

	before := map[string]int{}
	for _, canary := range canaries {
		before["Bearer "+canary], before[canary+"-query"] = server.count("Bearer "+canary), server.count(canary+"-query")
	}
	first := p.log.String()
	close(server.answer)
	p = startProcess(t, dir, args...)
	hear("after the crash", before)

	// What is kept and shown for good takes no secrets, and a research no servers.
	for _, w := range []struct{ path, body string }{
		{"/assistants", `{"graph_id":"agent","config":{"configurable":{` + settings() + `}}}`},
		{"/assistants", `{"graph_id":"agent","context":{` + settings() + `}}`},
		{"/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":{"messages":"x"},"config":{"configurable":{` + settings() + `}}}`},
		{"/api/chat/stream", `{"messages":[{"role":"user","content":"count to one"}],` + settings() + `}`},
	} {
		if status, data := post(w.path, w.body); status != 422 {
			t.Errorf("%s: %d %s, want 422", w.path, status, data)
		}
	}

	type task struct {
		ID     string `json:"task_id"`
		Status string
		Thread string `json:"thread_id"`
	}
	var tasks []task
	ended := within(time.Minute, func() bool {
		_, body := get(t, p.url+"/tasks?limit=100")
		clean(t, "/tasks", []byte(body))
		var list struct{ Tasks []task }
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		tasks = list.Tasks
		for _, k := range tasks {
			if k.Status != "completed" {
				return false
			}
		}
		return len(tasks) >= 5 // the thread of a stateless run may be gone
	})
	if !ended {
		t.Fatalf("the runs did not end: %+v, %s", tasks, p.log)
	}
	for _, path := range []string{"/info", "/threads", "/runs"} {
		_, body := get(t, p.url+path)
		clean(t, path, []byte(body))
	}
	for _, path := range []string{"/threads/search", "/assistants/search", "/store/items/search", "/runs/crons/search"} {
		post(path, `{}`)
	}
	for _, k := range tasks {
		for _, path := range []string{
			"/threads/" + k.Thread, "/threads/" + k.Thread + "/state", "/threads/" + k.Thread + "/history", "/threads/" + k.Thread + "/runs",
			"/threads/" + k.Thread + "/runs/" + k.ID, "/threads/" + k.Thread + "/runs/" + k.ID + "/join", "/threads/" + k.Thread + "/runs/" + k.ID + "/stream",
			"/tasks/" + k.ID, "/tasks/" + k.ID + "/events", "/tasks/" + k.ID + "/model-view",
		} {
			var header []string
			if strings.HasSuffix(path, "/stream") {
				header = []string{"Last-Event-ID", "-1"} // from the beginning
			}
			status, body := get(t, p.url+path, header...)
			if status != 200 || len(body) == 0 {
				t.Errorf("%s: %d, %d bytes", path, status, len(body))
			}
			clean(t, path, []byte(body))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	p.stop(t)
	clean(t, "the log before the crash", []byte(first))
	clean(t, "the log after the crash", []byte(p.log.String()))
	cleanFolder(t, "after the end", dir)
}

// within asks until something is so, for a time that only a broken program needs.
func within(limit time.Duration, so func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if so() {
			return true
		}
	}
	return so()
}
