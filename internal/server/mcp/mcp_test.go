package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a runtime behind /mcp.
type world struct {
	*testing.T
	rt  *tributary.Runtime
	h   *httpapi.Handler
	url string
}

func serve(t *testing.T, opt tributary.Options) *world {
	t.Helper()
	opt.Dir = t.TempDir()
	rt, err := tributary.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(rt, httpapi.Options{Identify: func(r *http.Request) (string, error) {
		if who := r.Header.Get("Who"); who != "" {
			return who, nil
		}
		return "", errors.New("who are you?")
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Closing()
		s.CloseClientConnections()
		s.Close()
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := rt.Close(now); err != nil {
			t.Error(err)
		}
	})
	return &world{t, rt, h, s.URL + "/mcp"}
}

// as is a header that says who asks.
type as string

func (who as) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Who", string(who))
	return http.DefaultTransport.RoundTrip(req)
}

// client is a session of somebody's.
type client struct {
	*world
	*sdk.ClientSession
	mu    sync.Mutex
	told  []string
	first chan struct{} // closed when something was told
}

// versions are the protocol as it was, and as it is.
var versions = []string{"2025-06-18", "2026-07-28"}

func (w *world) connect(who, version string) *client {
	w.Helper()
	c := &client{world: w, first: make(chan struct{})}
	cl := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.told) == 0 {
				close(c.first)
			}
			c.told = append(c.told, req.Params.Message)
		},
	})
	session, err := cl.Connect(w.Context(), &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: as(who)}, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = session.Close() // the server may be gone
		http.DefaultClient.CloseIdleConnections()
	})
	c.ClientSession = session
	return c
}

type result struct {
	IsError bool          `json:"-"`
	Content []sdk.Content `json:"-"`

	Thread    string `json:"thread_id"`
	Run       string `json:"run_id"`
	Status    string `json:"status"`
	Text      string `json:"text"`
	Questions []struct {
		ID    string `json:"id"`
		Value any    `json:"value"`
	} `json:"questions"`
}

func (c *client) call(name string, args map[string]any) (result, error) {
	c.Helper()
	return c.callIn(c.world.Context(), name, args)
}

func (c *client) callIn(ctx context.Context, name string, args map[string]any) (result, error) {
	c.Helper()
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken("p1")
	res, err := c.CallTool(ctx, params)
	var out result
	if err != nil {
		return out, err
	}
	out.IsError, out.Content = res.IsError, res.Content
	if res.StructuredContent != nil {
		raw, _ := json.Marshal(res.StructuredContent)
		if err := json.Unmarshal(raw, &out); err != nil {
			c.Fatal(err)
		}
	}
	return out, err
}

func textOf(r result) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text + "\n")
		}
	}
	return b.String()
}

func eachVersion(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { f(t, v) })
	}
}

func TestAnAssistantIsAToolWhoseTextStreams(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		let := make(chan struct{})
		w := serve(t, tributary.Options{Models: tributary.OneModel(scripted.New(func(req model.Request) scripted.Script {
			if len(req.Messages) > 1 {
				return scripted.Say("You said: " + req.Messages[0].Text())
			}
			return scripted.Say("first ").Wait(let).Say("second")
		}))})
		c := w.connect("anna", version)
		if got := c.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("the version is %s", got)
		}
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "agent" {
			t.Fatalf("tools %+v, %v", tools, err)
		}
		go func() {
			<-c.first // told before the run has ended
			close(let)
		}()
		res, err := c.call("agent", map[string]any{"message": "hello"})
		if err != nil || res.IsError || res.Status != "success" || res.Text != "first second" || !strings.Contains(textOf(res), "first second") || !strings.Contains(textOf(res), res.Thread) {
			t.Fatalf("got %+v, %s, %v", res, textOf(res), err)
		}
		// The client hears of progress beside the result, and perhaps after it.
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			c.mu.Lock()
			told := slices.Clone(c.told)
			c.mu.Unlock()
			if strings.Join(told, "") == "first second" && len(told) >= 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("progress told %q", told)
			}
		}
		res, err = c.call("agent", map[string]any{"message": "and?", "thread_id": res.Thread})
		if err != nil || res.Text != "You said: hello" {
			t.Errorf("the conversation went on with %+v, %v", res, err)
		}
		if r, err := w.rt.Run(t.Context(), "anna", res.Run); err != nil || r.Status != event.Success {
			t.Errorf("the run is %+v, %v", r, err)
		}
	})
}

