package langgraph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

// seen is a frame as a client reads it.
type seen struct {
	Name string
	Data any
}

// A difference is something that we do otherwise than the server that was recorded, on purpose. Its rewrite makes the two
// sides equal where the difference is all there is.
type difference struct {
	name, reason string
	only         []string // scenarios; all if empty
	theirs       func([]seen) []seen
	ours         func([]seen) []seen
}

var differences = []difference{
	{
		name:   "lean metadata",
		reason: "versions and addresses of their libraries and servers; nine tenths of each frame are metadata as it is",
		theirs: without("ls_integration", "created_by", "langgraph_version", "langgraph_plan", "langgraph_host", "langgraph_api_url", "versions", "recursion_limit"),
	}, {
		name:   "metadata is the same everywhere",
		reason: "theirs leaves the thread out of a task's metadata, names a runnable in a tool's, and tags it with its step",
		theirs: each(metadataOf(func(m map[string]any) {
			delete(m, "name")
			delete(m, "thread_id")
			delete(m, "tags")
			delete(m, "checkpoint_id")
		})),
		ours: each(metadataOf(func(m map[string]any) { delete(m, "thread_id"); delete(m, "tags") })),
	}, {
		name:   "a task's metadata is the run's",
		reason: "theirs also tells in which node of the graph above a graph runs; the namespace has it already",
		only:   []string{"stream-subgraph-on/02-stream", "stream-subgraph-on/03-debug"},
		theirs: each(func(f *seen) {
			if !strings.HasPrefix(f.Name, "messages") {
				metadataOf(func(m map[string]any) {
					for _, k := range []string{"langgraph_node", "langgraph_step", "langgraph_path", "langgraph_triggers", "langgraph_checkpoint_ns", "checkpoint_ns"} {
						delete(m, k)
					}
				})(f)
			}
		}),
	}, {
		name:   "tasks of a checkpoint have no results yet",
		reason: "theirs writes the frame late and shows results of tasks that had not begun when the checkpoint was saved",
		only:   []string{"stream-subgraph-on/03-debug"},
		theirs: each(func(f *seen) {
			m, _ := f.Data.(map[string]any)
			payload, _ := m["payload"].(map[string]any)
			tasks, _ := payload["tasks"].([]any)
			for _, task := range tasks {
				delete(task.(map[string]any), "result")
			}
		}),
	}, {
		name:   "no empty members in whole messages",
		reason: "item.Message leaves out lists that are empty; clients read a missing list as an empty one",
		theirs: each(messagesOf(func(m map[string]any) { tidy(m); delete(m, "metadata") })),
		ours:   each(messagesOf(tidy)),
	}, {
		name:   "no half-parsed tool calls",
		reason: "clients compute tool_calls from the chunks; theirs guesses at JSON that is not complete",
		theirs: each(messagesOf(dropCalls)),
		ours:   each(messagesOf(dropCalls)),
	}, {
		name:   "one frame for all interrupts, at the end",
		reason: "older clients keep only the last frame, so it must hold all of them",
		theirs: interruptsLast,
	}, {
		name:   "no values of a step that is not finished",
		reason: "a state that no checkpoint holds could not be found again after a reload",
		only:   []string{"interrupt-parallel/05-resume-one", "interrupt-debug/03-resume-with-update-and-goto"},
		theirs: dropLast("values"),
	}, {
		name:   "values after an input that wrote nothing",
		reason: "a client that waits for the first state always gets one",
		only:   []string{"interrupt-parallel/02-run-until-interrupts"},
		ours:   dropLast("values"),
	}, {
		name:   "tokens of a root node are plain messages",
		reason: "LangGraph's library cuts the node off the namespace; only their JS server does not, and Agent Chat UI trips over it",
		theirs: func(frames []seen) []seen {
			for i, f := range frames {
				if strings.HasPrefix(f.Name, "messages|") {
					frames[i].Name = f.Name[:strings.LastIndexByte(f.Name, '|')]
				}
			}
			return frames
		},
	}, {
		name:   "a failed node says so",
		reason: "theirs shows an empty result and nothing else",
		ours: each(func(f *seen) {
			if m, ok := f.Data.(map[string]any); ok {
				if payload, ok := m["payload"].(map[string]any); ok {
					m = payload
				}
				if _, ok := m["result"]; ok {
					delete(m, "error")
				}
			}
		}),
		only: []string{"error-mid-stream/07-debug"},
	}, {
		name:   "a tool's output has the id of its message",
		reason: "the result is an item with an id before it becomes a message",
		only:   []string{"stream-tools/03-tools-mode"},
		ours: each(func(f *seen) {
			if out, ok := f.Data.(map[string]any)["output"].(map[string]any); ok {
				delete(out, "id")
			}
		}),
		theirs: each(func(f *seen) {
			if out, ok := f.Data.(map[string]any)["output"].(map[string]any); ok {
				delete(out, "metadata")
			}
		}),
	}, {
		name:   "events do not know what a model was shown, nor repeat inputs",
		reason: "the model's context is a view that no event holds; the graph's input is told as the state with the input applied",
		only:   []string{"stream-chat-events/02-stream", "stream-custom-events/02-stream"},
		theirs: each(leanEvent),
		ours:   each(leanEvent),
	}, {
		name:   "our own words for the recursion limit",
		reason: "the sentence is for people and differs; the name is for programs and does not",
		only:   []string{"error-requests/10-recursion-limit"},
		theirs: each(dropMessageOfError),
		ours:   each(dropMessageOfError),
	},
}

