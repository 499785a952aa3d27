package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/wire"
)

// chunks is a journal's store in memory.
type chunks struct {
	mu  sync.Mutex
	all []journal.Chunk
}

func (c *chunks) Append(_ context.Context, groups []journal.Group, _ bool) (map[string]error, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range groups {
		g.Chunk.Data = bytes.Clone(g.Chunk.Data)
		c.all = append(c.all, g.Chunk)
	}
	return nil, nil
}

func (c *chunks) Read(_ context.Context, _ string, after uint64, limit int) (out []journal.Chunk, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, ch := range c.all {
		if ch.Last > after && size < limit {
			out = append(out, ch)
			size += len(ch.Data)
		}
	}
	return out, nil
}

// numbers projects the n-th event onto n%3 frames, so that some events have none.
type numbers struct{}

func (numbers) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	for i := range int(env.Seq % 3) {
		id := fmt.Sprintf("%d.%d", env.Seq, i)
		text := ""
		if d, ok := env.Event.(event.TextDelta); ok {
			text = d.Text
		}
		dst = append(dst, wire.Frame{ID: id, Data: []byte(id + " " + text)})
	}
	return dst, nil
}

// laterThan tells which frames come after one.
func laterThan(last string) func(string) bool {
	place := func(id string) (event, frame int) {
		_, _ = fmt.Sscanf(id, "%d.%d", &event, &frame) // ids of numbers
		return event, frame
	}
	e, f := place(last)
	return func(id string) bool {
		event, frame := place(id)
		return event > e || event == e && frame > f
	}
}

// Laws 7 and 8 for what is larger than a feed keeps: readers that are early, late and slow, that resume after a frame
// which the feed still has, or has let go, or has not reached yet, get the same frames, each once and in order.
func TestReadersOfATrimmedFeedSeeTheSameFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := journal.Open(&chunks{}, journal.Options{TailBytes: 600})
		defer j.Close()
		log := j.Log(journal.Lease{Run: "r", Owner: "w", Epoch: 1}, "t", 0)
		defer log.Close()
		fs := New(j)
		fs.keep = 4 << 10
		key := Key{Run: "r", Dialect: "numbers", Lines: true}
		project := func() wire.Projector { return numbers{} }
		long := strings.Repeat("x", 200)

		type follower struct {
			*Reader
			from int // index of its first frame
			got  []string
		}
		var want []string // ids of all frames so far
		var readers []*follower
		seq := 0
		write := func(e event.Event) {
			seq++
			for i := range seq % 3 {
				want = append(want, fmt.Sprintf("%d.%d", seq, i))
			}
			b := journal.Batch{Events: []event.Envelope{{Event: e}}, Promise: true}
			if err := log.Append(context.Background(), b); err != nil {
				t.Fatalf("append: %v", err)
			}
		}
		// pull reads once and reports whether there may be more.
		pull := func(f *follower) bool {
			data, bell, err := f.Poll(context.Background())
			for line := range strings.Lines(string(data)) {
				id, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				f.got = append(f.got, id)
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("poll: %v", err)
			}
			if err == nil && len(data) == 0 && bell == nil {
				t.Fatalf("a reader was left without a bell")
			}
			return err == nil && bell == nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				for range rapid.IntRange(1, 6).Draw(t, "events") {
					write(event.TextDelta{Item: "m", Text: long})
				}
			},
			"join": func(t *rapid.T) {
				f := &follower{}
				at := Start{}
				if len(want) > 0 {
					f.from = rapid.IntRange(0, len(want)).Draw(t, "from")
				}
				switch {
				case f.from == 0:
				case rapid.Bool().Draw(t, "by order"): // as LangGraph's dialect does
					at.After = laterThan(want[f.from-1])
				default:
					at.Last = want[f.from-1]
				}
				f.Reader = fs.Reader(key, project, at)
				readers = append(readers, f)
			},
			"read": func(t *rapid.T) {
				if len(readers) > 0 {
					f := rapid.SampledFrom(readers).Draw(t, "reader")
					for range rapid.IntRange(1, 10).Draw(t, "times") {
						if !pull(f) {
							break
						}
					}
				}
			},
			"leave": func(t *rapid.T) {
				if len(readers) > 1 {
					readers[0].Close()
					readers = readers[1:]
				}
			},
			"": func(*rapid.T) {},
		})
		write(event.RunEnded{Status: event.Success})
		for i, f := range readers {
			for pull(f) {
			}
			if got, want := strings.Join(f.got, " "), strings.Join(want[f.from:], " "); got != want {
				t.Fatalf("reader %d from %d saw\n%s\nwant\n%s", i, f.from, got, want)
			}
			f.Close()
		}
		if len(fs.open) != 0 || j.Live() != 1 {
			t.Fatalf("%d feeds and %d runs are left", len(fs.open), j.Live())
		}
	})
}

// Bytes that a reader was given are its own until it asks for more, however slowly it writes them and whatever becomes of the
// buffer meanwhile.
func TestBytesThatAReaderHoldsStayAsTheyWere(t *testing.T) {
	j := journal.Open(&chunks{}, journal.Options{})
	defer j.Close()
	log := j.Log(journal.Lease{Run: "r", Owner: "w", Epoch: 1}, "t", 0)
	defer log.Close()
	fs := New(j)
	fs.keep = 4 << 10
	key := Key{Run: "r", Dialect: "numbers", Lines: true}
	slow := fs.Reader(key, func() wire.Projector { return numbers{} }, Start{})
	defer slow.Close()
	fast := fs.Reader(key, func() wire.Projector { return numbers{} }, Start{})
	defer fast.Close()
	write := func(letter string) {
		b := journal.Batch{Promise: true}
		for range 30 {
			b.Events = append(b.Events, event.Envelope{Event: event.TextDelta{Item: "m", Text: strings.Repeat(letter, 200)}})
		}
		if err := log.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	held, _, err := slow.Poll(t.Context())
	if err != nil || len(held) == 0 {
		t.Fatalf("the slow reader got %d bytes, %v", len(held), err)
	}
	want := string(held)
	for _, letter := range []string{"b", "c", "d", "e"} {
		write(letter)
		for {
			data, bell, err := fast.Poll(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if bell != nil {
				break
			}
			if string(held) != want {
				t.Fatalf("after the fast reader had read %q… the slow one holds\n%.300s…\nand was given\n%.300s…", data[:10], held, want)
			}
		}
	}
}
