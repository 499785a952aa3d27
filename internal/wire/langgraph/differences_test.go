package langgraph_test

import (
	"fmt"
	"slices"
	"strings"
)

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
		name:   "what was shown stays",
		reason: "theirs forgets an answer that failed, although people have read it; ours is in the state, marked incomplete",
		only:   []string{"error-mid-stream/02-stream", "error-mid-stream/07-debug"},
		ours:   withoutCutOff,
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
	if kwargs, ok := m["additional_kwargs"].(map[string]any); ok { // the items of the calls, for our own wire
		delete(kwargs, "tributary_calls")
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

// withoutCutOff leaves out what tells of an answer that was cut off: the end of its message, the update and the state that it was
// put into, its message in later states, and the step that this took.
func withoutCutOff(frames []seen) []seen {
	var out []seen
	for _, f := range frames {
		told := fmt.Sprint(f.Data)
		if f.Name != "debug" && strings.Contains(told, "finish_reason:incomplete") || strings.Contains(told, "source:update") {
			continue
		}
		f.Data = uncut(f.Data)
		out = append(out, f)
	}
	return out
}

func uncut(v any) any {
	switch v := v.(type) {
	case []any:
		v = slices.DeleteFunc(v, func(e any) bool {
			m, _ := e.(map[string]any)
			about, _ := m["response_metadata"].(map[string]any)
			return about["finish_reason"] == "incomplete"
		})
		for i := range v {
			v[i] = uncut(v[i])
		}
		return v
	case map[string]any:
		for key, e := range v {
			if n, ok := e.(float64); ok && key == "step" && n > 1 {
				e = n - 1
			}
			v[key] = uncut(e)
		}
	}
	return v
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
