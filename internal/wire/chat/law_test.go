package chat_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/chat"
	"github.com/tributary-ai/tributary/item"
)

func frames(t interface{ Fatal(...any) }, journal []event.Envelope) []wire.Frame {
	p := chat.New()
	var out []wire.Frame
	for i := range journal {
		var err error
		if out, err = p.Project(out, &journal[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Law 7: a reader that was cut after any frame and resumes with its id gets what the uncut reader got. The resumed
// projection sees events that were on disk in between.
func TestCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		stored := make([]event.Envelope, len(journal))
		for i := range journal {
			data, err := journal[i].AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &stored[i]); err != nil {
				t.Fatal(err)
			}
		}
		live, again := frames(t, journal), frames(t, stored)
		seen, number := map[string]bool{}, -1
		for _, f := range live {
			run, n, _ := strings.Cut(f.ID, ":")
			now, err := strconv.Atoi(n)
			if err != nil || run != journal[0].Run || now <= number || seen[f.ID] {
				t.Fatalf("frame %q comes after number %d", f.ID, number)
			}
			if !json.Valid(f.Data) || strings.ContainsAny(string(f.Data), "\r\n") {
				t.Fatalf("%s is no line of JSON: %s", f.Name, f.Data)
			}
			seen[f.ID], number = true, now
		}
		if len(live) == 0 || live[len(live)-1].Name != "end" {
			t.Fatalf("the last of %d frames is no end", len(live))
		}
		cut := rapid.IntRange(0, len(live)-1).Draw(t, "cut")
		at := slices.IndexFunc(again, func(f wire.Frame) bool { return f.ID == live[cut].ID })
		if got, want := again[at+1:], live[cut+1:]; at < 0 || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("cut after %s: got %d frames, want %d, or they differ", live[cut].ID, len(got), len(want))
		}
	})
}

func TestReusedMemoryHoldsTheSameFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		p := chat.New()
		p.Reuse()
		var got, now []wire.Frame
		for i := range journal {
			var err error
			if now, err = p.Project(now[:0], &journal[i]); err != nil {
				t.Fatal(err)
			}
			for _, f := range now {
				f.Data = slices.Clone(f.Data)
				got = append(got, f)
			}
		}
		if want := frames(t, journal); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

// What DeerFlow's page assembles is what the transcript says: texts, thoughts, calls and their results.
func TestThePageAssemblesTheTranscript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		var seen page
		for _, f := range frames(t, journal) {
			if err := seen.apply(f); err != nil {
				t.Fatalf("%v: %s %s", err, f.Name, f.Data)
			}
		}
		var fold transcript.Fold
		for i := range journal {
			_ = fold.Apply(&journal[i])
		}
		want := map[string]*bubble{}
		results := map[string]string{}
		for _, id := range fold.TaskIDs() {
			task, _ := fold.Task(id)
			for _, it := range task.Items {
				b := want[it.Turn]
				if b == nil && it.Type != item.TypeToolResult {
					b = &bubble{}
					want[it.Turn] = b
				}
				var blocks []item.Block
				for _, bl := range it.Blocks {
					blocks = append(blocks, bl.Block)
				}
				switch it.Type {
				case item.TypeMessage:
					b.Text += item.JoinText(blocks)
				case item.TypeReasoning:
					b.Thought += item.JoinText(blocks)
				case item.TypeToolCall:
					b.Calls = append(b.Calls, it.CallID+" "+it.Name)
				case item.TypeToolResult:
					if it.Status == item.Completed && it.Value != nil {
						results[it.CallID] = it.Name
					}
				}
			}
		}
		got := map[string]*bubble{}
		for id, b := range seen.bubbles {
			if !b.void && (b.Text != "" || b.Thought != "" || len(b.Calls) > 0) {
				got[id] = &b.bubble
			}
		}
		maps.DeleteFunc(want, func(_ string, b *bubble) bool { return b.Text == "" && b.Thought == "" && len(b.Calls) == 0 })
		if !reflect.DeepEqual(got, want) {
			g, _ := json.MarshalIndent(got, "", " ")
			w, _ := json.MarshalIndent(want, "", " ")
			t.Fatalf("the page has\n%s\nthe transcript\n%s", g, w)
		}
		for call := range results {
			if !seen.results[call] {
				t.Fatalf("the result of %s was not told", call)
			}
		}
	})
}