func TestFramesAreThoseOfTheRecordedServer(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/recorded/*")
	if err != nil || len(scenarios) == 0 {
		t.Fatal("no recordings", err)
	}
	s := serve(t)
	var all []exchange
	for _, dir := range scenarios {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, x := range replay(t, s, dir) {
				if wrong := x.compare(-1); wrong != "" {
					t.Error(wrong)
				}
				all = append(all, x)
			}
		})
	}
	t.Run("every difference is there", func(t *testing.T) {
		for i, d := range differences {
			if !slices.ContainsFunc(all, func(x exchange) bool { return x.compare(i) != "" }) {
				t.Errorf("nothing differs any more by %q; take it off the list", d.name)
			}
		}
	})
}

// exchange is a request that was made to both servers.
type exchange struct {
	name         string
	theirs, ours []byte // lists of frames, as JSON
}

// replay makes the requests of a scenario.
func replay(t *testing.T, s *server, dir string) (out []exchange) {
	steps, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string]*thread{}
	asked := map[string]string{} // their interrupts → ours
	for _, step := range steps {
		name := filepath.Base(dir) + "/" + filepath.Base(step)
		var recorded struct {
			Path string
			Body struct {
				Assistant       string          `json:"assistant_id"`
				Input           json.RawMessage `json:"input"`
				Command         json.RawMessage `json:"command"`
				Config          json.RawMessage `json:"config"`
				Modes           []string        `json:"stream_mode"`
				Subgraphs       bool            `json:"stream_subgraphs"`
				InterruptBefore json.RawMessage `json:"interrupt_before"`
				InterruptAfter  json.RawMessage `json:"interrupt_after"`
				Checkpoint      *struct {
					ID string `json:"checkpoint_id"`
				} `json:"checkpoint"`
			}
		}
		if err := json.Unmarshal(read(t, step+"/request.json"), &recorded); err != nil {
			t.Fatal(err)
		}
		body := recorded.Body
		th := threads[recorded.Path]
		if th == nil {
			th = s.thread()
			threads[recorded.Path] = th
		}
		th.t = t
		req := run.Request{
			Graph: body.Assistant, Config: body.Config,
			InterruptBefore: names(t, body.InterruptBefore), InterruptAfter: names(t, body.InterruptAfter),
		}
		if string(body.Input) != "null" {
			req.Input = body.Input
		}
		for theirs, ours := range asked {
			body.Command = bytes.ReplaceAll(body.Command, []byte(theirs), []byte(ours))
		}
		req.Command = body.Command
		if body.Checkpoint != nil {
			req.Checkpoint = th.checkpointLike(body.Checkpoint.ID)
		}
		modes, err := langgraph.ParseModes(body.Modes)
		if err != nil {
			t.Fatal(err)
		}
		theirs := parseSSE(t, read(t, step+"/response.sse"))
		frames := th.run(req).project(t, langgraph.Options{Modes: modes, Subgraphs: body.Subgraphs})
		ours := decode(t, frames)
		match(asked, theirs, ours)
		out = append(out, exchange{name, encode(t, theirs), encode(t, ours)})
	}
	return out
}

func encode(t *testing.T, frames []seen) []byte {
	t.Helper()
	b, err := json.Marshal(frames)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (x exchange) sides() (theirs, ours []seen) {
	if err := errors.Join(json.Unmarshal(x.theirs, &theirs), json.Unmarshal(x.ours, &ours)); err != nil {
		panic(err) // we have just written it
	}
	return theirs, ours
}

// checkpointLike finds our checkpoint for one of theirs, whose ids tell the step.
func (th *thread) checkpointLike(theirs string) string {
	step := -1
	if n := theirs[19:23]; n != "ffff" {
		fmt.Sscanf(n, "8%03x", &step)
	}
	for _, st := range th.runs[0].Saved {
		if st.Step == step {
			return st.ID
		}
	}
	th.t.Fatalf("no checkpoint at step %d", step)
	return ""
}

// match notes which of our interrupts asks the same as one of theirs.
func match(asked map[string]string, theirs, ours []seen) {
	byValue := map[string]string{}
	for _, side := range []struct {
		frames []seen
		f      func(id, value string)
	}{
		{ours, func(id, value string) { byValue[value] = id }},
		{theirs, func(id, value string) { asked[id] = byValue[value] }},
	} {
		for _, f := range side.frames {
			m, _ := f.Data.(map[string]any)
			list, _ := m["__interrupt__"].([]any)
			for _, one := range list {
				i := one.(map[string]any)
				value, _ := json.Marshal(i["value"])
				side.f(i["id"].(string), string(value))
			}
		}
	}
}

// compare says where the two sides differ, but for the differences on the list without the one named.
func (x exchange) compare(without int) string {
	theirs, ours := x.sides()
	for i, d := range differences {
		if i == without || d.only != nil && !slices.Contains(d.only, x.name) {
			continue
		}
		if d.theirs != nil {
			theirs = d.theirs(theirs)
		}
		if d.ours != nil {
			ours = d.ours(ours)
		}
	}
	theirs, ours = mask(theirs), mask(ours)
	for i := range max(len(theirs), len(ours)) {
		switch {
		case i >= len(ours):
			return fmt.Sprintf("%s: frame %d is missing: %s", x.name, i, show(theirs[i]))
		case i >= len(theirs):
			return fmt.Sprintf("%s: frame %d is too much: %s", x.name, i, show(ours[i]))
		case !reflect.DeepEqual(theirs[i], ours[i]):
			return fmt.Sprintf("%s: frame %d\n got %s\nwant %s", x.name, i, show(ours[i]), show(theirs[i]))
		}
	}
	return ""
}

func show(f seen) string {
	b, _ := json.Marshal(f.Data)
	return f.Name + " " + string(b)
}

var (
	anID  = regexp.MustCompile(`(msg_|fco_|call_|run-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})(-tool-call_\d+)?|msg_[0-9a-f]{24}|call_\d{4}`)
	aTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// mask replaces ids by their order of appearance, so that two streams are equal only if they use the same id for the same
// thing, and times by a word.
func mask(frames []seen) []seen {
	ids := map[string]string{}
	replace := func(s string) string {
		s = anID.ReplaceAllStringFunc(s, func(id string) string {
			if ids[id] == "" {
				ids[id] = fmt.Sprintf("<%d>", len(ids))
			}
			return ids[id]
		})
		return aTime.ReplaceAllString(s, "<time>")
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return replace(v)
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				value := v[k]
				switch k {
				case "assistant_id": // theirs is a hash of the graph's name
					value = "<assistant>"
				case "run_id": // of a runnable: nobody compares them across frames
					value = "<run>"
				}
				delete(v, k)
				v[replace(k)] = walk(value)
			}
		}
		return v
	}
	out := make([]seen, len(frames))
	for i, f := range frames {
		out[i] = seen{replace(f.Name), walk(f.Data)}
	}
	return out
}

func each(f func(*seen)) func([]seen) []seen {
	return func(frames []seen) []seen {
		for i := range frames {
			f(&frames[i])
		}
		return frames
	}
}

// objects calls f for every object in a value.
func objects(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			objects(one, f)
		}
	case map[string]any:
		f(v)
		for _, one := range v {
			objects(one, f)
		}
	}
}

func without(keys ...string) func([]seen) []seen {
	return each(func(s *seen) {
		objects(s.Data, func(m map[string]any) {
			for _, k := range keys {
				delete(m, k)
			}
		})
	})
}

func messagesOf(f func(map[string]any)) func(*seen) {
	return func(s *seen) {
		objects(s.Data, func(m map[string]any) {
			if m["content"] != nil && m["type"] != nil {
				f(m)
			}
		})
	}
}

func metadataOf(f func(map[string]any)) func(*seen) {
	return func(s *seen) {
		objects(s.Data, func(m map[string]any) {
			if m["run_attempt"] != nil {
				f(m)
			}
		})
	}
}

// tidy drops what is empty, and the chunks of which a whole message was once made.
func tidy(m map[string]any) {
	_, id := m["id"].(string)
	whole := m["usage_metadata"] != nil || !id
	for _, k := range []string{"tool_calls", "invalid_tool_calls", "tool_call_chunks"} {
		if list, ok := m[k].([]any); ok && len(list) == 0 {
			delete(m, k)
		}
	}
	if usage, ok := m["usage_metadata"].(map[string]any); ok {
		delete(usage, "input_token_details")
		delete(usage, "output_token_details")
	}
	if whole {
		delete(m, "tool_call_chunks")
	}
	if calls, ok := m["tool_calls"].([]any); ok {
		for _, c := range calls {
			delete(c.(map[string]any), "item_id")
		}
	}
}

// dropCalls drops what is guessed from chunks, in messages that still have them.
func dropCalls(m map[string]any) {
	if m["tool_call_chunks"] != nil {
		delete(m, "tool_calls")
		delete(m, "invalid_tool_calls")
	}
}

// interruptsLast gathers the frames about interrupts.
func interruptsLast(frames []seen) []seen {
	var rest []seen
	all := map[string][]any{}
	for _, f := range frames {
		m, _ := f.Data.(map[string]any)
		if list, ok := m["__interrupt__"].([]any); ok {
			all[f.Name] = append(all[f.Name], list...)
			if all[f.Name] == nil {
				all[f.Name] = []any{}
			}
			continue
		}
		rest = append(rest, f)
	}
	for _, name := range []string{"updates", "values"} {
		if list, ok := all[name]; ok {
			rest = append(rest, seen{name, map[string]any{"__interrupt__": list}})
		}
	}
	return rest
}

// dropLast drops the last frame of a name that tells of no interrupt.
func dropLast(name string) func([]seen) []seen {
	return func(frames []seen) []seen {
		for i := len(frames) - 1; i >= 0; i-- {
			if m, _ := frames[i].Data.(map[string]any); frames[i].Name == name && m["__interrupt__"] == nil {
				return slices.Delete(frames, i, i+1)
			}
		}
		return frames
	}
}

func leanEvent(f *seen) {
	m, ok := f.Data.(map[string]any)
	if !ok || m["event"] == nil {
		return
	}
	data := m["data"].(map[string]any)
	if m["event"] != "on_chain_start" || m["name"] == "LangGraph" {
		delete(data, "input")
	}
	if strings.HasPrefix(m["event"].(string), "on_chat_model") {
		delete(m, "name") // theirs is a class
	}
}

func dropMessageOfError(f *seen) {
	if f.Name == "error" {
		delete(f.Data.(map[string]any), "message")
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func names(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func parseSSE(t *testing.T, stream []byte) []seen {
	t.Helper()
	var out []seen
	for block := range strings.SplitSeq(string(stream), "\n\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		var f seen
		for line := range strings.SplitSeq(block, "\n") {
			switch key, value, _ := strings.Cut(line, ": "); key {
			case "event":
				f.Name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &f.Data); err != nil {
					t.Fatal(err)
				}
			}
		}
		out = append(out, f)
	}
	return out
}

func decode(t *testing.T, frames []wire.Frame) []seen {
	t.Helper()
	out := make([]seen, len(frames))
	for i, f := range frames {
		if bytes.ContainsAny(f.Data, "\r\n") {
			t.Fatalf("frame %s has a line end", f.ID)
		}
		out[i].Name = f.Name
		if err := json.Unmarshal(f.Data, &out[i].Data); err != nil {
			t.Fatalf("frame %s: %v: %s", f.ID, err, f.Data)
		}
	}
	return out
}