func TestMistakesAreToldToTheModel(t *testing.T) {
	w := serve(t, tributary.Options{})
	c := w.connect("anna", versions[1])
	for name, args := range map[string]map[string]any{
		"nothing":        {},
		"two":            {"message": "x", "answer": "y"},
		"no such thread": {"message": "x", "thread_id": "unknown"},
		"path":           {"message": "x", "thread_id": "../x"},
		"no question":    {"answer": "x"},
		"type":           {"message": 5},
	} {
		if res, err := c.call("agent", args); err != nil || !res.IsError || textOf(res) == "" {
			t.Errorf("%s: got %+v, %v", name, res, err)
		}
	}
	if _, err := c.call("nobody", map[string]any{"message": "x"}); err == nil {
		t.Error("a tool is called that does not exist")
	}
	if _, total, err := w.rt.Runs(t.Context(), "anna", tributary.RunQuery{}); err != nil || total != 0 {
		t.Errorf("there are %d runs, %v", total, err)
	}
}

func TestWhatBelongsToOthersIsNotThere(t *testing.T) {
	w := serve(t, tributary.Options{})
	anna, bert := w.connect("anna", versions[0]), w.connect("bert", versions[0])
	res, err := anna.call("agent", map[string]any{"message": "count to two"})
	if err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := w.rt.Assistants().Create(t.Context(), "anna", tributary.NewAssistant{Graph: "agent", Name: "Mine, all mine"}); err != nil {
		t.Fatal(err)
	}
	uri := "tributary://threads/" + res.Thread
	for c, want := range map[*client]struct {
		tools, resources int
		read             bool
	}{anna: {2, 1, true}, bert: {1, 0, false}} {
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != want.tools {
			t.Errorf("tools %+v, %v; want %d", tools, err, want.tools)
		}
		resources, err := c.ListResources(t.Context(), nil)
		if err != nil || len(resources.Resources) != want.resources {
			t.Errorf("resources %+v, %v; want %d", resources, err, want.resources)
		}
		read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if (err == nil) != want.read || err == nil && !strings.Contains(read.Contents[0].Text, "count to two") {
			t.Errorf("read %+v, %v; want %v", read, err, want.read)
		}
	}
	if res, err := bert.call("agent", map[string]any{"message": "x", "thread_id": res.Thread}); err != nil || !res.IsError {
		t.Errorf("bert goes on with %+v, %v", res, err)
	}
	if res, err := bert.call("Mine__all_mine", map[string]any{"message": "x"}); err == nil {
		t.Errorf("bert calls anna's assistant: %+v", res)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(`{}`))
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("somebody unknown is told %s", answer.Status)
	}
}

func TestFilesInOutputsAreResourcesAndNothingElseIs(t *testing.T) {
	w := serve(t, tributary.Options{Files: true, Models: tributary.OneModel(scripted.Sequence(
		scripted.Parallel(
			item.ToolCall{CallID: "1", Name: "write_file", Arguments: `{"path":"/mnt/user-data/outputs/a dir/report ü.md","content":"# Found"}`},
			item.ToolCall{CallID: "2", Name: "write_file", Arguments: `{"path":"/mnt/user-data/workspace/secret.txt","content":"secret"}`}),
		scripted.Say("done"),
	))})
	c := w.connect("anna", versions[1])
	res, err := c.call("agent", map[string]any{"message": "write"})
	if err != nil || res.Status != "success" {
		t.Fatalf("%+v, %v", res, err)
	}
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 2 {
		t.Fatalf("resources %+v, %v", list, err)
	}
	found := 0
	for _, r := range list.Resources {
		read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: r.URI})
		if err != nil {
			t.Errorf("%s: %v", r.URI, err)
			continue
		}
		if r.Name == "a dir/report ü.md" && read.Contents[0].Text == "# Found" && r.Size == 7 {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the file was found %d times in %+v", found, list.Resources)
	}
	for _, name := range []string{
		"../workspace/secret.txt", "..%2fworkspace%2fsecret.txt", "%2e%2e/workspace/secret.txt", "..\\workspace\\secret.txt", "/workspace/secret.txt",
		"a dir/../../workspace/secret.txt", "", ".", "a dir", "x\x00", "%00", "../../../../../../etc/passwd", "//etc/passwd", strings.Repeat("x/", 3000),
	} {
		read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "tributary://threads/" + res.Thread + "/outputs/" + name})
		if err == nil {
			t.Errorf("%q is read: %+v", name, read.Contents[0])
		}
	}
}

