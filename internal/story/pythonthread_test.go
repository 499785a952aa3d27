package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// pythonThread reads a thread's stream as LangGraph's Python SDK does (langgraph_sdk.stream.decoders, _async.stream, and
// langchain_core's ChatModelStream), and refuses what it would drop, mix up or wait for without end:
//
//   - Events are known by event_id and ordered by seq. A namespace is a list of "name:id".
//   - thread.messages and thread.tool_calls hold what is told in the root's namespace, a handle's what is told in exactly its own.
//     A message is found by its id, and dropped without one where several are under way; its text ends with
//     message-finish. A tool's handle is made by tool-started, and ends with tool-finished or tool-error.
//   - A handle is made by the first task, or by started, in a namespace right below, and ends with the result of the task
//     whose id the namespace ends with.
//   - thread.values and all other iterators end with completed or failed of the root, or when input.requested asks. It has the
//     question under value.
//   - thread.output is the state at the first completed or failed, in whatever namespace.
type pythonThread struct {
	seq     float64
	running bool
	done    string // where this run's first completed or failed was told
	lives   map[string]bool
	graphs  map[string]bool
	streams map[string]*pythonStream // by namespace and id
	tools   map[string]string        // names by namespace and call
	handles map[string]bool          // below, by namespace; true when they have ended
	said    map[string]string        // finished texts of the root, by message
	called  map[string]bool          // finished calls of the root
	values  map[string]any           // the root's last
	voided  map[string]bool
	asked   bool
}

type pythonStream struct {
	id, ns string
	texts  map[float64]string
	whole  map[float64]bool
}

func newPythonThread() *pythonThread {
	return &pythonThread{
		lives: map[string]bool{}, graphs: map[string]bool{}, streams: map[string]*pythonStream{}, tools: map[string]string{},
		handles: map[string]bool{}, said: map[string]string{}, called: map[string]bool{}, voided: map[string]bool{},
	}
}

type pythonEvent struct {
	Type   string  `json:"type"`
	ID     string  `json:"event_id"`
	Seq    float64 `json:"seq"`
	Method string  `json:"method"`
	Params struct {
		Namespace []string       `json:"namespace"`
		Data      map[string]any `json:"data"`
	} `json:"params"`
}

func (p *pythonThread) feed(raw []byte) error {
	var e pythonEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	if e.Type != "event" || e.ID != strconv.FormatFloat(e.Seq, 'f', -1, 64) || e.Seq <= p.seq {
		return fmt.Errorf("event %q with seq %v after %v", e.ID, e.Seq, p.seq)
	}
	p.seq = e.Seq
	d := e.Params.Data
	if e.Params.Namespace == nil || d == nil {
		return errors.New("it has no namespace, or its data is no object")
	}
	for _, part := range e.Params.Namespace {
		if name, id, _ := strings.Cut(part, ":"); name == "" || id == "" {
			return fmt.Errorf("%q names no execution", part)
		}
	}
	ns := strings.Join(e.Params.Namespace, "|")
	if e.Method != "lifecycle" && !p.running {
		return errors.New("it comes when no run is under way")
	}
	if _, known := p.lives[ns]; ns != "" && !known && e.Method != "lifecycle" {
		return fmt.Errorf("%q was not told started", ns)
	}
	text := func(key string) string { s, _ := d[key].(string); return s }
	switch e.Method {
	case "lifecycle":
		return p.lifecycle(ns, text("event"), e.Params.Namespace)
	case "messages":
		return p.message(ns, d)
	case "tools":
		return p.tool(ns, d)
	case "tasks":
		p.graphs[ns] = true
		return p.task(ns, d)
	case "values":
		p.graphs[ns] = true
		if ns == "" {
			p.values = d
		}
	case "updates", "checkpoints":
		p.graphs[ns] = true
	case "custom":
		if payload, _ := d["payload"].(map[string]any); payload["type"] == "message_superseded" {
			id, _ := payload["id"].(string)
			p.voided[id] = true
			delete(p.streams, ns+" "+id)
		}
	case "input.requested":
		p.asked = true
		value, ok := d["value"]
		if text("interrupt_id") == "" || !ok || !reflect.DeepEqual(value, d["payload"]) {
			return errors.New("a question has an interrupt_id, and its value is the payload")
		}
	default:
		return fmt.Errorf("method %q is on no channel", e.Method)
	}
	return nil
}

