package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// recorded is the evidence of one good run with a void message in it: its tool has had its effect, and the provider broke off its first
// answer.
func recorded(t *testing.T) faults.Case {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := newWorld(t)
	l := load{
		runs: 1,
		order: func(_ int, key string) faults.Order {
			return faults.Order{Key: key, Words: 12, GapMS: 2, Effect: true, Faults: []faults.Fault{{Kind: faults.Reset, After: 5}}}
		},
		wires: func(int) []faults.Dialect {
			return []faults.Dialect{faults.TaskSSE, faults.LangGraph, faults.TaskSocket}
		},
	}
	quiet := make(chan struct{})
	close(quiet)
	all := w.drive(ctx, l, quiet)
	if all[0].err != nil {
		t.Fatal(all[0].err)
	}
	return all[0].Case
}

func clone(c faults.Case) faults.Case {
	c.Readings = slices.Clone(c.Readings)
	for i := range c.Readings {
		c.Readings[i].Frames = slices.Clone(c.Readings[i].Frames)
	}
	c.Effects = slices.Clone(c.Effects)
	return c
}

// find returns the place of the first frame of a reading that matches.
func find(t *testing.T, r *faults.Reading, pattern string) int {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for i, f := range r.Frames {
		if re.MatchString(f.Name + " " + string(f.Data)) {
			return i
		}
	}
	t.Fatalf("%s has no frame %s", r.Who, pattern)
	return 0
}

func findLast(t *testing.T, r *faults.Reading, pattern string) int {
	t.Helper()
	c := slices.Clone(r.Frames)
	slices.Reverse(c)
	return len(c) - 1 - find(t, &faults.Reading{Who: r.Who, Frames: c}, pattern)
}

// edit changes the data of a frame in every reading of the wires, so that no comparison can give it away.
func edit(c *faults.Case, dialects string, change func(f *faults.Frame)) {
	for i := range c.Readings {
		if !strings.Contains(dialects, string(c.Readings[i].Dialect)) {
			continue
		}
		for k := range c.Readings[i].Frames {
			f := &c.Readings[i].Frames[k]
			f.Data = bytes.Clone(f.Data)
			change(f)
		}
	}
}

