package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

func TestToolsOfAProcessAreCalled(t *testing.T) {
	w := open(t, nil, stdio(t, "yes"))
	spec := w.tools()["fake__echo"].Spec()
	if spec.Description != "does echo" || spec.Group != Group || !spec.Risk.Has(tool.Leaves) {
		t.Errorf("the tool is described as %+v", spec)
	}
	w.want("echo", `{"a":[1,"ü"]}`, tool.Call{Owner: "anna", Thread: "t1", Arguments: json.RawMessage(`{"a":[1,"ü"]}`)})
	w.wantFailure("fail", "no such city")
	w.wantFailure("refuse", "not today")
}

func TestToolsOverHTTPAreCalled(t *testing.T) {
	f := newFake()
	for kind, h := range map[Transport]http.Handler{
		HTTP: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.server }, nil),
		SSE:  mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return f.server }, nil),
	} {
		t.Run(string(kind), func(t *testing.T) {
			s, client := serve(t, h)
			s.Type = kind
			w := open(t, client, s)
			w.want("echo", `{"x":1}`, tool.Call{Arguments: json.RawMessage(`{"x":1}`)})
		})
	}
}

func TestAServerThatDiesCostsOneCallAndIsStartedAgain(t *testing.T) {
	w := open(t, nil, stdio(t, "yes"))
	w.want("count", "1")
	w.want("count", "2")
	w.wantFailure("die", "ended during the call")
	w.want("count", "1") // another process
}

func TestAnHTTPServerThatForgotTheSessionIsAskedAgain(t *testing.T) {
	f := newFake()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.server }, nil)
	var mu sync.Mutex
	session, forgotten := "", ""
	s, client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		gone := forgotten != "" && r.Header.Get("Mcp-Session-Id") == forgotten
		mu.Unlock()
		switch {
		case r.Method == http.MethodGet: // without this stream, nothing but the next call tells that the session is gone
			w.WriteHeader(http.StatusMethodNotAllowed)
		case gone:
			w.WriteHeader(http.StatusNotFound)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	defer func() {
		for ss := range f.server.Sessions() {
			_ = ss.Close() // the one that nobody asks for any more
		}
	}()
	w := open(t, client, s)
	w.want("echo", "{}")
	mu.Lock()
	forgotten = session
	mu.Unlock()
	if forgotten == "" {
		t.Fatal("there is no session to forget")
	}
	w.want("echo", "{}")
	if n := f.calls.Load(); n != 2 {
		t.Errorf("the tool was called %d times, want 2", n)
	}
}

func TestAServerThatNeverAnswersCostsOneCall(t *testing.T) {
	s := stdio(t, "yes")
	s.Timeout = 300 * time.Millisecond
	w := open(t, nil, s)
	w.wantFailure("hang", "did not answer within 300ms")
	w.want("count", "1") // in another process: nobody knows what the old one is doing
}

func TestServersThatCannotBeUsedAreTold(t *testing.T) {
	for kind, want := range map[string]string{
		"mute": "not ready within", "noise": "cannot be used", "dead": "the [31mdatabase[0m is missing", "/no/such/program": "no such file",
	} {
		t.Run(filepath.Base(kind), func(t *testing.T) {
			t.Parallel()
			s := stdio(t, kind)
			if s.Start = 2 * time.Minute; kind == "mute" {
				s.Start = 500 * time.Millisecond
			}
			if kind[0] == '/' {
				s.Command = kind
			}
			w := open(t, nil, s)
			tools, problems := w.hub.Tools(t.Context(), anna)
			if len(tools) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Err.Error(), want) {
				t.Errorf("got %d tools and %v, want %q", len(tools), problems, want)
			}
		})
	}
}

func TestAFloodIsCut(t *testing.T) {
	w := open(t, nil, stdio(t, "yes"))
	sc := &scope{}
	res, err := w.call("flood", tool.Call{Scope: sc})
	if err != nil || res.Error {
		t.Fatalf("got %.200v, %v", res.Content, err)
	}
	var text, pictures int
	for _, b := range res.Content {
		text += len(b.Text)
		pictures += len(b.URL)
	}
	if text > maxText+5_000 || pictures > 2*maxImages || !strings.Contains(item.JoinText(res.Content), "has been cut") {
		t.Errorf("the result has %d bytes of text and %d of pictures", text, pictures)
	}
	for i := 1; i < len(sc.at); i++ {
		if pause := sc.at[i].Sub(sc.at[i-1]); pause < progressPause/2 {
			t.Errorf("progress was told twice within %v", pause)
		}
	}
	for _, p := range sc.told {
		if len(p.Message) > 4*maxMention {
			t.Errorf("a message of progress has %d bytes", len(p.Message))
		}
	}
}

