// Package tasktest reads what package task writes, for tests: [Fold] is a client that assembles the objects of tasks
// from frames. It knows the wire and nothing of package task, so that it proves that the frames suffice; ui/tasks.ts is
// the same in TypeScript.
package tasktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Fold reads frames and assembles the objects of the tasks in them.
//
// It is tolerant of what other producers of the protocol send: life-cycle events, status and sequence numbers
// may be missing; an added for something that is there empties it; done may come without added; image_url is read as
// image; a child without parent_task_id is looked for by its call_id; types that it does not know pass by.
//
// The zero Fold is empty and ready.
type Fold struct {
	tasks map[string]*foldTask
	order []string
}

// errNoPlace is returned for a delta of something that was never added. The fold is as before.
var errNoPlace = errors.New("nothing was added there")

type foldTask struct {
	parent string
	object map[string]any
	items  map[int]*foldItem // by output_index
}

type foldItem struct {
	fields    map[string]any
	list      string // the name of its blocks: summary or block_list
	blocks    map[int]*foldBlock
	arguments *strings.Builder // while they grow
}

type foldBlock struct {
	fields map[string]any
	text   *strings.Builder // while it grows
}

// Apply takes in the JSON of one frame.
func (f *Fold) Apply(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var frame map[string]any
	if err := dec.Decode(&frame); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("frame: more than one JSON value")
	}
	typ, _ := frame["type"].(string)
	id, _ := frame["task_id"].(string)
	name, ok := strings.CutPrefix(typ, "task.")
	if !ok || id == "" {
		return fmt.Errorf("frame of type %q for task %q: want type task.… and a task_id", typ, id)
	}
	if err := f.apply(name, id, frame); err != nil {
		return fmt.Errorf("%s of task %q: %w", typ, id, err)
	}
	return nil
}

func (f *Fold) apply(name, id string, frame map[string]any) error {
	switch name {
	case "created", "queued", "working", "input_required", "paused", "completed", "canceled", "expired", "failed":
		f.task(id).lives(f, name, frame)
		return nil
	case "interrupt", "plan.updated", "team.formed":
		list := map[string]string{"interrupt": "interrupts", "plan.updated": "plans", "team.formed": "teams"}[name]
		thing, ok := frame[strings.SplitN(name, ".", 2)[0]].(map[string]any)
		if !ok {
			return errors.New("it carries no object")
		}
		t := f.task(id)
		t.object[list] = replaceByID(t.object[list], thing)
		return nil
	case "team.dissolved":
		teams, _ := f.task(id).object["teams"].([]any)
		for _, team := range teams {
			if team := team.(map[string]any); team["id"] == frame["team_id"] {
				merge(team, frame, "outcome", "reason")
			}
		}
		return nil
	case "warning":
		t := f.task(id)
		warnings, _ := t.object["warnings"].([]any)
		warning := map[string]any{}
		merge(warning, frame, "code", "message")
		t.object["warnings"] = append(warnings, warning)
		return nil
	case "spoken":
		t := f.task(id)
		all, _ := t.object["spoken"].([]any)
		words := map[string]any{}
		merge(words, frame, "id", "to", "text")
		t.object["spoken"] = append(all, words)
		return nil
	}
	at, ok := index(frame["output_index"])
	if !ok {
		return nil // custom, and what later versions may add
	}
	return f.inItem(name, id, at, frame)
}

func (f *Fold) inItem(name, id string, at int, frame map[string]any) error {
	value, _ := frame["item"].(map[string]any)
	delta, _ := frame["delta"].(string)
	it := f.task(id).items[at]
	switch name {
	case "output_item.added":
		if value == nil {
			return errors.New("it carries no item")
		}
		f.task(id).items[at] = newItem(value)
		return nil
	case "output_item.done":
		if value == nil {
			return errors.New("it carries no item")
		}
		if it == nil {
			f.task(id).items[at] = newItem(value)
		} else {
			it.merge(value)
			delete(it.fields, "progress") // it has ended
		}
		return nil
	case "output_item.reset":
		delete(f.task(id).items, at)
		return nil
	}
	if it == nil {
		return errNoPlace
	}
	switch name {
	case "tool_progress":
		it.fields["progress"] = frame["progress"]
		return nil
	case "tool_call_arguments.delta":
		if it.arguments == nil {
			it.arguments = grow(it.fields["arguments"])
		}
		it.arguments.WriteString(delta)
		return nil
	case "tool_call_arguments.done":
		it.arguments = nil
		merge(it.fields, frame, "arguments")
		return nil
	}
	place, ok := index(frame["block_index"])
	if !ok {
		if place, ok = index(frame["summary_index"]); !ok {
			return nil
		}
	}
	if value != nil { // added, done, or a coarse picture: each replaces what was there
		it.blocks[place] = newBlock(value)
		return nil
	}
	if !strings.HasSuffix(name, ".delta") {
		return nil
	}
	b := it.blocks[place]
	if b == nil {
		return errNoPlace
	}
	if b.text == nil {
		b.text = grow(b.fields["text"])
	}
	b.text.WriteString(delta)
	return nil
}

