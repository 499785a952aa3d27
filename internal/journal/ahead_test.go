package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
)

// preparing is a store that takes what is long out of groups before they are written: a line of it becomes a number.
type preparing struct {
	*memory
	hold chan struct{} // Prepare waits for this, if it is there

	mu    sync.Mutex
	lines [][]byte
}

func (p *preparing) Prepare(_ context.Context, g journal.Group) journal.Group {
	if p.hold != nil {
		<-p.hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []byte
	for line := range bytes.Lines(g.Chunk.Data) {
		if len(line) > 10_000 {
			p.lines = append(p.lines, bytes.Clone(line))
			line = fmt.Appendf(nil, "#%d\n", len(p.lines)-1)
		}
		out = append(out, line...)
	}
	g.Chunk.Data = out
	return g
}

func (p *preparing) Read(ctx context.Context, run string, after uint64, limit int) ([]journal.Chunk, error) {
	chunks, err := p.memory.Read(ctx, run, after, limit)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range chunks {
		var whole []byte
		for line := range bytes.Lines(chunks[i].Data) {
			if n := 0; line[0] == '#' {
				if _, err := fmt.Sscanf(string(line), "#%d", &n); err != nil {
					return nil, err
				}
				line = p.lines[n]
			}
			whole = append(whole, line...)
		}
		chunks[i].Data = whole
	}
	return chunks, err
}

var megabyte = strings.Repeat("x", 1<<20)

// While a large batch is prepared its own run waits, since events have an order, and nobody else does.
func TestNobodyElseWaitsWhileALargeBatchIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &preparing{memory: newMemory(), hold: make(chan struct{})}
		j := journal.Open(p, journal.Options{})
		defer j.Close()
		large, small := j.Log(lease("large", 1), "t", 0), j.Log(lease("small", 1), "t", 0)
		defer large.Close()
		defer small.Close()
		var order sync.WaitGroup
		order.Go(func() {
			must(t, large.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("first"), delta(megabyte)}, Promise: true}))
		})
		synctest.Wait()
		order.Go(func() { must(t, large.Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "last"}))) })
		must(t, small.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("a")}, Promise: true}))
		if p.writeCount() != 1 || len(p.chunks["large"]) != 0 {
			t.Fatalf("there were %d writes, and %d of what is being prepared; want 1 and 0", p.writeCount(), len(p.chunks["large"]))
		}
		close(p.hold)
		order.Wait()
		must(t, large.Append(t.Context(), journal.Batch{Promise: true}))
		var got []string
		for env, err := range j.Read(t.Context(), "large", 0) {
			must(t, err)
			got = append(got, env.Event.(event.TextDelta).Text)
		}
		if len(got) != 3 || got[0] != "first" || got[1] != megabyte || got[2] != "last" {
			t.Errorf("%d events are read, or not in their order", len(got))
		}
		if n := len(p.chunks["large"][0].Data); n > 1000 {
			t.Errorf("the writer was given %d bytes of a batch that was prepared", n)
		}
	})
}

// A journal that closes, or a write that fails, ends the wait of whoever has something prepared.
func TestWhatIsPreparedTooLateIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(p *preparing, j *journal.Journal, l *journal.Log)
		want error
	}{
		"the journal is closed": {func(_ *preparing, j *journal.Journal, _ *journal.Log) { j.Close() }, journal.ErrClosed},
		"the store fails": {func(p *preparing, _ *journal.Journal, _ *journal.Log) {
			p.memory.mu.Lock()
			defer p.memory.mu.Unlock()
			p.fail = errDisk
		}, errDisk},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &preparing{memory: newMemory(), hold: make(chan struct{})}
				j := journal.Open(p, journal.Options{})
				defer j.Close()
				l := j.Log(lease("r", 1), "t", 0)
				defer l.Close()
				errs := make(chan error, 2)
				for range 2 { // the one that is prepared, and one behind it
					go func() {
						errs <- l.Append(context.Background(), journal.Batch{Events: []event.Envelope{delta(megabyte)}, Promise: true})
					}()
				}
				synctest.Wait()
				c.end(p, j, l)
				close(p.hold)
				for range 2 {
					if err := <-errs; !errors.Is(err, c.want) {
						t.Errorf("Append says %v, want %v", err, c.want)
					}
				}
			})
		})
	}
}

var errDisk = errors.New("the disk is broken")

// Runs that say much and little at the same time, from several goroutines each, have all of it in the order in which it was given
// its numbers, whether it was prepared or not.
func TestLargeAndSmallBatchesKeepTheirOrder(t *testing.T) {
	p := &preparing{memory: newMemory()}
	j := journal.Open(p, journal.Options{QueueBytes: 40_000})
	defer j.Close()
	const runs, writers, batches = 4, 3, 12
	var all sync.WaitGroup
	for r := range runs {
		name := fmt.Sprint("r", r)
		l := j.Log(lease(name, 1), "t", 0)
		defer l.Close()
		var one sync.WaitGroup
		for w := range writers {
			one.Go(func() {
				for b := range batches {
					text := fmt.Sprint(name, " ", w, " ", b, " ")
					if (b+w+r)%3 == 0 {
						text += megabyte[:70_000]
					}
					must(t, l.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta(text), delta(text)}, Promise: b%4 == 0}))
				}
			})
		}
		all.Go(func() {
			one.Wait()
			must(t, l.Append(t.Context(), journal.Batch{Promise: true}))
		})
	}
	all.Wait()
	for r := range runs {
		name := fmt.Sprint("r", r)
		next := map[int]int{}
		n := 0
		for env, err := range j.Read(t.Context(), name, 0) {
			must(t, err)
			var run string
			var w, b int
			if _, err := fmt.Sscanf(env.Event.(event.TextDelta).Text, "%s %d %d", &run, &w, &b); err != nil || run != name || b != next[w]/2 {
				t.Fatalf("event %d of run %s is that of run %s, writer %d, batch %d, want batch %d: %v", env.Seq, name, run, w, b, next[w]/2, err)
			}
			next[w]++
			n++
		}
		if want := 2 * writers * batches; n != want {
			t.Errorf("run %s has %d events, want %d", name, n, want)
		}
	}
}