func TestAToolListThatChangesIsReadAgain(t *testing.T) {
	for kind, opened := range map[string]func(*testing.T) *world{
		"stdio": func(t *testing.T) *world { return open(t, nil, stdio(t, "yes")) },
		"http": func(t *testing.T) *world {
			s, client := newFake().web(t)
			return open(t, client, s)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			w := opened(t)
			before := w.tools()
			if before["fake__grown"] != nil || before["fake__count"] == nil {
				t.Fatalf("there are %v", names(before))
			}
			w.want("grow", "grown")
			for deadline := time.Now().Add(2 * time.Minute); ; {
				after := w.tools()
				if after["fake__grown"] != nil && after["fake__count"] == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("there are still %v", names(after))
				}
				time.Sleep(5 * time.Millisecond) // the notice comes when it comes
			}
			w.want("grown", "tall")
			// A run that began before has a tool that is gone. It reads so.
			res, err := tool.Invoke(t.Context(), before["fake__count"], tool.Call{Owner: "anna", Thread: "t1"})
			if err != nil || !res.Error || !strings.Contains(item.JoinText(res.Content), "refused the call") {
				t.Errorf("a tool that is gone says %v, %v", res.Content, err)
			}
		})
	}
}

func TestProgressIsPassedOn(t *testing.T) {
	f := newFake()
	s, client := f.web(t)
	w := open(t, client, s)
	sc := &scope{heard: func() { f.heard <- struct{}{} }}
	w.want("progress", "done", tool.Call{Owner: "anna", Thread: "t1", Scope: sc})
	if want := (tool.Progress{Message: "half way", Done: 1, Total: 2}); len(sc.told) != 1 || sc.told[0].Message != want.Message || sc.told[0].Done != 1 || sc.told[0].Total != 2 {
		t.Errorf("told %+v, want %+v", sc.told, want)
	}
}

func TestCancelIsPassedOnAndTheSessionStays(t *testing.T) {
	f := newFake()
	s, client := f.web(t)
	w := open(t, client, s)
	w.want("echo", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for f.sessions.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		time.AfterFunc(50*time.Millisecond, cancel)
	}()
	if res, err := w.callIn(ctx, "hang", tool.Call{Owner: "anna", Thread: "t1", Scope: &scope{}}); err != nil || !res.Error {
		t.Errorf("got %v, %v", res, err)
	}
	select {
	case <-f.cancelled:
	case <-time.After(2 * time.Minute):
		t.Error("the server was not told")
	}
	w.want("echo", "{}")
	if n := f.sessions.Load(); n > 1 {
		t.Errorf("there were %d sessions, want 1", n)
	}
}

func TestAQuestionOfAServerIsOneToAPerson(t *testing.T) {
	f := newFake()
	s, client := f.web(t)
	for _, name := range []string{"elicit", "ask"} {
		for answer, want := range map[string]string{
			`{"colour":"red"}`: "accept red", `"blue"`: "accept blue", `{"action":"accept","content":{"colour":"green"}}`: "accept green",
			`{"action":"decline"}`: "decline", `null`: "decline", `{"action":"cancel"}`: "cancel",
		} {
			t.Run(name+" "+want, func(t *testing.T) {
				f.calls.Store(0)
				w := open(t, client, s)
				asking := &scope{}
				call := tool.Call{Owner: "anna", Thread: "t1", Scope: asking}
				if _, err := w.call(name, call); !errors.Is(err, errAsked) {
					t.Fatalf("the call returned %v, want that a person is asked", err)
				}
				q, ok := asking.asked[0].Value.(Question)
				if !ok || q.Message != "Which colour?" || q.Server != "fake" || !strings.Contains(string(q.Schema), "colour") {
					t.Errorf("the question is %+v", asking.asked[0])
				}
				call.Scope = &scope{answers: []string{answer}}
				w.want(name, want, call)
			})
		}
	}
}

func TestAQuestionThatNobodyCanBeToldOfIsPutOff(t *testing.T) {
	f := newFake()
	s, client := f.web(t)
	w := open(t, client, s)
	tools := w.tools()
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() {
		_, _ = tool.Invoke(ctx, tools["fake__hang"], tool.Call{Owner: "anna", Thread: "t1", Scope: &scope{}})
	})
	sc := &scope{answers: []string{`"red"`, `"red"`}}
	call := tool.Call{Owner: "anna", Thread: "t1", Scope: sc}
	for {
		w.hub.mu.Lock()
		under := 0
		for _, ss := range w.hub.order[0].sessions {
			under += len(ss.flights)
		}
		w.hub.mu.Unlock()
		if under > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	w.want("elicit", "cancel", call)
	if len(sc.asked) > 0 {
		t.Errorf("%+v was asked, by a call whose question it may not be", sc.asked)
	}
	cancel()
	others.Wait()
	w.want("elicit", "accept red", call)
}