func (p *pythonThread) lifecycle(ns, what string, parts []string) error {
	ends := what == "completed" || what == "failed" || what == "interrupted"
	if (what == "completed" || what == "failed") && p.done == "" {
		p.done = "at " + ns
	}
	if ns != "" {
		if what == "started" {
			if len(parts) == 1 {
				p.handles[ns] = false
			}
			if p.lives[ns] {
				return fmt.Errorf("%q starts twice", ns)
			}
		} else if !ends || !p.lives[ns] {
			return fmt.Errorf("%q is told %s", ns, what)
		}
		p.lives[ns] = !ends
		return nil
	}
	if what == "running" && !p.running {
		p.running, p.done, p.asked = true, "", false
		return nil
	}
	if !ends || !p.running {
		return fmt.Errorf("the root is told %s", what)
	}
	p.running = false
	return p.atEnd(what)
}

// atEnd looks for what would be waited for.
func (p *pythonThread) atEnd(what string) error {
	if len(p.streams) > 0 {
		return fmt.Errorf("%d messages never end", len(p.streams))
	}
	if what == "completed" && len(p.tools) > 0 {
		return fmt.Errorf("%d tool calls never end: %v", len(p.tools), p.tools)
	}
	clear(p.tools)
	for ns, open := range p.lives {
		if open {
			return fmt.Errorf("%q never ends", ns)
		}
		if !p.graphs[ns] {
			return fmt.Errorf("%q is no graph", ns)
		}
	}
	for ns, ended := range p.handles {
		if !ended && what == "completed" && strings.HasPrefix(ns, "tools:") {
			return fmt.Errorf("no task has the result of %q", ns)
		}
	}
	if what == "interrupted" && p.done == "at " {
		return errors.New("the root has ended twice")
	}
	clear(p.lives)
	clear(p.handles)
	return nil
}

func (p *pythonThread) message(ns string, d map[string]any) error {
	id, _ := d["id"].(string)
	if id == "" {
		return errors.New("a piece names no message")
	}
	key := ns + " " + id
	st := p.streams[key]
	if d["event"] == "message-start" {
		if node, _ := d["metadata"].(map[string]any); node["langgraph_node"] == nil {
			return errors.New("a message names no node")
		}
		if st != nil {
			return fmt.Errorf("message %s starts twice", id)
		}
		p.streams[key] = &pythonStream{id: id, ns: ns, texts: map[float64]string{}, whole: map[float64]bool{}}
		return nil
	}
	if st == nil {
		return fmt.Errorf("a piece of %s, which has not started, is dropped", id)
	}
	at, numbered := d["index"].(float64)
	switch d["event"] {
	case "usage":
	case "content-block-start":
		st.texts[at] = ""
	case "content-block-delta":
		delta, _ := d["delta"].(map[string]any)
		if _, begun := st.texts[at]; !numbered || !begun {
			return fmt.Errorf("a delta belongs to block %v, which has not begun", d["index"])
		}
		switch delta["type"] {
		case "text-delta":
			piece, ok := delta["text"].(string)
			if !ok {
				return errors.New("a text delta without text")
			}
			st.texts[at] += piece
		case "reasoning-delta":
			if _, ok := delta["reasoning"].(string); !ok {
				return errors.New("a reasoning delta without reasoning")
			}
		case "block-delta":
			if fields, _ := delta["fields"].(map[string]any); fields["type"] != "tool_call_chunk" || fields["id"] == nil || fields["name"] == nil {
				return fmt.Errorf("a delta of fields %v", delta["fields"])
			}
		default:
			return fmt.Errorf("a delta of type %v", delta["type"])
		}
	case "content-block-finish":
		block, _ := d["content"].(map[string]any)
		switch block["type"] {
		case "text":
			if block["text"] != st.texts[at] {
				return fmt.Errorf("block %v of %s is %q, its deltas %q", at, id, block["text"], st.texts[at])
			}
		case "tool_call":
			if _, ok := block["args"].(map[string]any); !ok {
				return fmt.Errorf("a call's args are %T", block["args"])
			}
		case "reasoning", "invalid_tool_call", "image":
		default:
			return fmt.Errorf("a block of type %v", block["type"])
		}
		st.whole[at] = true
	case "message-finish":
		if len(st.whole) != len(st.texts) {
			return fmt.Errorf("%d of %d blocks of %s are whole", len(st.whole), len(st.texts), id)
		}
		if usage, ok := d["usage"]; ok {
			if err := pythonAnswer(map[string]any{"usage_metadata": usage}); err != nil {
				return err
			}
		}
		delete(p.streams, key)
		if ns == "" {
			var b strings.Builder
			for i := range len(st.texts) {
				b.WriteString(st.texts[float64(i)])
			}
			p.said[id] = b.String()
		}
	default:
		return fmt.Errorf("event %v of a message", d["event"])
	}
	return nil
}

