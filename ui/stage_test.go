package ui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/ui"
)

// The test program is also the server that it tests, so that it can really be killed: started with PAGE_STAGE it serves from
// that folder until it dies.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PAGE_STAGE"); dir != "" {
		serve := perform
		switch os.Getenv("PAGE_CAST") {
		case "offline", "whole":
			serve = performOffline
		case "team":
			serve = performTeam
		}
		if err := serve(dir, os.Getenv("PAGE_ADDR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if shared.c != nil {
		shared.c.stop()
	}
	os.Exit(code)
}

// page is the built page: the embedded one, or a folder that somebody who works on it has just built.
func page() fs.FS {
	if dir := os.Getenv("PAGE_DIST"); dir != "" {
		return os.DirFS(dir)
	}
	return ui.Files()
}

// perform serves the page with an agent that plays its parts by heart.
func perform(dir, addr string) error {
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Dir: dir, MaxAttempts: 100, Files: true, Graphs: map[string]tributary.Builder{
		"agent":    func(_ context.Context, c tributary.Config) (*graph.Graph, error) { return cast(c.Configurable) },
		"research": func(context.Context, tributary.Config) (*graph.Graph, error) { return researcher() },
	}})
	if err != nil {
		return err
	}
	srv, err := httpapi.New(rt, httpapi.Options{Page: page(), Model: "offline", Models: []httpapi.Model{
		{Name: "offline", Provider: "offline", Default: true, Usable: true}, {Name: "thinker", Provider: "scripted", Thinking: true, Usable: true}, {Name: "keyless", Provider: "scripted"},
	}})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return http.Serve(l, srv)
}

// river is what the slow story says, some hundred pieces of words.
var river = func() string {
	var b strings.Builder
	b.WriteString("## The river\n\n")
	for i := range 18 {
		fmt.Fprintf(&b, "%d. Past kilometre **%d** the river carries `%d` boats, unhurriedly and without repetition.\n", i+1, 433+i, 7*i+3)
	}
	b.WriteString("\n| gauge | level |\n|---|--:|\n| Kaub | 25 cm |\n| Ruhrort | 153 cm |\n\nThat is all there is to tell.")
	return b.String()
}()

func cast(configurable json.RawMessage) (*graph.Graph, error) {
	search := tool.Func("search", "Finds passages.", func(_ context.Context, _ struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		passage := func(n int, title, place, text string) item.Block {
			return item.Block{Type: item.TextBlock, Ref: n, Name: title + " — " + place, URL: place, Text: text}
		}
		found := []item.Block{
			passage(1, "Server-sent events, HTML Standard", "html/sse.md#last-event-id", "When a connection is lost, the browser waits and asks again. The last event ID buffer is set to the value of the field, and sent as a header."),
			passage(2, "The task wire", "tributary/wire/task.md#the-stream", "One JSON object per event, with type, task_id and sequence_number: 0, 1, 2 … without holes, one counter for the whole tree of sub-agents.\n\n`Last-Event-ID: 5` and `?after=5` mean the same: everything after number 5. `-1`, or neither, is everything.\n\nReaders may come and go, early or late, as many as like: all see the same events."),
			passage(3, "One log, many readers", "tributary/architecture.md#one-log", "An event is visible to a reader only after it is durable. A crash cannot take back a word that somebody has read."),
		}
		return item.ToolResult{Blocks: found, Content: found}, nil
	})
	remove := tool.FuncOfCall("remove_files", "Deletes files, after asking.", func(_ context.Context, c tool.Call, in struct {
		Path string `json:"path"`
	}) (string, error) {
		answer, err := tool.Ask[string](c.Scope, tool.Question{
			Value: map[string]any{"question": "Delete 61 files?", "folder": in.Path}, Kind: string(event.AskToolApproval), Options: []string{"Allow once", "Refuse"},
		})
		return "the person said " + answer, err
	})
	clarify := tool.FuncOfCall("clarify", "Asks what is meant.", func(_ context.Context, c tool.Call, in struct {
		Question string `json:"question"`
	}) (string, error) {
		return tool.Ask[string](c.Scope, tool.Question{Value: in.Question, Kind: string(event.AskClarification), Options: []string{"Germany, all cargo", "The whole Rhine"}})
	})
	tools, err := tool.NewSet(append(props(), tool.Repeatable(search), tool.Repeatable(remove), tool.Repeatable(clarify))...)
	if err != nil {
		return nil, err
	}
	helper := scripted.New(func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return scripted.Every(4 * time.Millisecond).Say("Chromium and Firefox reconnect after three seconds and send the last id; Safari does the same.")
		}
		return scripted.Call("s1", "search", `{"query":"EventSource reconnect"}`)
	})
	return agent.New(agent.Options{Name: "agent", Model: scripted.New(playWith(configurable)), Tools: tools, Middleware: []agent.Middleware{todos()}, Subs: []agent.Sub{{
		Name: "helper", Description: "Looks things up.", Options: agent.Options{Model: helper, Tools: tools},
	}}})
}

