package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// taskWorld is a whole process: database, engine and server on a data folder, so that a test can stop it and start
// another one on the same folder.
type taskWorld struct {
	t      testing.TB
	dir    string
	db     *sqlite.DB
	j      *journal.Journal
	e      *run.Engine
	srv    *server.Server
	http   *httptest.Server
	client *http.Client
	user   string
	closed chan string // addresses of clients whose connections the server has closed
}

type taskGraphs map[string]*graph.Graph

func (g taskGraphs) Names() (names []string) {
	for n := range g {
		names = append(names, n)
	}
	return names
}

func (g taskGraphs) Graph(_ context.Context, _ run.Identity, name string, r run.Request) (*graph.Graph, error) {
	if strings.Contains(string(r.Config), `"unheard-of"`) {
		return nil, run.Invalidf("config.configurable.model_name", "there is no model %q", "unheard-of")
	}
	if g[name] == nil {
		return nil, run.ErrNotFound
	}
	return g[name], nil
}

func openTasks(t testing.TB, dir string, graphs taskGraphs, change ...func(*server.Options)) *taskWorld {
	t.Helper()
	ctx := context.Background()
	w := &taskWorld{t: t, dir: dir, user: "me"}
	var err error
	if w.db, err = sqlite.Open(ctx, dir, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	var defaults []run.Assistant
	for name := range graphs {
		defaults = append(defaults, run.Assistant{Graph: name, CreatedAt: time.Now()})
	}
	if err := run.EnsureDefaults(ctx, w.db, defaults); err != nil {
		t.Fatal(err)
	}
	w.j = journal.Open(w.db, journal.Options{Poll: 20 * time.Millisecond})
	w.e, err = run.Open(ctx, run.Options{
		Store: w.db, Journal: w.j, Checkpoints: w.db, Poll: 20 * time.Millisecond, Requests: true,
		Build: func(ctx context.Context, r run.Run) (*graph.Graph, error) {
			return graphs.Graph(ctx, run.Identity{Owner: r.Owner}, r.Request.Graph, r.Request)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	opt := server.Options{
		Engine: w.e, Journal: w.j, Store: w.db, Graphs: graphs,
		Identify: func(r *http.Request) (run.Identity, error) {
			if r.Header.Get("X-User") == "" {
				return run.Identity{}, errors.New("say who you are")
			}
			return run.Identity{Owner: r.Header.Get("X-User")}, nil
		},
	}
	for _, f := range change {
		f(&opt)
	}
	if w.srv, err = server.New(opt); err != nil {
		t.Fatal(err)
	}
	w.closed = make(chan string, 100)
	w.http = httptest.NewUnstartedServer(w.srv)
	w.http.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			select {
			case w.closed <- c.RemoteAddr().String():
			default: // nobody looks
			}
		}
	}
	w.http.Start()
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	return w
}

// newTasks is openTasks on a fresh folder, closed with the test.
func newTasks(t testing.TB, graphs taskGraphs, change ...func(*server.Options)) *taskWorld {
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := openTasks(t, dir, graphs, change...)
	t.Cleanup(w.stop)
	return w
}

// stop ends the process; runs that have not ended are handed over to the next one.
func (w *taskWorld) stop() {
	w.t.Helper()
	w.srv.Closing()
	w.client.CloseIdleConnections()
	w.http.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := w.e.Close(ctx); err != nil {
		w.t.Errorf("close engine: %v", err)
	}
	w.j.Close()
	if err := w.db.Close(); err != nil {
		w.t.Errorf("close database: %v", err)
	}
}

func (w *taskWorld) request(method, path, body string, header ...string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-User", w.user)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (w *taskWorld) do(method, path, body string, header ...string) reply {
	w.t.Helper()
	res, err := w.client.Do(w.request(method, path, body, header...))
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s %s: read: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header, data}
}

// must is do, with the status that is wanted.
func (w *taskWorld) must(status int, method, path, body string, header ...string) reply {
	w.t.Helper()
	got := w.do(method, path, body, header...)
	if got.status != status {
		w.t.Fatalf("%s %s: got status %d, want %d: %s", method, path, got.status, status, got.body)
	}
	return got
}

// object reads an answer into a map.
func (r reply) object(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.body, &m); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return m
}

