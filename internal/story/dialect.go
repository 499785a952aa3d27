package story

import (
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/internal/wire/task"
)

// Dialect is a projection that has a section in the files.
type Dialect struct {
	Name string
	// Thread says that a stream tells of the whole thread, run after run, and not of one run.
	Thread bool
	New    func(rec *Recording, run string) wire.Projector
	// After says, by a dialect's own reading of cursors, which frames a reader has not seen that names the last it saw.
	After func(cursor string) (drop func([]wire.Frame) []wire.Frame, err error)
}

// Dialects lists the sections in the order of the files.
func Dialects() []Dialect {
	all := []Dialect{{Name: "task", New: func(*Recording, string) wire.Projector { return task.New() }, After: afterNumber}}
	for _, mode := range Modes {
		all = append(all, LangGraph("langgraph "+mode, true, mode))
	}
	return append(all, Protocol2("protocol2", Channels...))
}

// Modes are LangGraph's stream modes.
var Modes = []string{"values", "updates", "messages-tuple", "messages", "custom", "events", "debug", "tasks", "checkpoints", "tools"}

// LangGraph is the dialect of a stream with some modes.
func LangGraph(name string, subgraphs bool, modes ...string) Dialect {
	m, err := langgraph.ParseModes(modes)
	if err != nil {
		panic(err) // a mistake in the list above
	}
	return Dialect{
		Name: name,
		New: func(rec *Recording, run string) wire.Projector {
			return langgraph.New(langgraph.Options{Modes: m, Subgraphs: subgraphs, States: rec.StatesOf(run)})
		},
		After: afterPlace,
	}
}

// Channels are those of the thread-centric protocol.
var Channels = []string{"values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"}

// Protocol2 is the dialect of a thread's stream with some channels.
func Protocol2(name string, channels ...string) Dialect {
	return Dialect{
		Name: name, Thread: true, After: afterNumber,
		New: func(rec *Recording, _ string) wire.Projector {
			f := &protocol2.Filter{Channels: channels}
			return &channel{protocol2.New(protocol2.Options{States: threadStates{rec}, Only: f}), f}
		},
	}
}

// channel passes on what a filter wants.
type channel struct {
	*protocol2.Projector
	filter *protocol2.Filter
}

func (c *channel) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	events, err := c.Events(nil, env)
	for i := range events {
		if c.filter.Match(&events[i]) {
			dst = append(dst, events[i].Frame)
		}
	}
	return dst, err
}

// afterPlace reads cursors that name an event and a place among its frames.
func afterPlace(cursor string) (func([]wire.Frame) []wire.Frame, error) {
	_, seq, place, err := langgraph.ParseCursor(cursor)
	if err != nil {
		return nil, err
	}
	return func(frames []wire.Frame) []wire.Frame {
		for i, f := range frames {
			if _, s, p, err := langgraph.ParseCursor(f.ID); err == nil && (s > seq || s == seq && p > place) {
				return frames[i:]
			}
		}
		return nil
	}, nil
}

// afterNumber reads cursors that count frames.
func afterNumber(cursor string) (func([]wire.Frame) []wire.Frame, error) {
	last, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return nil, err
	}
	return func(frames []wire.Frame) []wire.Frame {
		for i, f := range frames {
			if n, err := strconv.ParseUint(f.ID, 10, 64); err == nil && n > last {
				return frames[i:]
			}
		}
		return nil
	}, nil
}

// Streams are what the dialect tells of a thread: each run, or all of them as one.
func (d Dialect) Streams(rec *Recording) []Run {
	if !d.Thread {
		return rec.Runs
	}
	var whole Run
	for _, r := range rec.Runs {
		whole.Events = append(whole.Events, r.Events...)
	}
	return []Run{whole}
}

// Project returns the frames of each event of a stream.
func (d Dialect) Project(rec *Recording, r Run) ([][]wire.Frame, error) {
	p := d.New(rec, r.ID)
	out := make([][]wire.Frame, len(r.Events))
	for i := range r.Events {
		var err error
		if out[i], err = p.Project(nil, &r.Events[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// final is the folded object of a run.
func final(r Run) []byte {
	var f transcript.Fold
	for i := range r.Events {
		_ = f.Apply(&r.Events[i]) // laws are checked by a test of their own
	}
	root, _ := f.Task("")
	return task.Object(r.ID, root)
}