func TestAQuestionIsAnswered(t *testing.T) {
	ask := tool.FuncOfCall("ask", "Asks.", func(_ context.Context, call tool.Call, _ struct{}) (string, error) {
		return tool.Ask[string](call.Scope, tool.Question{Value: "Which colour?", Options: []string{"red", "blue"}})
	})
	w := serve(t, tributary.Options{Tools: []tool.Tool{ask}, Models: tributary.OneModel(scripted.New(func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == item.Tool {
			return scripted.Say("It is " + last.Text())
		}
		return scripted.Call("c1", "ask", "{}")
	}))})
	c := w.connect("anna", versions[0])
	res, err := c.call("agent", map[string]any{"message": "paint"})
	if err != nil || res.IsError || res.Status != "interrupted" || len(res.Questions) != 1 || res.Questions[0].Value != "Which colour?" || !strings.Contains(textOf(res), "Which colour?") {
		t.Fatalf("got %+v, %s, %v", res, textOf(res), err)
	}
	read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "tributary://threads/" + res.Thread})
	if err != nil || !strings.Contains(read.Contents[0].Text, "Which colour?") {
		t.Errorf("the thread is %+v, %v", read, err)
	}
	res, err = c.call("agent", map[string]any{"thread_id": res.Thread, "answer": "red"})
	if err != nil || res.Text != "It is red" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestAGraphWithoutMessagesTakesItsFields(t *testing.T) {
	n := graph.LastValue[int]("n")
	g := graph.New("double", n).Node("double", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(n.Set(2 * n.Get(s))), nil
	}).Edge(graph.Start, "double").Edge("double", graph.End)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	w := serve(t, tributary.Options{Graphs: map[string]tributary.Builder{"double": tributary.Fixed(g)}})
	c := w.connect("anna", versions[1])
	if res, err := c.call("double", map[string]any{"message": "21"}); err != nil || !res.IsError || !strings.Contains(textOf(res), "input") {
		t.Errorf("got %+v, %v", res, err)
	}
	if res, err := c.call("double", map[string]any{"input": map[string]any{"n": 21}}); err != nil || res.Status != "success" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestACallThatIsCancelledStopsItsRun(t *testing.T) {
	let := make(chan struct{})
	defer close(let)
	w := serve(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Wait(let).Say("second")))})
	c := w.connect("anna", versions[1])
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-c.first
		cancel()
	}()
	if res, err := c.callIn(ctx, "agent", map[string]any{"message": "go"}); err == nil {
		t.Errorf("got %+v", res)
	}
	runs, _, err := w.rt.Runs(t.Context(), "anna", tributary.RunQuery{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs %+v, %v", runs, err)
	}
	if r, err := w.rt.Wait(t.Context(), "anna", runs[0].ID); err != nil || r.Status != event.Cancelled {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

func TestAConnectionThatBreaksStopsNothingForOlderClients(t *testing.T) {
	let := make(chan struct{})
	w := serve(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Wait(let).Say("second")))})
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent","arguments":{"message":"go"},"_meta":{"progressToken":1}}}`))
	for name, value := range map[string]string{"Who": "anna", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": versions[0]} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	leave()
	res.Body.Close()
	close(let)
	runs, _, err := w.rt.Runs(t.Context(), "anna", tributary.RunQuery{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs %+v, %v", runs, err)
	}
	if r, err := w.rt.Wait(t.Context(), "anna", runs[0].ID); err != nil || r.Status != event.Success {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestClosingEndsCallsAndLeavesRunsAlone(t *testing.T) {
	let := make(chan struct{})
	w := serve(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Wait(let).Say("second")))})
	c := w.connect("anna", versions[1])
	go func() {
		<-c.first
		w.h.Closing()
	}()
	if res, err := c.call("agent", map[string]any{"message": "go"}); err == nil || !strings.Contains(err.Error(), "thread_id") {
		t.Errorf("got %+v, %v", res, err)
	}
	close(let)
	runs, _, err := w.rt.Runs(t.Context(), "anna", tributary.RunQuery{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs %+v, %v", runs, err)
	}
	if r, err := w.rt.Wait(t.Context(), "anna", runs[0].ID); err != nil || r.Status != event.Success {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}
