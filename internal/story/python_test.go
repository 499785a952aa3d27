package story

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

// Python's users read messages with langchain_core's convert_to_messages, which raises where a TypeScript client shrugs.
// These are its rules, those of 0.3 and of 1.x together: what one of them refuses is refused here.
//
//   - A message is an object with a role or a type, and a content.
//   - The type is human, user, ai, assistant, system, developer, tool, function or remove.
//   - The content is a text, or a list of texts and objects; an object in it has a type.
//   - A tool call has name, args and id, may have a type, and nothing else (1.x lets extras pass, 0.3 does not). The name is
//     a text, args an object, the id a text or null. So it is with a call that is invalid, whose args are a text, and
//     which may have an error.
//   - A piece of a call has name, args, id and index, each of which may be null.
//   - A tool's message has a tool_call_id; its status is success or error.
//   - additional_kwargs and response_metadata are objects; usage_metadata has three numbers.
//   - A message to remove has an id and an empty content.
func pythonReads(m map[string]any) error {
	typ, ok := m["role"].(string)
	if !ok {
		if typ, ok = m["type"].(string); !ok {
			return fmt.Errorf("it has neither role nor type")
		}
	}
	content, ok := m["content"]
	if !ok {
		return fmt.Errorf("it has no content")
	}
	if err := pythonContent(content); err != nil {
		return err
	}
	for _, key := range []string{"additional_kwargs", "response_metadata"} {
		if v, ok := m[key]; ok {
			if _, ok := v.(map[string]any); !ok {
				return fmt.Errorf("%s is %T", key, v)
			}
		}
	}
	for _, key := range []string{"id", "name"} {
		if v, ok := m[key]; ok && v != nil {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("%s is %T", key, v)
			}
		}
	}
	switch typ {
	case "human", "user", "system", "developer", "function":
		return nil
	case "ai", "assistant":
		return pythonAnswer(m)
	case "tool":
		if _, ok := m["tool_call_id"].(string); !ok {
			return fmt.Errorf("tool_call_id is %v", m["tool_call_id"])
		}
		if s, ok := m["status"]; ok && s != "success" && s != "error" {
			return fmt.Errorf("status is %v", s)
		}
		return nil
	case "remove":
		if id, _ := m["id"].(string); id == "" || content != "" {
			return fmt.Errorf("a message to remove has id %q and content %v", m["id"], content)
		}
		return nil
	}
	return fmt.Errorf("its type is %q", typ)
}

func pythonContent(v any) error {
	switch c := v.(type) {
	case string, nil:
		return nil
	case []any:
		for _, part := range c {
			switch p := part.(type) {
			case string:
			case map[string]any:
				if _, ok := p["type"].(string); !ok {
					return fmt.Errorf("a part of the content has no type: %v", p)
				}
			default:
				return fmt.Errorf("a part of the content is %T", part)
			}
		}
		return nil
	}
	return fmt.Errorf("the content is %T", v)
}

func pythonAnswer(m map[string]any) error {
	for _, list := range []struct {
		name string
		args func(any) bool
		may  []string
	}{
		{"tool_calls", func(v any) bool { _, ok := v.(map[string]any); return ok }, []string{"name", "args", "id", "type"}},
		{"invalid_tool_calls", func(v any) bool { _, ok := v.(string); return ok || v == nil }, []string{"name", "args", "id", "error", "type"}},
		{"tool_call_chunks", func(v any) bool { _, ok := v.(string); return ok || v == nil }, []string{"name", "args", "id", "index", "type"}},
	} {
		v, ok := m[list.name]
		if !ok {
			continue
		}
		calls, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s is %T", list.name, v)
		}
		for _, one := range calls {
			call, ok := one.(map[string]any)
			if !ok {
				return fmt.Errorf("%s holds %T", list.name, one)
			}
			for key := range call {
				if !slices.Contains(list.may, key) {
					return fmt.Errorf("%s: got an unexpected keyword argument %q", list.name, key)
				}
			}
			if !list.args(call["args"]) {
				return fmt.Errorf("%s: args are %v", list.name, call["args"])
			}
			if _, ok := call["name"].(string); !ok && list.name != "tool_call_chunks" {
				return fmt.Errorf("%s: the name is %v", list.name, call["name"])
			}
		}
	}
	if usage, ok := m["usage_metadata"].(map[string]any); ok {
		for _, key := range []string{"input_tokens", "output_tokens", "total_tokens"} {
			if _, ok := usage[key].(float64); !ok {
				return fmt.Errorf("usage_metadata.%s is %v", key, usage[key])
			}
		}
	}
	return nil
}

// messagesIn finds the messages anywhere in a value: objects with a content and the type of one.
func messagesIn(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			messagesIn(e, visit)
		}
	case map[string]any:
		typ, _ := v["type"].(string)
		if _, ok := v["content"]; ok && slices.Contains([]string{"human", "ai", "system", "tool", "remove", "AIMessageChunk"}, typ) {
			visit(v)
			return
		}
		for _, e := range v {
			messagesIn(e, visit)
		}
	}
}

func TestPythonReadsEveryMessageOfEveryStory(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	var read, calls atomic.Int64
	t.Run("stories", func(t *testing.T) {
		each(t, func(t *testing.T, _ string, rec *Recording) {
			for _, d := range Dialects() {
				if d.Name == "task" {
					continue
				}
				for _, stream := range d.Streams(rec) {
					frames, err := d.Project(rec, stream)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range slices.Concat(frames...) {
						var v any
						if err := json.Unmarshal(f.Data, &v); err != nil {
							t.Fatalf("%s: %v", d.Name, err)
						}
						messagesIn(v, func(m map[string]any) {
							read.Add(1)
							if list, ok := m["tool_calls"].([]any); ok {
								calls.Add(int64(len(list)))
							}
							if err := pythonReads(m); err != nil {
								t.Errorf("%s, %s: Python cannot read a message: %v\n%v", d.Name, f.ID, err, m)
							}
						})
					}
				}
			}
		})
	})
	if read.Load() < 1000 || calls.Load() < 100 {
		t.Errorf("only %d messages with %d calls were read; the stories have more", read.Load(), calls.Load())
	}
}

// A reader that refuses nothing would prove nothing.
func TestPythonRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a key beside a call":    `{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c","type":"tool_call","item_id":"i"}]}`,
		"extras, in 0.3":         `{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c","extras":{}}]}`,
		"args as a text":         `{"type":"ai","content":"","tool_calls":[{"name":"f","args":"{}","id":"c"}]}`,
		"a place in a bad call":  `{"type":"ai","content":"","invalid_tool_calls":[{"name":"f","args":"{","id":"c","at":0}]}`,
		"a tool without a call":  `{"type":"tool","content":"x"}`,
		"a part without a type":  `{"type":"human","content":[{"text":"x"}]}`,
		"no content":             `{"type":"human"}`,
		"nobody":                 `{"type":"oracle","content":"x"}`,
		"a status of its own":    `{"type":"tool","content":"x","tool_call_id":"c","status":"done"}`,
		"usage without its sums": `{"type":"ai","content":"","usage_metadata":{"input_tokens":1}}`,
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		if pythonReads(m) == nil {
			t.Errorf("%s was read: %s", name, text)
		}
	}
}