// play chooses what to say by what was asked last, and by how many tools have answered since.
func play(req model.Request) scripted.Script {
	asked, results := "", 0
	last := ""
	for _, m := range req.Messages {
		switch m.Role {
		case item.User:
			asked, results = m.Text(), 0
		case item.Tool:
			results++
			last = m.Text()
		}
	}
	if s, ok := playProps(asked, last, results); ok {
		return s
	}
	switch {
	case strings.HasPrefix(asked, "Tell the story in two parts"): // the second when the test gives the cue
		cut := strings.Index(river, "12. Past") + len("12. Past kilometre **444** the river carries `80` boats, unhur")
		return scripted.Every(5 * time.Millisecond).Say(river[:cut]).Do(onCue).Say(river[cut:])
	case strings.HasPrefix(asked, "Tell the story"):
		return scripted.Every(5 * time.Millisecond).Say(river)
	case strings.HasPrefix(asked, "Say: "):
		return scripted.Words(strings.TrimPrefix(asked, "Say: "))
	case strings.HasPrefix(asked, "Call: "):
		if results == 0 {
			return scripted.Call("bad_1", strings.TrimPrefix(asked, "Call: "), `{"query":"<img src=x onerror=alert(1)>"}`)
		}
		return scripted.Say("There is no such tool.")
	case strings.HasPrefix(asked, "Long "), strings.HasPrefix(asked, "Endless "):
		return long(asked)
	case strings.HasPrefix(asked, "Twenty"):
		if results == 0 {
			return twenty()
		}
		return scripted.Say("All twenty are back.")
	case strings.HasPrefix(asked, "Fail"):
		return scripted.Say("This is going to ").Fail(&model.Error{Class: model.Quota, Provider: "scripted", Message: "quota used up until 14:00"})
	case strings.HasPrefix(asked, "Clean up"):
		if results == 0 {
			return scripted.Call("rm_1", "remove_files", `{"path":"exports/2019"}`)
		}
		if strings.Contains(asked, "on cue") {
			return scripted.Script{}.Do(onCue).Say("Done: " + last + ".")
		}
		return scripted.Say("Done: " + last + ".")
	case strings.HasPrefix(asked, "How much freight"):
		if results == 0 {
			return scripted.Call("cl_1", "clarify", `{"question":"Which freight do you mean?"}`)
		}
		return scripted.Say("You mean: " + last + ".")
	case strings.HasPrefix(asked, "After a server crash"):
		switch results {
		case 0:
			return scripted.Think("Who keeps the position, the client or the server? The handbook should say.").Call("se_1", "search", `{"query":"Last-Event-ID after a restart"}`)
		case 1:
			return scripted.Call("he_1", "helper", `{"prompt":"Check how browsers reconnect.","title":"Check reconnection in three browsers"}`)
		}
		return scripted.Every(2 * time.Millisecond).Say("Three things, and the browser already does the first two.\n\n" +
			"1. **Keep the last number.** Every event carries an `id`, which the browser stores once the event is complete.[^1]\n" +
			"2. **Ask for what follows it.** On reconnection it repeats that number as `Last-Event-ID`. “Readers may come and go, early or late, as many as like: all see the same events.”[^2]\n" +
			"3. **Trust only what is durable.** Since an event is shown after it was written to disk, a crash cannot take back a word that somebody has read.[^3]\n\n" +
			"```js\nconst source = new EventSource(`/tasks/${id}/events`);\nsource.onmessage = (m) => tasks.apply(JSON.parse(m.data)); // resumes by itself\n```\n\n" +
			"| position | means |\n|---|---|\n| `-1` | everything |\n| `5` | what follows event 5 |\n")
	}
	return scripted.Words("You said: " + asked)
}