// create starts a task, waits for its end and returns its id.
func (w *taskWorld) create(body string) string {
	w.t.Helper()
	return w.must(200, "POST", "/tasks", body).object(w.t)["task_id"].(string)
}

// sseFrame is one event as it came: its text, its data and its id.
type sseFrame struct{ text, data, id string }

// readFrames reads n frames, or all if n is negative.
func readFrames(r *bufio.Reader, n int) (frames []sseFrame, err error) {
	var f sseFrame
	for n < 0 || len(frames) < n {
		line, err := r.ReadString('\n')
		if err != nil {
			if err == io.EOF && f == (sseFrame{}) {
				return frames, nil
			}
			return frames, err
		}
		if strings.HasPrefix(line, ":") {
			continue
		}
		f.text += line
		switch {
		case line == "\n":
			frames = append(frames, f)
			f = sseFrame{}
		case strings.HasPrefix(line, "data: "):
			f.data = strings.TrimSpace(line[6:])
		case strings.HasPrefix(line, "id: "):
			f.id = strings.TrimSpace(line[4:])
		default:
			return frames, fmt.Errorf("unexpected line %q", line)
		}
	}
	return frames, nil
}

func textOf(frames []sseFrame) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(f.text)
	}
	return b.String()
}

// open begins to read a stream.
func (w *taskWorld) open(method, path, body string, header ...string) (*http.Response, *bufio.Reader) {
	w.t.Helper()
	res, err := w.client.Do(w.request(method, path, body, header...))
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		data, _ := io.ReadAll(res.Body)
		w.t.Fatalf("%s %s: got %d %s: %s", method, path, res.StatusCode, res.Header.Get("Content-Type"), data)
	}
	return res, bufio.NewReader(res.Body)
}

// events reads a stream from after an id to its end.
func (w *taskWorld) events(id, last string) []sseFrame {
	w.t.Helper()
	var header []string
	if last != "" {
		header = []string{"Last-Event-ID", last}
	}
	id, query, _ := strings.Cut(id, "?")
	res, r := w.open("GET", "/tasks/"+id+"/events?"+query, "", header...)
	defer res.Body.Close()
	frames, err := readFrames(r, -1)
	if err != nil {
		w.t.Fatalf("read events of %s after %q: %v", id, last, err)
	}
	return frames
}

// messages is the field that all graphs here have.
var messages = graph.Messages("messages")

// say is one turn of a model that thinks, and then says words.
func say(ctx context.Context, s *graph.Scope, agent string, words []string) (item.Message, error) {
	w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "turn_" + s.Execution(), Agent: agent, Model: "m"})
	if err != nil {
		return item.Message{}, err
	}
	if err := w.Reasoning(ctx, 0, 0, "let me see"); err != nil {
		return item.Message{}, err
	}
	for _, word := range words {
		if err := w.Text(ctx, 0, word); err != nil {
			return item.Message{}, err
		}
	}
	w.Usage(item.Usage{InputTokens: 3, OutputTokens: len(words)})
	return w.End(ctx, item.FinishStop, "m")
}

// one is a graph of one node.
func one(name string, f graph.NodeFunc) *graph.Graph {
	g := graph.New(name, messages)
	g.Node("work", f)
	g.Edge(graph.Start, "work")
	g.Edge("work", graph.End)
	return g
}

// talker says the words of a greeting.
func talker() *graph.Graph { return one("agent", talkerNode) }

func talkerNode(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	m, err := say(ctx, s, "talker", strings.SplitAfter("Hello there, 你好 and good day.\n\"Quoted\"", " "))
	return graph.Update(messages.Add(m)), err
}

// valve lets a talker say one word for each that is sent to it.
type valve struct {
	words chan string
	once  sync.Once
}

func newValve() *valve { return &valve{words: make(chan string)} }

func (v *valve) close() { v.once.Do(func() { close(v.words) }) }

