package task_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
	"github.com/tributary-ai/tributary/item"
)

func lines(t testing.TB, name string) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(string(read(t, name))), "\n")
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func canonical(t testing.TB, data []byte) string {
	t.Helper()
	out, err := tasktest.Canonical(data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return string(out)
}

func foldLines(t testing.TB, name string) *tasktest.Fold {
	t.Helper()
	var f tasktest.Fold
	for i, line := range lines(t, name) {
		if err := f.Apply([]byte(line)); err != nil {
			t.Fatalf("%s:%d: %v", name, i+1, err)
		}
	}
	return &f
}

func TestCanonicalStreamsFoldToTheirFinalState(t *testing.T) {
	for _, name := range []string{"canonical-main", "canonical-image-partial", "canonical-subagent"} {
		t.Run(name, func(t *testing.T) {
			f := foldLines(t, name+".jsonl")
			if root := f.Root(); root != "task_p1" {
				t.Fatalf("root is %q", root)
			}
			got, _ := f.Task("task_p1")
			if want := canonical(t, read(t, name+".final.json")); string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestSeedStreamsFoldAsComputed(t *testing.T) {
	for name, root := range map[string]string{"seed-main": "task_1234xyz", "seed-subagent": "call_1234xyz"} {
		t.Run(name, func(t *testing.T) {
			got, _ := foldLines(t, name+".jsonl").Task(root)
			if want := canonical(t, read(t, name+".folded-computed.json")); string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	// The seed's pass-through is an excerpt: it starts at the container, which is all that the expected
	// state shows, with the task it belongs to.
	t.Run("seed-passthrough", func(t *testing.T) {
		f := foldLines(t, "seed-passthrough.jsonl")
		if f.Root() != "task_1234xyz" {
			t.Errorf("root is %q", f.Root())
		}
		got, _ := f.Task("task_1234xyz")
		var object struct{ Output []map[string]any }
		if err := json.Unmarshal(got, &object); err != nil || len(object.Output) != 1 {
			t.Fatalf("%v in %s", err, got)
		}
		object.Output[0]["task_id"] = "task_1234xyz"
		container, _ := json.Marshal(object.Output[0])
		if got, want := canonical(t, container), canonical(t, read(t, "seed-passthrough.folded-computed.json")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		// The child alone is the same child.
		child, _ := f.Task("call_1234xyz")
		if want := canonical(t, read(t, "seed-subagent.folded-computed.json")); string(child) != want {
			t.Errorf("got  %s\nwant %s", child, want)
		}
	})
	for _, name := range []string{"seed-reasoning", "seed-tool-call", "seed-tool-result", "seed-message"} {
		t.Run(name, func(t *testing.T) {
			var one struct{ Output []json.RawMessage }
			got, _ := foldLines(t, name+".jsonl").Task("task_1234xyz")
			if err := json.Unmarshal(got, &one); err != nil || len(one.Output) != 1 {
				t.Fatalf("%v in %s", err, got)
			}
			var whole struct{ Output []json.RawMessage }
			if err := json.Unmarshal(read(t, "seed-main.folded-computed.json"), &whole); err != nil {
				t.Fatal(err)
			}
			at := map[string]int{"seed-reasoning": 0, "seed-tool-call": 1, "seed-tool-result": 2, "seed-message": 3}[name]
			if got, want := canonical(t, one.Output[0]), canonical(t, whole.Output[at]); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// goldenBlock reads a block of the wire back into ours; goldenItem an item.
type goldenBlock struct {
	Type        item.BlockType
	Text        string
	Image       struct{ URL string } `json:"image_url"`
	ID          int
	Annotations []struct {
		Type  item.AnnotationType
		Ref   int `json:"reference_id"`
		Start int `json:"start_index"`
		End   int `json:"end_index"`
	}
}

func (b goldenBlock) block() item.Block {
	out := item.Block{Type: b.Type, Text: b.Text, URL: b.Image.URL, Ref: b.ID}
	for _, a := range b.Annotations {
		out.Annotations = append(out.Annotations, item.Annotation{Type: a.Type, Ref: a.Ref, Start: a.Start, End: a.End})
	}
	return out
}

func blocks(in []goldenBlock) []item.Block {
	var out []item.Block
	for _, b := range in {
		out = append(out, b.block())
	}
	return out
}

// goldenJournal is the journal that a canonical stream tells of.
func goldenJournal(t testing.TB, name string) []event.Envelope {
	t.Helper()
	var out []event.Envelope
	for _, line := range lines(t, name) {
		var f struct {
			Type    string
			Task    string  `json:"task_id"`
			Parent  *string `json:"parent_task_id"`
			Item    string  `json:"item_id"`
			Block   int     `json:"block_index"`
			Summary int     `json:"summary_index"`
			Partial int     `json:"partial_image_index"`
			Delta   string
			Value   struct {
				goldenBlock
				ItemID    any    `json:"id"`
				CallID    string `json:"call_id"`
				Name      string
				Arguments string
				Summary   []goldenBlock
				Blocks    []goldenBlock `json:"block_list"`
				Status    item.Status
			} `json:"item"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		v, root := f.Value, f.Task == "task_p1"
		if n, ok := v.ItemID.(float64); ok {
			v.ID = int(n)
		}
		id, _ := v.ItemID.(string)
		at := f.Block + f.Summary
		var ev event.Event
		switch f.Type {
		case "task.created":
			if ev = event.Event(event.RunStarted{}); !root {
				ev = event.TaskStarted{CallID: f.Task}
			}
		case "task.working", "task.tool_call_arguments.done":
			continue // said by the event before or after
		case "task.completed":
			if ev = event.Event(event.RunEnded{Status: event.Success}); !root {
				ev = event.TaskEnded{Status: event.Success}
			}
		case "task.output_item.added":
			ev = event.ItemStarted{Item: id, Type: item.Type(v.Type), CallID: v.CallID, Name: v.Name}
		case "task.output_item.done":
			var it item.Item
			switch item.Type(v.Type) {
			case item.TypeReasoning:
				it = item.Reasoning{ID: id, Summary: blocks(v.Summary)}
			case item.TypeToolCall:
				it = item.ToolCall{ID: id, CallID: v.CallID, Name: v.Name, Arguments: v.Arguments}
			case item.TypeToolResult:
				it = item.ToolResult{ID: id, CallID: v.CallID, Content: item.Text("for the model"), Blocks: blocks(v.Blocks)}
			case item.TypeMessage:
				it = item.Message{ID: id, Role: item.Assistant, Content: blocks(v.Blocks)}
			}
			ev = event.ItemEnded{Item: it, Status: v.Status}
		case "task.reasoning_summary_item.added", "task.text.added", "task.image.added":
			ev = event.BlockStarted{Item: f.Item, Block: at, Type: v.Type, Ref: v.ID}
		case "task.reasoning_summary_text.delta", "task.text.delta":
			ev = event.TextDelta{Item: f.Item, Block: at, Text: f.Delta}
		case "task.image.delta":
			ev = event.ImageDelta{Item: f.Item, Block: at, Partial: f.Partial, URL: v.Image.URL}
		case "task.reasoning_summary_item.done", "task.text.done", "task.image.done":
			ev = event.BlockEnded{Item: f.Item, Block: at, Value: v.block()}
		case "task.tool_call_arguments.delta":
			ev = event.ArgumentsDelta{Item: f.Item, Text: f.Delta}
		default:
			t.Fatalf("frame %s", f.Type)
		}
		env := event.Envelope{Seq: uint64(len(out) + 1), Run: "task_p1", Event: ev}
		if !root {
			env.Task = f.Task
		}
		out = append(out, env)
	}
	return out
}

// The golden streams are not only read but written: a journal that says the same gives them byte for byte.
func TestProjectorWritesTheCanonicalStreams(t *testing.T) {
	for _, name := range []string{"canonical-main", "canonical-image-partial", "canonical-subagent"} {
		t.Run(name, func(t *testing.T) {
			journal := goldenJournal(t, name+".jsonl")
			frames := project(t, journal)
			want := lines(t, name+".jsonl")
			if len(frames) != len(want) {
				t.Errorf("%d frames, want %d", len(frames), len(want))
			}
			for i := range min(len(frames), len(want)) {
				if got := string(frames[i].Data); got != want[i] {
					t.Fatalf("frame %d:\ngot  %s\nwant %s", i, got, want[i])
				}
			}
			var f transcript.Fold
			for i := range journal {
				if err := f.Apply(&journal[i]); err != nil {
					t.Fatal(err)
				}
			}
			root, _ := f.Task("")
			if got, want := canonical(t, task.Object("task_p1", root)), canonical(t, read(t, name+".final.json")); got != want {
				t.Errorf("object of the transcript:\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

func project(t testing.TB, journal []event.Envelope) []wire.Frame {
	t.Helper()
	p := task.New()
	var frames []wire.Frame
	for i := range journal {
		var err error
		if frames, err = p.Project(frames, &journal[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range frames {
		if bytes.ContainsAny(f.Data, "\n\r") || !json.Valid(f.Data) {
			t.Fatalf("frame %d is not one line of JSON: %q", i, f.Data)
		}
	}
	return frames
}