func TestPicturesAndResourcesBecomeBlocks(t *testing.T) {
	w := open(t, nil, stdio(t, "yes"))
	res, err := w.call("show")
	if err != nil {
		t.Fatal(err)
	}
	want := []item.Block{
		{Type: item.TextBlock, Text: "ab[2J"},
		{Type: item.ImageBlock, MIME: "image/png", URL: "data:image/png;base64,cGljdHVyZQ=="},
		{Type: item.TextBlock, Text: "[image: a file of type image/svg+xml and 8 bytes, which cannot be shown here.]"},
		{Type: item.TextBlock, Text: "\n[A recording of type audio/mpeg and 4 bytes, which cannot be shown here.]"},
		{Type: item.TextBlock, Text: "\nfile:///a.txt:\ninside"},
		{Type: item.ImageBlock, MIME: "image/webp", URL: "data:image/webp;base64,YmxvYg=="},
		{Type: item.TextBlock, Text: "[x  (evil](https://example.com/x)"},
	}
	for i, b := range res.Content {
		if i >= len(want) || b.Type != want[i].Type || b.Text != want[i].Text || b.URL != want[i].URL || b.MIME != want[i].MIME {
			t.Errorf("block %d is %+v", i, b)
		}
	}
	if len(res.Content) != len(want) {
		t.Errorf("got %d blocks, want %d", len(res.Content), len(want))
	}
}

func TestAProcessGetsACleanEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	s := stdio(t, "yes")
	s.Env = append(s.Env, "TOKEN=mine")
	w := open(t, nil, s)
	res, err := w.call("env")
	got := item.JoinText(res.Content)
	if err != nil || strings.Contains(got, "secret") || !strings.Contains(got, "TOKEN=mine") || !strings.Contains(got, "PATH="+os.Getenv("PATH")) {
		t.Errorf("the environment is %q, %v", got, err)
	}
}

func TestThreadsDoNotShareASessionUnlessTheSettingsSaySo(t *testing.T) {
	for share, want := range map[Share][3]string{ByThread: {"1", "1", "1"}, ByOwner: {"1", "2", "1"}, ByAll: {"1", "2", "3"}} {
		t.Run(string(share), func(t *testing.T) {
			t.Parallel()
			s := stdio(t, "yes")
			s.Share = share
			w := open(t, nil, s)
			for i, who := range []tool.Call{{Owner: "anna", Thread: "t1"}, {Owner: "anna", Thread: "t2"}, {Owner: "bert", Thread: "t1"}} {
				w.want("count", want[i], who)
			}
		})
	}
}

func TestSessionsAreFew(t *testing.T) {
	hub, err := Open(Options{Servers: []Server{stdio(t, "yes")}, Sessions: 2})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, hub}
	for _, thread := range []string{"t1", "t2", "t3", "t2"} {
		w.want("echo", "{}", tool.Call{Owner: "anna", Thread: thread})
		hub.mu.Lock()
		if hub.count > 2 {
			t.Errorf("there are %d sessions", hub.count)
		}
		hub.mu.Unlock()
	}
	if err := hub.Close(); err != nil {
		t.Error(err)
	}
	if _, problems := hub.Tools(t.Context(), anna); len(problems) != 1 || !errors.Is(problems[0].Err, errClosed) {
		t.Errorf("a closed hub says %v", problems)
	}
}

func TestASessionThatNobodyUsesEnds(t *testing.T) {
	f := newFake()
	s, client := f.web(t)
	hub, err := Open(Options{Servers: []Server{s}, HTTP: client, Idle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	w := &world{t, hub}
	w.want("echo", "{}")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		hub.mu.Lock()
		left := hub.count
		hub.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions are left", left)
		}
	}
	w.want("echo", "{}")
}

func TestOnlyWhatTheSettingsNameIsOffered(t *testing.T) {
	s := stdio(t, "yes")
	s.Tools, s.Agents = []string{"echo", "fail", "unknown"}, []string{"researcher"}
	w := open(t, nil, s)
	if tools := w.tools(); len(tools) > 0 {
		t.Errorf("the agent has %v", names(tools))
	}
	tools, problems := w.hub.Tools(t.Context(), Who{Agent: "researcher"})
	var got []string
	for _, tl := range tools {
		got = append(got, tl.Spec().Name)
	}
	slices.Sort(got)
	if want := []string{"fake__echo", "fake__fail"}; !slices.Equal(got, want) || problems != nil {
		t.Errorf("the researcher has %v, %v; want %v", got, problems, want)
	}
}
