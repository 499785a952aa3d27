package task_test

import (
	"encoding/json"
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
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
	"github.com/tributary-ai/tributary/item"
)

var small = transcripttest.Size{Depth: 2, Width: 4, Turns: 2, Budget: 4, Fragment: 4}

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
		live := frames(t, journal)
		next := 0
		for i, f := range live {
			var head struct {
				Type, Cause string
				Seq         *int `json:"sequence_number"`
			}
			if err := json.Unmarshal(f.Data, &head); err != nil {
				t.Fatalf("frame %d: %v in %s", i, err, f.Data)
			}
			if head.Type == "task.working" && head.Cause == event.LostPower {
				next = 1_000_000_000 // the only hole there is: what readers saw beyond it is gone
			}
			if f.ID != strconv.Itoa(next) || f.Name != "" || head.Seq == nil || *head.Seq != next {
				t.Fatalf("frame %d, number %d, has id %q and name %q: %s", i, next, f.ID, f.Name, f.Data)
			}
			next++
		}
		cut := rapid.IntRange(0, len(live)-1).Draw(t, "cut")
		var resumed []wire.Frame
		last, _ := strconv.Atoi(live[cut].ID)
		for _, f := range frames(t, stored) {
			if n, _ := strconv.Atoi(f.ID); n > last {
				resumed = append(resumed, f)
			}
		}
		if want := live[cut+1:]; len(resumed) != len(want) || (len(want) > 0 && !reflect.DeepEqual(resumed, want)) {
			t.Fatalf("cut after %d: got %d frames, want %d, or they differ", cut, len(resumed), len(want))
		}
	})
}

func frames(t *rapid.T, journal []event.Envelope) []wire.Frame {
	p := task.New()
	var out []wire.Frame
	for i := range journal {
		var err error
		if out, err = p.Project(out, &journal[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// both folds a journal twice, as events and as frames, and compares the objects of all tasks whenever check says so.
func both(t *rapid.T, journal []event.Envelope, check func(i int) bool) {
	p := task.New()
	var events transcript.Fold
	var reader tasktest.Fold
	for i := range journal {
		_ = events.Apply(&journal[i])
		out, err := p.Project(nil, &journal[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out {
			if err := reader.Apply(f.Data); err != nil {
				t.Fatalf("%v: %s", err, f.Data)
			}
		}
		if !check(i) {
			continue
		}
		for _, id := range events.TaskIDs() {
			wireID := id
			if id == "" {
				wireID = journal[0].Run
			}
			folded, _ := events.Task(id)
			want, err := tasktest.Canonical(task.Object(journal[0].Run, folded))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := reader.Task(wireID); string(got) != string(want) {
				t.Fatalf("task %q after event %d (%s):\nwire       %s\ntranscript %s", wireID, i, journal[i].Event.Kind(), got, want)
			}
		}
	}
}

// Law 9 and the wire's own: whatever agents do, what a client assembles is what the transcript says.
func TestClientAssemblesTheTranscript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		both(t, journal, func(i int) bool { return i == len(journal)-1 })
	})
}

func TestClientHasTheTranscriptAfterEveryEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		both(t, transcripttest.Runs(small).Draw(t, "run"), func(int) bool { return true })
	})
}

// Events that should not be there, or are missing, must not make the two pictures differ.
func TestClientAndTranscriptAgreeOnBrokenJournals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(small).Draw(t, "run")
		var broken []event.Envelope
		for i, env := range journal {
			_, end := env.Event.(event.RunEnded)
			switch rapid.IntRange(0, 19).Draw(t, "fate") {
			case 0:
				if i == 0 || end {
					broken = append(broken, env)
				}
			case 1:
				broken = append(broken, env)
				if i > 0 && !end {
					broken = append(broken, env)
				}
			default:
				broken = append(broken, env)
			}
		}
		for i := range broken {
			broken[i].Seq = uint64(i + 1)
		}
		both(t, broken, func(int) bool { return true })
	})
}

