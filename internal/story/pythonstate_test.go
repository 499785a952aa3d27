package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// pythonState reads a state as RemoteGraph does, by get_state and get_state_history: members that it asks for without looking must
// be there, whether they are null or not.
//
//   - A state has values, next, checkpoint, metadata, created_at, parent_checkpoint and tasks.
//   - A checkpoint has thread_id, checkpoint_ns and checkpoint_id; that of the parent may be null.
//   - Metadata is an object, since it is spread over keyword arguments.
//   - A task has id, name, error, interrupts, state and checkpoint. Its state is read in the same way.
//   - An interrupt is spread over the arguments value and id.
func pythonState(s map[string]any) error {
	if err := members(s, "values", "next", "checkpoint", "metadata", "created_at", "parent_checkpoint", "tasks"); err != nil {
		return err
	}
	if _, ok := s["metadata"].(map[string]any); !ok {
		return fmt.Errorf("its metadata is %v", s["metadata"])
	}
	if _, ok := s["created_at"].(string); !ok {
		return fmt.Errorf("created_at is %v", s["created_at"])
	}
	if err := pythonCheckpoint(s["checkpoint"]); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if p := s["parent_checkpoint"]; p != nil {
		if err := pythonCheckpoint(p); err != nil {
			return fmt.Errorf("parent_checkpoint: %w", err)
		}
	}
	if next, ok := s["next"].([]any); !ok && s["next"] != nil || slices.ContainsFunc(next, func(n any) bool { _, ok := n.(string); return !ok }) {
		return fmt.Errorf("next is %v", s["next"])
	}
	tasks, ok := s["tasks"].([]any)
	if !ok {
		return fmt.Errorf("tasks are %v", s["tasks"])
	}
	for _, one := range tasks {
		if err := pythonTask(one); err != nil {
			return fmt.Errorf("a task: %w", err)
		}
	}
	return pythonMessages(s["values"])
}

func pythonTask(v any) error {
	t, _ := v.(map[string]any)
	if err := members(t, "id", "name", "error", "interrupts", "state", "checkpoint"); err != nil {
		return err
	}
	for _, name := range []string{"id", "name"} {
		if text, _ := t[name].(string); text == "" {
			return fmt.Errorf("%s is %v", name, t[name])
		}
	}
	if err := pythonInterrupts(t["interrupts"]); err != nil {
		return err
	}
	if below, ok := t["state"].(map[string]any); ok {
		return pythonState(below)
	}
	return nil
}

func pythonCheckpoint(v any) error {
	c, _ := v.(map[string]any)
	for _, name := range []string{"thread_id", "checkpoint_ns", "checkpoint_id"} {
		if _, ok := c[name].(string); !ok {
			return fmt.Errorf("%s is %v", name, c[name])
		}
	}
	return nil
}

func pythonInterrupts(v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("interrupts are %v", v)
	}
	for _, one := range list {
		i, _ := one.(map[string]any)
		if err := members(i, "value", "id"); err != nil {
			return fmt.Errorf("an interrupt: %w", err)
		}
		if _, ok := i["id"].(string); !ok {
			return fmt.Errorf("the id of an interrupt is %v", i["id"])
		}
	}
	return nil
}