// TestOracle plants one mistake at a time into good evidence. Each must be found, by its name; the good evidence must pass.
func TestOracle(t *testing.T) {
	good := recorded(t)
	for _, v := range faults.Check(good) {
		t.Errorf("good evidence: %v", v)
	}
	const taskReader, langgraphReader, socketReader = 0, 1, 2
	const tasks, langgraph = "task, task socket", "langgraph"
	answerDelta := `text.delta.*"delta":" k0x0\.2\.3"`
	answerChunk := `messages .*"content":" k0x0\.2\.3"`
	voidDelta := `text.delta.*"delta":" k0x0\.1\.3"`
	for name, tc := range map[string]struct {
		want  faults.Law
		plant func(c *faults.Case)
	}{
		"doubled frame": {faults.Repeated, func(c *faults.Case) {
			r := &c.Readings[taskReader]
			n := find(t, r, answerDelta)
			r.Frames = slices.Insert(r.Frames, n, r.Frames[n])
		}},
		"doubled frame, langgraph": {faults.Repeated, func(c *faults.Case) {
			r := &c.Readings[langgraphReader]
			n := find(t, r, answerChunk)
			r.Frames = slices.Insert(r.Frames, n, r.Frames[n])
		}},
		"lost frame": {faults.Lost, func(c *faults.Case) {
			r := &c.Readings[socketReader]
			n := find(t, r, answerDelta)
			r.Frames = slices.Delete(r.Frames, n, n+1)
		}},
		"lost frame, langgraph": {faults.Lost, func(c *faults.Case) {
			r := &c.Readings[langgraphReader]
			n := find(t, r, "metadata")
			r.Frames = slices.Delete(r.Frames, n, n+1)
		}},
		"lost first frame": {faults.Lost, func(c *faults.Case) {
			for i := range c.Readings {
				c.Readings[i].Frames = c.Readings[i].Frames[1:]
			}
		}},
		"swapped frames": {faults.Swapped, func(c *faults.Case) {
			r := &c.Readings[taskReader]
			n := find(t, r, answerDelta)
			r.Frames[n], r.Frames[n+1] = r.Frames[n+1], r.Frames[n]
		}},
		"swapped frames, langgraph": {faults.Swapped, func(c *faults.Case) {
			r := &c.Readings[langgraphReader]
			n := find(t, r, answerChunk)
			r.Frames[n], r.Frames[n+1] = r.Frames[n+1], r.Frames[n]
		}},
		"two tries mixed": {faults.Mixed, func(c *faults.Case) {
			edit(c, tasks, func(f *faults.Frame) { f.Data = bytes.ReplaceAll(f.Data, []byte("k0x0.2.3"), []byte("k0x0.1.3")) })
		}},
		"two tries mixed, langgraph": {faults.Mixed, func(c *faults.Case) {
			edit(c, langgraph, func(f *faults.Frame) { f.Data = bytes.ReplaceAll(f.Data, []byte("k0x0.2.3"), []byte("k0x0.1.3")) })
		}},
		"delta of a void message after its end": {faults.Mixed, func(c *faults.Case) {
			r := &c.Readings[taskReader]
			late := r.Frames[find(t, r, voidDelta)]
			r.Frames = slices.Insert(r.Frames, find(t, r, "output_item.reset")+1, late)
		}},
		"deltas that are not the text": {faults.Mixed, func(c *faults.Case) {
			edit(c, tasks, func(f *faults.Frame) {
				f.Data = bytes.Replace(f.Data, []byte(`"delta":" k0x0.2.3"`), []byte(`"delta":" k0x0.2.4"`), 1)
			})
		}},
		"chunks that are not the text": {faults.Mixed, func(c *faults.Case) {
			edit(c, langgraph, func(f *faults.Frame) {
				f.Data = bytes.Replace(f.Data, []byte(`"content":" k0x0.2.3"`), []byte(`"content":" k0x0.2.4"`), 1)
			})
		}},
		"half an answer": {faults.WrongText, func(c *faults.Case) {
			c.Order.Words++
		}},
		"void message untold": {faults.Untold, func(c *faults.Case) {
			edit(c, tasks, func(f *faults.Frame) {
				f.Data = bytes.Replace(f.Data, []byte("output_item.reset"), []byte("output_item.other"), 1)
			})
		}},
		"void message untold, langgraph": {faults.Untold, func(c *faults.Case) {
			edit(c, langgraph, func(f *faults.Frame) {
				f.Data = bytes.Replace(f.Data, []byte("message_superseded"), []byte("message_forgotten"), 1)
			})
		}},
		"run that never ends": {faults.Endless, func(c *faults.Case) {
			for i := range c.Readings {
				c.Readings[i].Frames = c.Readings[i].Frames[:len(c.Readings[i].Frames)-1]
			}
		}},
		"stream that never ends": {faults.Endless, func(c *faults.Case) { c.Readings[langgraphReader].Ended = false }},
		"object that never ends": {faults.Endless, func(c *faults.Case) {
			c.Object = bytes.Replace(c.Object, []byte(`"status":"completed"`), []byte(`"status":"working"`), 1)
		}},
		"event after the end": {faults.AfterEnd, func(c *faults.Case) {
			r := &c.Readings[taskReader]
			r.Frames = append(r.Frames, r.Frames[len(r.Frames)-1])
		}},
		"run that failed": {faults.WrongEnd, func(c *faults.Case) {
			edit(c, tasks, func(f *faults.Frame) {
				f.Data = bytes.Replace(f.Data, []byte("task.completed"), []byte("task.failed"), 1)
			})
		}},
		"run that failed, langgraph": {faults.WrongEnd, func(c *faults.Case) {
			r := &c.Readings[langgraphReader]
			r.Frames = append(r.Frames, faults.Frame{Name: "error", ID: "99-9999", Data: []byte(`{"error":"E","message":"m"}`)})
		}},
		"usage twice": {faults.Miscounted, func(c *faults.Case) {
			edit(c, tasks, func(f *faults.Frame) {
				f.Data = bytes.Replace(f.Data, []byte(`"output_tokens":16`), []byte(`"output_tokens":28`), 1)
			})
		}},
		"usage twice, langgraph": {faults.Miscounted, func(c *faults.Case) {
			r := &c.Readings[langgraphReader]
			n := find(t, r, "messages .*usage_metadata")
			again := r.Frames[n]
			again.ID += ".1"
			r.Frames = slices.Insert(r.Frames, n+1, again)
		}},
		"usage twice in the state": {faults.Miscounted, func(c *faults.Case) {
			r := &c.Readings[langgraphReader]
			n := findLast(t, r, "values ")
			r.Frames[n].Data = bytes.Replace(r.Frames[n].Data, []byte(`"output_tokens":12`), []byte(`"output_tokens":24`), 1)
		}},
		"usage twice in the object": {faults.Miscounted, func(c *faults.Case) {
			c.Object = bytes.Replace(c.Object, []byte(`"output_tokens":16`), []byte(`"output_tokens":32`), 1)
		}},
		"effect twice":   {faults.Doubled, func(c *faults.Case) { c.Effects = append(c.Effects, c.Effects...) }},
		"effect not had": {faults.NoEffect, func(c *faults.Case) { c.Effects = nil }},
		"changed history": {faults.Changed, func(c *faults.Case) {
			late := &c.Readings[len(c.Readings)-3]
			n := find(t, late, answerDelta)
			late.Frames[n].Data = bytes.Replace(late.Frames[n].Data, []byte(" k0x0.2.3"), []byte(" k0x0.3.3"), 1)
		}},
		"changed history, langgraph": {faults.Changed, func(c *faults.Case) {
			late := &c.Readings[len(c.Readings)-2]
			n := find(t, late, "values ")
			late.Frames[n].Data = bytes.Replace(late.Frames[n].Data, []byte("human"), []byte("HUMAN"), 1)
		}},
		"nonsense":    {faults.Unreadable, func(c *faults.Case) { c.Readings[taskReader].Frames[2].Data = []byte("{") }},
		"no readings": {faults.Unwatched, func(c *faults.Case) { c.Readings = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			c := clone(good)
			tc.plant(&c)
			got := faults.Check(c)
			if !slices.ContainsFunc(got, func(v faults.Violation) bool { return v.Law == tc.want }) {
				t.Errorf("the oracle says %v, want %q", got, tc.want)
			}
		})
	}
}

// TestText makes sure that a text is that of one try or of none.
func TestText(t *testing.T) {
	o := faults.Order{Key: "k", Words: 3, Faults: []faults.Fault{{Kind: faults.Cut, After: 1}}}
	var back faults.Order
	if err := json.Unmarshal([]byte(o.String()), &back); err != nil || back.Key != "k" || back.Words != 3 || len(back.Faults) != 1 {
		t.Errorf("an order comes back as %+v: %v", back, err)
	}
	if got := faults.Text("k", 2, 3); got != "k.2.0 k.2.1 k.2.2" {
		t.Errorf("got %q", got)
	}
}
