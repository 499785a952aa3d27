package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
)

// abandoned makes a data folder as a process leaves it that dies in the middle of runs: each on a thread with a conversation
// behind it, and some hundred words into an answer that was written in small chunks.
func abandoned(t testing.TB, runs int) string {
	t.Helper()
	dir := t.TempDir()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := journal.Open(db, journal.Options{})
	logs := make([]*journal.Log, runs)
	for i := range runs {
		thread := newThread()
		id := fmt.Sprintf("run-%d", i)
		n := run.NewRun{ID: id, Thread: thread, Request: request(), At: time.Now(), Worker: run.LocalNode + "/dead", Lease: time.Hour}
		created, err := db.CreateRun(ctx, me, n)
		if err != nil {
			t.Fatal(err)
		}
		lease := journal.Lease{Run: id, Owner: n.Worker, Epoch: created.Run.Epoch}
		logs[i] = j.Log(lease, thread, 0)
		first := []event.Envelope{{Event: event.RunStarted{Assistant: "g", Graph: "g", Attempt: 1}}}
		commit, saved := conversation(thread, id)
		first = append(first, saved)
		for _, e := range []event.Event{
			event.TurnStarted{Turn: "turn", Execution: "x", Model: "m", Attempt: 1},
			event.ItemStarted{Item: "text", Turn: "turn", Type: item.TypeMessage},
			event.BlockStarted{Item: "text", Type: item.TextBlock},
		} {
			first = append(first, event.Envelope{Node: "work", Step: 1, Event: e})
		}
		if err := logs[i].Append(ctx, journal.Batch{Events: first, Saves: []journal.Save{run.Begin{Run: id, At: time.Now(), Attempt: 1}, commit}, Promise: true}); err != nil {
			t.Fatal(err)
		}
	}
	word := event.Envelope{Node: "work", Step: 1, Event: event.TextDelta{Item: "text", Text: " tallest"}}
	for range 100 {
		for _, l := range logs {
			if err := l.Append(ctx, journal.Batch{Events: []event.Envelope{word, word}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := logs[0].Append(ctx, journal.Batch{Promise: true}); err != nil { // a chunk each
			t.Fatal(err)
		}
	}
	for _, l := range logs {
		l.Close()
	}
	j.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// conversation is the run's checkpoint, after twenty messages.
func conversation(thread, id string) (graph.Commit, event.Envelope) {
	var messages []string
	for n := range 20 {
		messages = append(messages, fmt.Sprintf(`{"id":"m%d","role":"user","content":[{"type":"text","text":%q}]}`, n, strings.Repeat("words ", 50)))
	}
	cp := graph.Checkpoint{
		ID: uuid.Must(uuid.NewV7()).String(), Thread: thread, Run: id, Source: event.FromInput, At: time.Now(), Versions: map[string]int64{"messages": 1},
		Next: []graph.Task{{ID: "task", Node: "work", Path: []string{"__pregel_pull", "work"}, Triggers: []string{"branch:to:work"}}},
	}
	saved := event.Envelope{Event: event.CheckpointSaved{ID: cp.ID, Source: cp.Source, Next: []string{"work"}}}
	return graph.Commit{Checkpoint: cp, Blobs: []graph.Blob{{Field: "messages", Version: 1, Data: json.RawMessage("[" + strings.Join(messages, ",") + "]")}}}, saved
}

// copyFolder copies a data folder.
func copyFolder(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	data, err := os.ReadFile(filepath.Join(from, "tributary.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "tributary.db"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// BenchmarkTakeUp is the time from the start of a process until 200 runs that the one before left behind go on.
func BenchmarkTakeUp(b *testing.B) {
	const runs = 200
	from := abandoned(b, runs)
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := copyFolder(b, from)
		var going atomic.Int64
		all, pass := make(chan struct{}), make(chan struct{})
		g := oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			if going.Add(1) == runs {
				close(all)
			}
			<-pass
			return graph.Command{}, nil
		})
		before := cpu()
		b.StartTimer()
		w := open(b, dir, single(g), func(o *run.Options) { o.Lease, o.Poll = 30*time.Second, time.Second })
		<-all
		b.StopTimer()
		spent += cpu() - before
		close(pass)
		w.stop(time.Minute)
		b.StartTimer()
	}
	b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "cpu-ms/op")
}

// cpu is the time that this process has had of the machine, which others may be using too.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