// pythonMessages reads what stands under messages, at every depth: a message each, and not what looks like none.
func pythonMessages(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := pythonMessages(e); err != nil {
				return err
			}
		}
	case map[string]any:
		list, _ := v["messages"].([]any)
		for _, one := range list {
			m, ok := one.(map[string]any)
			if !ok {
				if _, nested := one.([]any); nested { // what a model was given, in mode events
					continue
				}
				return fmt.Errorf("among the messages is %T", one)
			}
			if err := pythonReads(m); err != nil {
				return fmt.Errorf("%w: %v", err, m)
			}
		}
		for name, e := range v {
			if name != "messages" {
				if err := pythonMessages(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func members(m map[string]any, names ...string) error {
	for _, name := range names {
		if _, ok := m[name]; !ok {
			return fmt.Errorf("there is no %s", name)
		}
	}
	return nil
}

// pythonPart reads a part of a run's stream as RemoteGraph.stream does:
//
//   - The name is a mode, and after a bar the namespace, of which each part is an execution, "name:id".
//   - updates, values, debug, tasks and checkpoints are objects; what stands under __interrupt__ is spread as above.
//   - messages is a pair of a message and an object; messages/partial and messages/complete are lists of messages.
//   - error is raised with what it says, and nothing after it is read.
func pythonPart(name string, data any) error {
	mode, ns, below := strings.Cut(name, "|")
	if below {
		for part := range strings.SplitSeq(ns, "|") {
			if node, id, _ := strings.Cut(part, ":"); node == "" || id == "" {
				return fmt.Errorf("%q names no execution", part)
			}
		}
	}
	object, isObject := data.(map[string]any)
	list, isList := data.([]any)
	switch mode {
	case "values", "updates", "debug", "tasks", "checkpoints", "events", "tools", "metadata", "messages/metadata", "error":
		if !isObject {
			return fmt.Errorf("%s is %T", mode, data)
		}
	case "messages":
		if !isList || len(list) != 2 {
			return fmt.Errorf("a message and its metadata are %v", data)
		}
		m, _ := list[0].(map[string]any)
		if _, ok := list[1].(map[string]any); !ok {
			return fmt.Errorf("the metadata is %T", list[1])
		}
		return pythonReads(m)
	case "messages/partial", "messages/complete":
		if !isList {
			return fmt.Errorf("%s is %T", mode, data)
		}
		return pythonMessages(map[string]any{"messages": list})
	case "custom":
		return nil // whatever a graph chose to say
	default:
		return fmt.Errorf("mode %q is none", mode)
	}
	switch mode {
	case "metadata":
		if id, _ := object["run_id"].(string); id == "" {
			return errors.New("metadata name no run")
		}
	case "tasks":
		if err := members(object, "id", "name", "interrupts"); err != nil {
			return err
		}
		if err := pythonInterrupts(object["interrupts"]); err != nil {
			return err
		}
	case "debug":
		if err := members(object, "step", "timestamp", "type", "payload"); err != nil {
			return err
		}
	case "checkpoints":
		if err := members(object, "values", "metadata", "next"); err != nil {
			return err
		}
	}
	if asked, ok := object["__interrupt__"]; ok {
		if err := pythonInterrupts(asked); err != nil {
			return err
		}
	}
	return pythonMessages(object)
}

// Every part of every stream of every story, in every mode, with subgraphs.
func TestPythonReadsTheStreamsOfEveryStory(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	var parts atomic.Int64
	seen := map[string]bool{}
	each(t, func(t *testing.T, _ string, rec *Recording) {
		for _, mode := range Modes {
			d := LangGraph(mode, true, mode)
			for _, r := range rec.Runs {
				frames, err := d.Project(rec, r)
				if err != nil {
					t.Fatal(err)
				}
				ended := false
				for _, f := range slices.Concat(frames...) {
					var v any
					if err := json.Unmarshal(f.Data, &v); err != nil {
						t.Fatal(err)
					}
					if err := pythonPart(f.Name, v); err != nil {
						t.Errorf("%s, %s: Python cannot read %s: %v\n%s", mode, f.ID, f.Name, err, f.Data)
					}
					if ended {
						t.Errorf("%s, %s: %s comes after an error, and is not read", mode, f.ID, f.Name)
					}
					ended = f.Name == "error"
					name, _, _ := strings.Cut(f.Name, "|")
					seen[name] = true
					parts.Add(1)
				}
			}
		}
	})
	for _, name := range []string{"metadata", "values", "updates", "messages", "messages/metadata", "messages/partial", "messages/complete", "custom", "events", "debug", "tasks", "checkpoints", "tools", "error"} {
		if !seen[name] {
			t.Errorf("no story has a part %s", name)
		}
	}
	if parts.Load() < 5000 {
		t.Errorf("only %d parts were read", parts.Load())
	}
}

// Every state of every story, as it is answered: the latest after each run, with what is below it, and in the end the history of each
// namespace.
func TestPythonReadsTheStatesOfEveryStory(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	var states, below, asked atomic.Int64
	t.Run("stories", func(t *testing.T) {
		for _, s := range All {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				w := &World{t: t, dir: t.TempDir()}
				f := newFront(t, w)
				defer w.close()
				look := func(what string, st map[string]any) {
					states.Add(1)
					if err := pythonState(st); err != nil {
						t.Errorf("%s: Python cannot read the state: %v\n%v", what, err, st)
					}
					list, _ := st["tasks"].([]any)
					for _, one := range list {
						if task, _ := one.(map[string]any); task["state"] != nil {
							below.Add(1)
						}
						if interrupts, _ := one.(map[string]any)["interrupts"].([]any); len(interrupts) > 0 {
							asked.Add(1)
						}
					}
				}
				w.rests = func() {
					for _, query := range []string{"", "?subgraphs=true"} {
						var st map[string]any
						f.ask("GET", "/threads/"+w.thread()+"/state"+query, "", &st)
						look("state"+query, st)
					}
				}
				s.Happens(w)
				w.serve(w.graph) // which knows of the thread only from disk
				w.rests()
				var all []string
				for _, r := range w.told {
					all = append(all, spaces(w.events(r.id))...)
				}
				slices.Sort(all)
				for _, ns := range slices.Compact(all) {
					var list []map[string]any
					body, err := json.Marshal(map[string]any{"limit": 1000, "checkpoint": map[string]string{"checkpoint_ns": ns}})
					if err != nil {
						t.Fatal(err)
					}
					f.ask("POST", "/threads/"+w.thread()+"/history", string(body), &list)
					for _, st := range list {
						look("history of "+ns, st)
					}
				}
			})
		}
	})
	if states.Load() < 200 || asked.Load() == 0 {
		t.Errorf("only %d states were read, %d of subgraphs, %d with questions", states.Load(), below.Load(), asked.Load())
	}
}

// A reader that refuses nothing would prove nothing.
func TestPythonRefusesStatesAndParts(t *testing.T) {
	good := `{"values":{"messages":[{"type":"human","content":"x"}]},"next":["a"],"checkpoint":{"thread_id":"t","checkpoint_ns":"","checkpoint_id":"c"},` +
		`"metadata":{"step":1},"created_at":"now","parent_checkpoint":null,"tasks":[{"id":"e","name":"a","error":null,"interrupts":[{"id":"i","value":1}],"state":null,"checkpoint":null}]}`
	read := func(text string) error {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return pythonState(m)
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no parent":                {`"parent_checkpoint":null,`, ``},
		"a parent without a place": {`"parent_checkpoint":null`, `"parent_checkpoint":{"thread_id":"t"}`},
		"no time":                  {`"created_at":"now"`, `"created_at":null`},
		"metadata of nothing":      {`{"step":1}`, `null`},
		"a task without an error":  {`"error":null,`, ``},
		"a task without a state":   {`"state":null,`, ``},
		"a question without an id": {`"id":"i",`, ``},
		"a question about nothing": {`,"value":1`, ``},
		"a message of nobody":      {`"type":"human"`, `"type":"oracle"`},
		"a message that is a text": {`{"type":"human","content":"x"}`, `"x"`},
		"a state below":            {`"state":null`, `"state":{"values":{}}`},
	} {
		broken := strings.Replace(good, change[0], change[1], 1)
		if broken == good {
			t.Fatalf("%s: nothing was broken", name)
		}
		if read(broken) == nil {
			t.Errorf("%s was read: %s", name, broken)
		}
	}
	for name, text := range map[string]string{
		"messages": `[{"type":"ai","content":""}]`, "messages|tools": `[{"type":"ai","content":""},{}]`, "messages/partial": `{}`, "values": `[]`, "news": `{}`, "metadata": `{}`,
		"updates": `{"__interrupt__":[{"id":"i"}]}`, "debug": `{"type":"task"}`, "tasks": `{"id":"e","name":"a"}`, "messages/complete": `[{"type":"ai"}]`, "error": `"it broke"`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if pythonPart(name, v) == nil {
			t.Errorf("%s was read: %s", name, text)
		}
	}
}