func FuzzFold(f *testing.F) {
	// Short seeds: the fuzzer spends its time on making long ones shorter.
	for _, name := range []string{"canonical-subagent.jsonl", "seed-tool-result.jsonl"} {
		for some := range slices.Chunk(lines(f, name), 3) {
			f.Add([]byte(strings.Join(some, "\n")))
		}
	}
	f.Add([]byte(`{"type":"task.created","task_id":"a","parent_task_id":"b","teams":[1]}
{"type":"task.created","task_id":"b","parent_task_id":"a"}
{"type":"task.team.dissolved","task_id":"a","team_id":null}
{"type":"task.output_item.done","task_id":"a","output_index":1e3,"item":{"type":"tool_result","call_id":"b","block_list":[null]}}
{"type":"task.text.delta","task_id":"a","output_index":0,"block_index":9007199254740993,"delta":1}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var fold tasktest.Fold
		start := 0
		for i := 0; i <= len(stream); i++ {
			if i == len(stream) || stream[i] == '\n' {
				_ = fold.Apply(stream[start:i])
				start = i + 1
			}
		}
		root := fold.Root()
		if object, ok := fold.Task(root); ok && !json.Valid(object) {
			t.Errorf("no JSON: %s", object)
		}
	})
}

// go test -bench TextDelta -benchmem ./internal/wire/task; the promise is 2 µs and 2 allocations.
func BenchmarkTextDelta(b *testing.B) {
	p, env := inMessage(b)
	var dst []wire.Frame
	b.ReportAllocs()
	for b.Loop() {
		env.Seq++
		dst, _ = p.Project(dst[:0], env)
	}
}

func TestTextDeltaAllocatesTwice(t *testing.T) {
	p, env := inMessage(t)
	var dst []wire.Frame
	n := testing.AllocsPerRun(1000, func() {
		env.Seq++
		dst, _ = p.Project(dst[:0], env)
	})
	if n > 2 || len(dst) != 1 {
		t.Errorf("%.1f allocations for %d frames, want at most 2 for one", n, len(dst))
	}
}

// inMessage is a projector inside a message of a sub-agent, and a delta for it.
func inMessage(t testing.TB) (*task.Projector, *event.Envelope) {
	p := task.New()
	env := &event.Envelope{Run: "run_01", Thread: "thread_01"}
	for _, e := range []event.Event{
		event.RunStarted{},
		event.TaskStarted{CallID: "call_17"},
		event.TurnStarted{Turn: "turn_1"},
		event.ItemStarted{Item: "msg_1", Turn: "turn_1", Type: item.TypeMessage},
		event.BlockStarted{Item: "msg_1", Type: item.TextBlock},
		event.TextDelta{Item: "msg_1", Text: " \"weather\" in 巴黎"},
	} {
		env.Event = e
		if _, first := e.(event.RunStarted); !first {
			env.Task = "call_17"
		}
		env.Seq++
		if _, err := p.Project(nil, env); err != nil {
			t.Fatal(err)
		}
	}
	return p, env
}

// go test -bench Project ./internal/wire/task: a whole run of sub-agents, projected for one reader.
func BenchmarkProject(b *testing.B) {
	var journal transcripttest.Journal
	for seed := uint64(0); len(journal) < 5000; seed++ {
		journal = transcripttest.Run(seed, transcripttest.Large)
	}
	var dst []wire.Frame
	b.ReportAllocs()
	for b.Loop() {
		p := task.New()
		for i := range journal {
			dst, _ = p.Project(dst[:0], &journal[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(journal)), "ns/event")
}

// A reader that copies frames as they come gets what one gets who keeps them.
func TestReusedMemoryHoldsTheSameFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(small).Draw(t, "run")
		p := task.New()
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

// Who listens to done alone loses nothing, also where a journal lost the end of a block.
func TestABlockThatIsOpenWhenItsItemEndsIsDoneBeforeIt(t *testing.T) {
	p, env := inMessage(t)
	text := item.Block{Type: item.TextBlock, Text: "all of it"}
	env.Seq++
	env.Event = event.ItemEnded{Item: item.Message{ID: "msg_1", Content: []item.Block{text}}, Status: item.Completed}
	out, err := p.Project(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, f := range out {
		var head struct{ Type string }
		if err := json.Unmarshal(f.Data, &head); err != nil {
			t.Fatal(err)
		}
		types = append(types, head.Type)
	}
	if want := []string{"task.text.done", "task.output_item.done"}; !slices.Equal(types, want) {
		t.Errorf("got %v, want %v", types, want)
	}
}
