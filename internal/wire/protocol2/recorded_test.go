package protocol2_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// seen is a frame as a client reads it.
type seen struct {
	Name string
	Data map[string]any
}

// A difference is something that we do otherwise than the server that was recorded, on purpose. Its rewrite makes the two
// sides equal where the difference is all there is.
type difference struct {
	name, reason string
	only         []string // threads; all if empty
	rewrite      func(frames []seen, ours bool) []seen
}

var differences = []difference{
	{
		name:   "nodes have no lives of their own",
		reason: "Python's clients take the end of anything for the end of the run; JavaScript's look only for graphs",
		rewrite: func(frames []seen, _ bool) []seen {
			graphs := graphsIn(frames)
			return slices.DeleteFunc(frames, func(f seen) bool { return f.Name == "lifecycle" && !graphs[namespace(&f)] })
		},
	}, {
		name:   "messages and tools are told in the namespace of their graph",
		reason: "Python's clients look for them there; JavaScript's tell messages apart by the node beside it",
		rewrite: func(frames []seen, ours bool) []seen {
			graphs := graphsIn(frames)
			return each(func(f *seen, _ bool) {
				params := f.Data["params"].(map[string]any)
				if f.Name != "messages" && f.Name != "tools" || graphs[namespace(f)] {
					return
				}
				parts := params["namespace"].([]any)
				last := len(parts) - 1
				params["namespace"] = parts[:last]
				if f.Name == "messages" {
					params["node"], _, _ = strings.Cut(parts[last].(string), ":")
				}
			})(frames, ours)
		},
	}, {
		name:   "every piece of a message names it",
		reason: "Python's clients tell messages apart by their ids where several are under way",
		rewrite: each(func(f *seen, ours bool) {
			if d := data(f); ours && f.Name == "messages" && d["event"] != "message-start" {
				delete(d, "id")
			}
		}),
	}, {
		name:   "a message names its node",
		reason: "Python's clients show it, and read it in no other place",
		rewrite: each(func(f *seen, ours bool) {
			if d := data(f); ours && d["event"] == "message-start" {
				delete(d, "metadata")
			}
		}),
	}, {
		name:   "a question has a value",
		reason: "Python's clients read it; JavaScript's read the payload, which is the same",
		only:   []string{"approval"},
		rewrite: each(func(f *seen, ours bool) {
			if d := data(f); ours && f.Name == "input.requested" && reflect.DeepEqual(d["value"], d["payload"]) {
				delete(d, "value")
			}
		}),
	}, {
		name:   "tasks carry states as they are stored",
		reason: "theirs adds content_blocks and turns a model's content into blocks there; values and updates have that form, and nobody reads tasks for messages",
		rewrite: each(func(f *seen, _ bool) {
			if f.Name == "tasks" {
				walk(f.Data, func(m map[string]any) {
					if m["content"] != nil && m["type"] != nil {
						for k := range m {
							if k != "id" && k != "type" && k != "tool_call_id" {
								delete(m, k)
							}
						}
					}
				})
			}
		}),
	}, {
		name:   "lean metadata of tasks",
		reason: "versions and addresses of their libraries and servers",
		rewrite: each(func(f *seen, ours bool) {
			walk(f.Data, func(m map[string]any) {
				if m["run_attempt"] != nil {
					for _, k := range []string{"ls_integration", "created_by", "langgraph_version", "langgraph_plan", "langgraph_host", "langgraph_api_url", "thread_id",
						"langgraph_node", "langgraph_step", "langgraph_path", "langgraph_triggers", "langgraph_checkpoint_ns", "checkpoint_ns"} {
						delete(m, k)
					}
				}
			})
		}),
	}, {
		name:   "a tool call begins without arguments",
		reason: "theirs shows all arguments at the start, since it writes the frame when they are there already",
		only:   []string{"tools"},
		rewrite: each(func(f *seen, ours bool) {
			if d := data(f); !ours && d["event"] == "content-block-start" {
				if c := d["content"].(map[string]any); c["type"] == "tool_call_chunk" {
					c["args"] = ""
				}
			}
		}),
	}, {
		name:   "no delta for an empty piece of arguments",
		reason: "it says nothing that the start did not",
		only:   []string{"tools"},
		rewrite: func(frames []seen, ours bool) []seen {
			return slices.DeleteFunc(frames, func(f seen) bool {
				delta, _ := data(&f)["delta"].(map[string]any)
				fields, _ := delta["fields"].(map[string]any)
				return fields != nil && fields["args"] == ""
			})
		},
	}, {
		name:   "a tool's output is a plain message",
		reason: "theirs has the versions of its libraries in it",
		only:   []string{"tools"},
		rewrite: each(func(f *seen, _ bool) {
			if out, ok := data(f)["output"].(map[string]any); ok {
				delete(out, "metadata")
			}
		}),
	}, {
		name:   "a failed node says so",
		reason: "theirs shows an empty result and nothing else",
		only:   []string{"failing"},
		rewrite: each(func(f *seen, _ bool) {
			if f.Name == "tasks" && data(f)["result"] != nil {
				delete(data(f), "error")
			}
		}),
	}, {
		name:   "what failed is superseded",
		reason: "a message that will never be finished is told, so that it can be taken off the page",
		only:   []string{"failing"},
		rewrite: func(frames []seen, ours bool) []seen {
			return slices.DeleteFunc(frames, func(f seen) bool { return f.Name == "custom" })
		},
	},
}