// stage is the server in a process of its own, on a folder and an address that outlive it.
type stage struct {
	t    *testing.T
	dir  string
	addr string
	cast string // who plays: actors who know their parts by heart; "offline", what a fresh installation has; "whole", that with all shelves; "team"
	cmd  *exec.Cmd
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageWith(t, "")
}

func newStageWith(t *testing.T, cast string) *stage {
	t.Helper()
	s := &stage{t: t, dir: filepath.Join(t.TempDir(), "data"), addr: address(t), cast: cast}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// address is one that stays the stage's while its server is down: not among those that the system gives to connections, of which a browser
// makes many.
func address(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	t.Fatal("no free port between 10000 and 30000")
	return ""
}

func (s *stage) url() string { return "http://" + s.addr }

func (s *stage) start() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(self)
	s.cmd.Env = append(os.Environ(), "PAGE_STAGE="+s.dir, "PAGE_ADDR="+s.addr, "PAGE_CAST="+s.cast)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		s.t.Fatalf("the server did not start: %v", err)
	}
}

// kill ends the server as a power switch does.
func (s *stage) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// network is a way to the server that can be cut.
type network struct {
	t    *testing.T
	l    net.Listener
	to   string
	mu   sync.Mutex // of the fields below
	open map[net.Conn]bool
	told map[net.Conn]bool // those on which the browser reads a stream
	deaf map[net.Conn]bool
	down bool
}

func newNetwork(t *testing.T, s *stage) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{t: t, l: l, to: s.addr, open: map[net.Conn]bool{}, told: map[net.Conn]bool{}, deaf: map[net.Conn]bool{}}
	go n.accept() // ends with the listener
	t.Cleanup(func() {
		_ = l.Close()
		n.cut(true)
	})
	return n
}

func (n *network) url() string { return "http://" + n.l.Addr().String() }

func (n *network) accept() {
	for {
		in, err := n.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", n.to)
		n.mu.Lock()
		if err != nil || n.down {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
		} else {
			n.open[in], n.open[out] = true, true
			for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() { // ends with either connection
					_, _ = io.Copy(side{n, pair[0], pair[1]}, pair[1])
					_ = pair[0].Close()
				}()
			}
		}
		n.mu.Unlock()
	}
}

// side takes what comes from one end of a connection to the other.
type side struct {
	n        *network
	to, from net.Conn
}

func (s side) Write(b []byte) (int, error) {
	s.n.mu.Lock()
	if bytes.HasPrefix(b, []byte("GET /tasks/")) && bytes.Contains(b, []byte("/events?")) {
		s.n.told[s.from] = true
	}
	deaf := s.n.deaf[s.to]
	s.n.mu.Unlock()
	if deaf {
		return len(b), nil
	}
	return s.to.Write(b)
}

// hush lets nothing more through on the streams that are read now, without ending them: so a computer finds them that was asleep.
func (n *network) hush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.told {
		n.deaf[c] = true
	}
}

// cut breaks all connections and lets none through, or lets them through again.
func (n *network) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	if down {
		for c := range n.open {
			_ = c.Close()
			delete(n.open, c)
		}
	}
}
