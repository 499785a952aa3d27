package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// fakeVar makes the test binary a server over its input and output.
const fakeVar = "TRIBUTARY_FAKE_MCP"

func TestMain(m *testing.M) {
	switch os.Getenv(fakeVar) {
	case "":
		goleak.VerifyTestMain(m)
	case "mute": // it neither reads nor writes
		select {}
	case "noise":
		fmt.Println("Hello! I am a server, and this is no JSON.")
		select {}
	case "dead":
		fmt.Fprintln(os.Stderr, "the \x1b[31mdatabase\x1b[0m is missing")
		os.Exit(3)
	default:
		if err := newFake().server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	}
}

// fake is a server with tools for every kind of trouble.
type fake struct {
	server    *mcp.Server
	calls     atomic.Int32
	sessions  atomic.Int32
	cancelled chan struct{} // a call of "hang" was cancelled
	heard     chan struct{} // progress was passed on
	stop      chan struct{} // closed when the test is over
}

func newFake() *fake {
	f := &fake{cancelled: make(chan struct{}, 10), heard: make(chan struct{}, 1), stop: make(chan struct{})}
	f.server = mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, &mcp.ServerOptions{
		InitializedHandler: func(context.Context, *mcp.InitializedRequest) { f.sessions.Add(1) },
	})
	f.add("echo", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.calls.Add(1)
		return say(string(req.Params.Arguments)), nil
	})
	f.add("count", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(fmt.Sprint(f.calls.Add(1))), nil
	})
	f.add("env", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(strings.Join(os.Environ(), "\n")), nil
	})
	f.add("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(1)
		return nil, nil
	})
	f.add("hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			f.cancelled <- struct{}{}
		case <-f.stop:
		}
		return nil, context.Canceled
	})
	f.add("flood", f.flood)
	f.add("progress", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Message: "half\x1b way\u202e", Progress: 1, Total: 2,
		})
		select {
		case <-f.heard: // what is told at the end may come too late
		case <-f.stop:
		}
		return say("done"), err
	})
	f.add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.add("grown", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("tall"), nil })
		f.server.RemoveTools("count")
		return say("grown"), nil
	})
	f.add("ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.calls.Add(1)
		if in := req.Params.InputResponses["q"]; in != nil {
			return answered(in.(*mcp.ElicitResult)), nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": question()}, RequestState: "x"}, nil
	})
	f.add("elicit", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.calls.Add(1)
		got, err := req.Session.Elicit(ctx, question())
		if err != nil {
			return nil, err
		}
		return answered(got), nil
	})
	f.add("show", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "a\x00b\x1b[2J"},
			&mcp.ImageContent{Data: []byte("picture"), MIMEType: "image/png"},
			&mcp.ImageContent{Data: []byte("<script>"), MIMEType: "image/svg+xml"},
			&mcp.AudioContent{Data: []byte("song"), MIMEType: "audio/mpeg"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.txt", Text: "inside"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.webp", MIMEType: "image/webp", Blob: []byte("blob")}},
			&mcp.ResourceLink{URI: "https://example.com/x", Name: "x]\n(evil"},
		}}, nil
	})
	f.add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
	})
	f.add("refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("not\x07 today")
	})
	return f
}

func (f *fake) add(name string, h mcp.ToolHandler) {
	f.server.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func (f *fake) flood(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range 500 {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Message: strings.Repeat("x", 1000), Progress: float64(i),
		}); err != nil {
			return nil, err
		}
	}
	res := &mcp.CallToolResult{}
	for range 10 {
		res.Content = append(res.Content, &mcp.TextContent{Text: strings.Repeat("ä", 20_000)}, &mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 64<<10)})
	}
	return res, nil
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func question() *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Which colour?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}`)}
}

func answered(r *mcp.ElicitResult) *mcp.CallToolResult {
	return say(fmt.Sprint(r.Action, " ", r.Content["colour"]))
}

// stdio is a server that is this test binary.
func stdio(t *testing.T, kind string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "fake", Command: self, Env: []string{fakeVar + "=" + kind}}
}

// web serves a fake over streamable HTTP.
func (f *fake) web(t *testing.T) (Server, *http.Client) {
	t.Helper()
	s, client := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.server }, nil))
	t.Cleanup(func() { close(f.stop) })
	return s, client
}

func serve(t *testing.T, h http.Handler) (Server, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return Server{Name: "fake", URL: s.URL}, s.Client()
}

// world is a hub and what it was asked for.
type world struct {
	*testing.T
	hub *Hub
}

func open(t *testing.T, client *http.Client, servers ...Server) *world {
	t.Helper()
	hub, err := Open(Options{Servers: servers, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t, hub}
}

var anna = Who{Agent: "agent", Owner: "anna", Thread: "t1"}

func (w *world) tools() map[string]tool.Tool {
	w.Helper()
	list, problems := w.hub.Tools(w.Context(), anna)
	for _, p := range problems {
		w.Errorf("%s: %v", p.Server, p.Err)
	}
	byName := map[string]tool.Tool{}
	for _, t := range list {
		byName[t.Spec().Name] = t
	}
	return byName
}

func (w *world) call(name string, calls ...tool.Call) (item.ToolResult, error) {
	w.Helper()
	call := tool.Call{Owner: anna.Owner, Thread: anna.Thread, Scope: &scope{}}
	for _, call = range calls {
	}
	return w.callIn(w.Context(), name, call)
}

func (w *world) callIn(ctx context.Context, name string, call tool.Call) (item.ToolResult, error) {
	w.Helper()
	t := w.tools()["fake__"+name]
	if t == nil {
		w.Fatalf("there is no tool %s", name)
	}
	if call.Arguments == nil {
		call.Arguments = json.RawMessage(`{}`)
	}
	return tool.Invoke(ctx, t, call)
}

// want calls a tool whose result must contain a text.
func (w *world) want(name, text string, calls ...tool.Call) {
	w.Helper()
	res, err := w.call(name, calls...)
	if got := item.JoinText(res.Content); err != nil || !strings.Contains(got, text) {
		w.Errorf("%s: got %q, %v; want %q", name, got, err, text)
	}
}

// wantFailure calls a tool that must fail with words for the model.
func (w *world) wantFailure(name, text string) {
	w.Helper()
	res, err := w.call(name)
	if got := item.JoinText(res.Content); err != nil || !res.Error || !strings.Contains(got, text) {
		w.Errorf("%s: got %q, error %v, %v; want a failed result with %q", name, got, res.Error, err, text)
	}
}

// scope notes what a call says, and answers its questions.
type scope struct {
	tool.Scope
	answers []string // in order; when there are no more, a person is asked
	heard   func()   // called when progress was told; nil for nothing
	mu      sync.Mutex
	asked   []tool.Question
	told    []tool.Progress
	at      []time.Time
}

var errAsked = errors.New("a person is asked")

func (s *scope) Ask(q tool.Question) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	if len(s.asked) > len(s.answers) {
		return nil, tool.Abort(errAsked)
	}
	return json.RawMessage(s.answers[len(s.asked)-1]), nil
}

func (s *scope) Progress(p tool.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, p)
	s.at = append(s.at, time.Now())
	if s.heard != nil {
		s.heard()
	}
}

func names(tools map[string]tool.Tool) []string {
	var list []string
	for name := range tools {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