func TestFramesAreThoseOfTheRecordedServer(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	all := threads(t)
	needed := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		t.Run(name, func(t *testing.T) {
			th := all[name]
			if name != "approval" {
				th = th[:1] // what was recorded is the first run
			}
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			frames := project(t, th.events(), protocol2.Options{States: th})
			if name == "approval" { // recorded without tasks, whose numbers are missing in the stream
				frames = slices.DeleteFunc(frames, func(e protocol2.Event) bool { return e.Channel == "tasks" })
			}
			if wrong := compare(t, name, string(stream), frames, -1); wrong != "" {
				t.Error(wrong)
			}
			for i, d := range differences {
				if compare(t, name, string(stream), frames, i) != "" {
					needed[d.name] = true
				}
			}
		})
	}
	for _, d := range differences {
		if !needed[d.name] {
			t.Errorf("nothing differs any more by %q; take it off the list", d.name)
		}
	}
}

// compare says where the two sides differ, but for the differences on the list without the one named.
func compare(t *testing.T, name, stream string, frames []protocol2.Event, without int) string {
	t.Helper()
	var theirs, ours []seen
	for block := range strings.SplitSeq(stream, "\n\n") {
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
		if f.Data != nil {
			theirs = append(theirs, f)
		}
	}
	for _, e := range frames {
		f := seen{Name: e.Name}
		if err := json.Unmarshal(e.Data, &f.Data); err != nil {
			t.Fatalf("%v: %s", err, e.Data)
		}
		ours = append(ours, f)
	}
	for i, d := range differences {
		if i != without && (d.only == nil || slices.Contains(d.only, name)) {
			theirs, ours = d.rewrite(theirs, false), d.rewrite(ours, true)
		}
	}
	theirs, ours = mask(theirs), mask(ours)
	for i := range max(len(theirs), len(ours)) {
		switch {
		case i >= len(ours):
			return fmt.Sprintf("frame %d is missing: %s", i, show(theirs[i]))
		case i >= len(theirs):
			return fmt.Sprintf("frame %d is too much: %s", i, show(ours[i]))
		case !reflect.DeepEqual(theirs[i], ours[i]):
			return fmt.Sprintf("frame %d\n got %s\nwant %s", i, show(ours[i]), show(theirs[i]))
		}
	}
	return ""
}

func show(f seen) string {
	b, _ := json.Marshal(f.Data)
	return f.Name + " " + string(b)
}

func data(f *seen) map[string]any {
	d, _ := f.Data["params"].(map[string]any)["data"].(map[string]any)
	return d
}

func namespace(f *seen) string {
	return fmt.Sprint(f.Data["params"].(map[string]any)["namespace"])
}

// graphsIn finds the namespaces of graphs: those in which nodes run.
func graphsIn(frames []seen) map[string]bool {
	graphs := map[string]bool{"[]": true}
	for i := range frames {
		if f := &frames[i]; f.Name == "values" || f.Name == "updates" || f.Name == "tasks" {
			graphs[namespace(f)] = true
		}
	}
	return graphs
}

func each(rewrite func(*seen, bool)) func([]seen, bool) []seen {
	return func(frames []seen, ours bool) []seen {
		for i := range frames {
			rewrite(&frames[i], ours)
		}
		return frames
	}
}

// walk calls f for every object in a value.
func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			walk(one, f)
		}
	case map[string]any:
		f(v)
		for _, one := range v {
			walk(one, f)
		}
	}
}

var anID = regexp.MustCompile(`(msg_|fco_|call_)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})|msg_[0-9a-f]{24}|call_\d{4}`)

// mask replaces ids by their order of appearance, so that two streams are equal only if they use the same id for the same
// thing. Frames that differ on purpose shift the numbers; the laws hold those.
func mask(frames []seen) []seen {
	ids := map[string]string{}
	replace := func(s string) string {
		return anID.ReplaceAllStringFunc(s, func(id string) string {
			if ids[id] == "" {
				ids[id] = fmt.Sprintf("<%d>", len(ids))
			}
			return ids[id]
		})
	}
	var masked func(v any) any
	masked = func(v any) any {
		switch v := v.(type) {
		case string:
			return replace(v)
		case []any:
			for i := range v {
				v[i] = masked(v[i])
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				switch k {
				case "seq", "event_id", "timestamp":
					delete(v, k)
				case "run_id", "assistant_id": // theirs are of runnables, and a hash of the graph's name
					v[k] = "<" + k + ">"
				default:
					v[k] = masked(v[k])
				}
			}
		}
		return v
	}
	for i := range frames {
		frames[i].Data = masked(frames[i].Data).(map[string]any)
	}
	return frames
}