func (v *valve) graph(name string) *graph.Graph {
	return one(name, func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "turn_" + s.Config().Run, Agent: "valve", Model: "m"})
		if err != nil {
			return graph.Command{}, err
		}
		for {
			select {
			case word, ok := <-v.words:
				if !ok {
					m, err := w.End(ctx, item.FinishStop, "m")
					return graph.Update(messages.Add(m)), err
				}
				if err := w.Text(ctx, 0, word); err != nil {
					return graph.Command{}, err
				}
			case <-ctx.Done():
				return graph.Command{}, context.Cause(ctx)
			}
		}
	})
}

// asker asks two questions, one after the other, and says the answers.
func asker() *graph.Graph {
	return one("ask", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		name, err := graph.Ask[string](s, "who are you?")
		if err != nil {
			return graph.Command{}, err
		}
		age, err := graph.Ask[int](s, "how old?", graph.Options("1", "2"))
		if err != nil {
			return graph.Command{}, err
		}
		m, err := say(ctx, s, "asker", []string{name, fmt.Sprint(" is ", age)})
		return graph.Update(messages.Add(m)), err
	})
}

// manager has two sub-agents at work at the same time, by tool calls.
func manager() *graph.Graph {
	child := one("helper", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		m, err := say(ctx, s, "helper", []string{"I ", "help ", s.Task()})
		return graph.Update(messages.Add(m)), err
	})
	return one("manager", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "turn_" + s.Execution(), Agent: "manager", Model: "m"})
		if err != nil {
			return graph.Command{}, err
		}
		shown := event.ContextPrepared{Turn: w.ID(), Bytes: 13, Messages: 1, Tools: []string{"helper"}}
		if err := s.Show(ctx, shown, []byte(`{"model":"m"}`)); err != nil {
			return graph.Command{}, err
		}
		calls := []string{"call_a", "call_b"}
		for i, c := range calls {
			if err := w.Call(ctx, i, item.ToolCall{CallID: c, Name: "helper", Arguments: `{"prompt":"help"}`}); err != nil {
				return graph.Command{}, err
			}
		}
		m, err := w.End(ctx, item.FinishToolCalls, "m")
		if err != nil {
			return graph.Command{}, err
		}
		results := make([]item.Message, len(calls))
		errs := make([]error, len(calls))
		var wg sync.WaitGroup
		for i, c := range calls {
			wg.Go(func() { results[i], errs[i] = help(ctx, s, child, c) })
		}
		wg.Wait()
		return graph.Update(messages.Add(append([]item.Message{m}, results...)...)), errors.Join(errs...)
	})
}

// help is a tool call that contains a sub-agent, and whose result can be cited.
func help(ctx context.Context, s *graph.Scope, child *graph.Graph, call string) (item.Message, error) {
	id := "fco_" + call
	if err := s.Emit(ctx, event.ItemStarted{Item: id, Type: item.TypeToolResult, CallID: call, Name: "helper"}); err != nil {
		return item.Message{}, err
	}
	_, err := s.Run(ctx, child, graph.Child{Task: call, Agent: "helper", Input: map[string]any{"messages": []item.Message{item.UserText("in_"+call, "help")}}})
	if err != nil {
		return item.Message{}, err
	}
	res := item.ToolResult{ID: id, CallID: call, Name: "helper", Content: []item.Block{
		{Type: item.TextBlock, Text: "<referencable-item>\nID: 1", Ref: 1},
		{Type: item.ImageBlock, URL: "data:image/png;base64,iVBORw0KGgo=", Ref: 1},
		{Type: item.TextBlock, Text: "</referencable-item>", Ref: 1},
	}, Blocks: []item.Block{{Type: item.TextBlock, Text: "helped", Ref: 1}}}
	err = s.Promise(ctx, event.ItemEnded{Item: res, Status: item.Completed})
	return item.Message{ID: id, Role: item.Tool, CallID: call, Name: "helper", Content: res.Content, Blocks: res.Blocks}, err
}

// canonical writes JSON with sorted keys and no spaces.
func canonical(t testing.TB, data []byte) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