func (f *Fold) task(id string) *foldTask {
	t := f.tasks[id]
	if t == nil {
		if f.tasks == nil {
			f.tasks = map[string]*foldTask{}
		}
		t = newTask(id)
		f.tasks[id] = t
		f.order = append(f.order, id)
	}
	return t
}

func newTask(id string) *foldTask {
	return &foldTask{object: map[string]any{"task_id": id}, items: map[int]*foldItem{}}
}

// assembled are the fields that a life-cycle event cannot set: they say something about the frame, or are put
// together from other frames.
var assembled = map[string]bool{
	"type": true, "sequence_number": true,
	"output": true, "tasks": true, "interrupts": true, "plans": true, "teams": true, "warnings": true, "spoken": true,
}

// ending are the fields that say how a task ended.
var ending = []string{"error", "reason", "usage", "ended_at"}

// lives takes in a life-cycle event: whatever it says becomes part of the object.
func (t *foldTask) lives(f *Fold, name string, frame map[string]any) {
	if name == "created" && t.object["status"] != nil {
		id := t.object["task_id"].(string)
		f.forgetBelow(id)
		*t = *newTask(id)
	}
	for _, key := range ending { // how it ended before, if it did, does not count any more
		delete(t.object, key)
	}
	for key, v := range frame {
		if !assembled[key] {
			t.object[key] = v
		}
	}
	t.object["status"] = name
	if parent, ok := frame["parent_task_id"].(string); ok {
		t.parent = parent
	}
	switch name {
	case "completed", "canceled", "expired", "failed":
		delete(t.object, "interrupts")
	}
}

// forgetBelow drops the children of a task that starts over.
func (f *Fold) forgetBelow(id string) {
	for _, child := range slices.Clone(f.order) {
		if t := f.tasks[child]; t != nil && t.parent == id && child != id {
			delete(f.tasks, child)
			f.order = slices.DeleteFunc(f.order, func(s string) bool { return s == child })
			f.forgetBelow(child)
		}
	}
}

func newItem(value map[string]any) *foldItem {
	it := &foldItem{fields: map[string]any{}, list: "block_list", blocks: map[int]*foldBlock{}}
	it.merge(value)
	return it
}

// merge takes in an item's value: what is absent stays as it was.
func (it *foldItem) merge(value map[string]any) {
	if value["type"] == "reasoning" {
		it.list = "summary"
	}
	for key, v := range value {
		blocks, isList := v.([]any)
		switch {
		case key == it.list && isList:
			clear(it.blocks)
			for i, b := range blocks {
				if b, ok := b.(map[string]any); ok {
					it.blocks[i] = newBlock(b)
				}
			}
		case key == "arguments":
			it.arguments = nil
			it.fields[key] = v
		default:
			it.fields[key] = v
		}
	}
}

func newBlock(fields map[string]any) *foldBlock {
	if fields["type"] == "image_url" {
		fields["type"] = "image"
	}
	return &foldBlock{fields: fields}
}

// grow begins to join deltas after what is there, without copying it again for each.
func grow(v any) *strings.Builder {
	var b strings.Builder
	s, _ := v.(string)
	b.WriteString(s)
	return &b
}

func merge(into, from map[string]any, keys ...string) {
	for _, key := range keys {
		if v, ok := from[key]; ok {
			into[key] = v
		}
	}
}

func replaceByID(list any, thing map[string]any) []any {
	things, _ := list.([]any)
	for i, old := range things {
		if old.(map[string]any)["id"] == thing["id"] {
			things[i] = thing
			return things
		}
	}
	return append(things, thing)
}

// index reads a place in a list.
func index(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil && i >= 0 && int64(int(i)) == i
}