func (p *pythonThread) tool(ns string, d map[string]any) error {
	call, _ := d["tool_call_id"].(string)
	if call == "" {
		return errors.New("an event of a tool names no call")
	}
	key := ns + " " + call
	_, active := p.tools[key]
	if d["event"] != "tool-started" && !active {
		return fmt.Errorf("%v of call %s, which has not started, is dropped", d["event"], call)
	}
	switch d["event"] {
	case "tool-started":
		if active {
			return fmt.Errorf("call %s starts twice; the first handle never ends", call)
		}
		name, _ := d["tool_name"].(string)
		if name == "" {
			return errors.New("a call has no tool_name")
		}
		p.tools[key] = name
	case "tool-output-delta":
		if _, ok := d["delta"].(string); !ok {
			return fmt.Errorf("a delta is %T", d["delta"])
		}
	case "tool-finished", "tool-error":
		if out, ok := d["output"].(map[string]any); d["event"] == "tool-finished" && (!ok || out["status"] != "success" || pythonReads(out) != nil) {
			return fmt.Errorf("the output is no message of a tool that succeeded: %v", d["output"])
		}
		delete(p.tools, key)
		if ns == "" {
			p.called[call] = true
		}
	default:
		return fmt.Errorf("event %v of a tool", d["event"])
	}
	return nil
}

func (p *pythonThread) task(ns string, d map[string]any) error {
	id, _ := d["id"].(string)
	name, _ := d["name"].(string)
	if id == "" || name == "" {
		return errors.New("a task has an id and a name")
	}
	if _, ended := d["result"]; !ended {
		return nil
	}
	below := name + ":" + id
	if _, known := p.handles[below]; known && ns == "" {
		p.handles[below] = true
	}
	return nil
}

// agrees compares what was streamed with what the thread holds at its end.
func (p *pythonThread) agrees() error {
	held, calls := map[string]string{}, map[string]bool{}
	messagesIn(p.values, func(m map[string]any) {
		id, _ := m["id"].(string)
		if call, ok := m["tool_call_id"].(string); ok {
			calls[call] = true
			return
		}
		if text, ok := m["content"].(string); ok {
			held[id] = text
			return
		}
		for _, part := range m["content"].([]any) {
			if text, ok := part.(map[string]any)["text"].(string); ok {
				held[id] += text
			} else {
				held[id] += ""
			}
		}
	})
	for id, text := range p.said {
		if got, ok := held[id]; !p.voided[id] && (!ok || got != text) {
			return fmt.Errorf("message %s was streamed as %q and is held as %q (%v)", id, text, got, ok)
		}
	}
	for call := range p.called {
		if !calls[call] {
			return fmt.Errorf("call %s has no result in the state", call)
		}
	}
	return nil
}

func TestPythonReadsTheThreadOfEveryStory(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	var said, called atomic.Int64
	t.Run("stories", func(t *testing.T) {
		each(t, func(t *testing.T, name string, rec *Recording) {
			d := Protocol2("protocol2", Channels...)
			for _, stream := range d.Streams(rec) {
				frames, err := d.Project(rec, stream)
				if err != nil {
					t.Fatal(err)
				}
				p := newPythonThread()
				for _, f := range slices.Concat(frames...) {
					if err := p.feed(f.Data); err != nil {
						t.Fatalf("Python cannot read event %s: %v\n%s", f.ID, err, f.Data)
					}
				}
				if p.running {
					t.Error("the last run has not ended")
				}
				if err := p.agrees(); err != nil {
					t.Error(err)
				}
				said.Add(int64(len(p.said)))
				called.Add(int64(len(p.called)))
			}
		})
	})
	if said.Load() < 30 || called.Load() < 10 {
		t.Errorf("only %d messages and %d calls were read; the stories have more", said.Load(), called.Load())
	}
}

// Without graphs below, Python's thread.output is the state at the end of the run and not an earlier one.
func TestPythonsOutputIsTheLastState(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	each(t, func(t *testing.T, name string, rec *Recording) {
		d := Protocol2("protocol2", "lifecycle")
		frames, err := d.Project(rec, d.Streams(rec)[0])
		if err != nil {
			t.Fatal(err)
		}
		below := slices.ContainsFunc(rec.Runs, func(r Run) bool {
			for i := range r.Events {
				if r.Events[i].NS != "" {
					return true
				}
			}
			return false
		})
		for _, f := range slices.Concat(frames...) {
			if !below && !strings.Contains(string(f.Data), `"namespace":[]`) {
				t.Fatalf("something that is no graph lives: %s", f.Data)
			}
		}
	})
}

// A reader that refuses nothing would prove nothing. Each line breaks a stream that is read otherwise.
func TestPythonRefusesAThread(t *testing.T) {
	frame := func(seq int, method, ns, data string) string {
		return fmt.Sprintf(`{"type":"event","event_id":"%d","seq":%d,"method":%q,"params":{"namespace":%s,"timestamp":1,"data":%s}}`, seq, seq, method, ns, data)
	}
	good := []string{
		frame(1, "lifecycle", `[]`, `{"event":"running"}`),
		frame(2, "tasks", `[]`, `{"id":"x","name":"tools","input":{}}`),
		frame(3, "messages", `[]`, `{"event":"message-start","id":"m","metadata":{"langgraph_node":"agent"}}`),
		frame(4, "messages", `[]`, `{"event":"content-block-start","id":"m","index":0,"content":{"type":"text","text":""}}`),
		frame(5, "messages", `[]`, `{"event":"content-block-delta","id":"m","index":0,"delta":{"type":"text-delta","text":"hi"}}`),
		frame(6, "messages", `[]`, `{"event":"content-block-finish","id":"m","index":0,"content":{"type":"text","text":"hi"}}`),
		frame(7, "messages", `[]`, `{"event":"message-finish","id":"m"}`),
		frame(8, "tools", `[]`, `{"event":"tool-started","tool_call_id":"c","tool_name":"task","input":"{}"}`),
		frame(9, "lifecycle", `["tools:x"]`, `{"event":"started"}`),
		frame(10, "values", `["tools:x"]`, `{}`),
		frame(11, "lifecycle", `["tools:x"]`, `{"event":"completed"}`),
		frame(12, "tools", `[]`, `{"event":"tool-finished","tool_call_id":"c","output":{"type":"tool","content":"","tool_call_id":"c","status":"success"}}`),
		frame(13, "tasks", `[]`, `{"id":"x","name":"tools","result":{}}`),
		frame(14, "values", `[]`, `{"messages":[{"type":"ai","id":"m","content":"hi"},{"type":"tool","id":"r","content":"","tool_call_id":"c"}]}`),
		frame(15, "lifecycle", `[]`, `{"event":"completed"}`),
	}
	read := func(lines []string) error {
		p := newPythonThread()
		for _, l := range lines {
			if err := p.feed([]byte(l)); err != nil {
				return err
			}
		}
		return p.agrees()
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]struct {
		at       int
		old, new string
	}{
		"a message below its graph":    {3, `"namespace":[]`, `"namespace":["agent:1"]`},
		"a piece without an id":        {5, `"id":"m",`, ``},
		"a block that is not its sum":  {6, `"text":"hi"`, `"text":"ho"`},
		"a message without an end":     {7, `message-finish`, `usage`},
		"a tool in another namespace":  {12, `"namespace":[]`, `"namespace":["tools:x"]`},
		"an execution without a name":  {9, `tools:x`, `tools`},
		"a life of a node":             {10, `"values"`, `"custom"`},
		"a result of another task":     {13, `"id":"x"`, `"id":"y"`},
		"a state that knows otherwise": {14, `"content":"hi"`, `"content":"ho"`},
		"a state without the result":   {14, `"tool_call_id":"c"`, `"tool_call_id":"b"`},
		"a number that was used":       {5, `"seq":5`, `"seq":4`},
		"a method of our own":          {10, `"values"`, `"news"`},
	} {
		broken := slices.Clone(good)
		if broken[b.at-1] = strings.Replace(broken[b.at-1], b.old, b.new, 1); broken[b.at-1] == good[b.at-1] {
			t.Fatalf("%s: nothing was broken", name)
		}
		if read(broken) == nil {
			t.Errorf("%s was read: %s", name, broken[b.at-1])
		}
	}
}
