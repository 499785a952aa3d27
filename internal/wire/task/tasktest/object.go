package tasktest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Task returns the object of a task as canonical JSON: keys sorted, no spaces. A task that is held by another is inside
// that one too.
func (f *Fold) Task(id string) ([]byte, bool) {
	if f.tasks[id] == nil {
		return nil, false
	}
	o := objects{f, f.containers(), map[string]bool{}}
	return canonical(o.task(id)), true
}

// Root is the first task that no other holds; the empty string if there is none.
func (f *Fold) Root() string {
	held := f.containers()
	for _, id := range f.order {
		if f.tasks[id].parent == "" && held.ofChild[id] == nil {
			return id
		}
	}
	return ""
}

// containers says which tool result shows which child.
type containers struct {
	ofChild map[string]*foldItem
	child   map[*foldItem]string
	listed  map[string][]string // children without a container, by parent
}

func (f *Fold) containers() containers {
	c := containers{map[string]*foldItem{}, map[*foldItem]string{}, map[string][]string{}}
	for _, id := range f.order {
		parent := f.tasks[id].parent
		var found *foldItem
		if parent != "" {
			found = f.tasks[parent].resultOf(id)
		} else {
			// Without a word on its parent, a child is held by whoever made the call; its own results may
			// bear the same call_id and do not count.
			for _, other := range f.order {
				if other != id && found == nil {
					found = f.tasks[other].resultOf(id)
				}
			}
		}
		switch {
		case found != nil:
			c.ofChild[id], c.child[found] = found, id
		case parent != "":
			c.listed[parent] = append(c.listed[parent], id)
		}
	}
	return c
}

// resultOf finds the last tool_result for a call.
func (t *foldTask) resultOf(call string) *foldItem {
	if t == nil {
		return nil
	}
	var found *foldItem
	last := -1
	for at, it := range t.items {
		if at > last && it.fields["type"] == "tool_result" && it.fields["call_id"] == call {
			found, last = it, at
		}
	}
	return found
}

type objects struct {
	*Fold
	held containers
	path map[string]bool // tasks being written; a stream may claim that a task holds itself
}

func (o *objects) task(id string) map[string]any {
	o.path[id] = true
	defer delete(o.path, id)
	object := maps.Clone(o.tasks[id].object)
	object["output"] = o.output(id, false)
	o.list(object, id)
	return object
}

// list puts the children of a task that have no container into its object, or into its container's.
func (o *objects) list(object map[string]any, id string) {
	var listed []any
	for _, child := range o.held.listed[id] {
		if !o.path[child] {
			listed = append(listed, o.task(child))
		}
	}
	if listed != nil {
		object["tasks"] = listed
	}
}

func (o *objects) output(id string, nested bool) []any {
	t := o.tasks[id]
	out := []any{}
	for _, at := range slices.Sorted(maps.Keys(t.items)) {
		it := t.items[at]
		object := it.object()
		if child, ok := o.held.child[it]; ok && !o.path[child] {
			o.path[child] = true
			object[it.list] = o.output(child, true)
			o.list(object, child)
			delete(o.path, child)
			switch from := o.tasks[child].object; from["status"] {
			case "failed", "canceled", "expired": // the container says of whom, and why
				head := map[string]any{}
				merge(head, from, "task_id", "status", "agent", "title", "attempt", "created_at", "reason", "error", "usage", "ended_at")
				object["task"] = head
			}
		}
		if nested {
			object["task_id"] = id
		}
		out = append(out, object)
	}
	return out
}

func (it *foldItem) object() map[string]any {
	object := maps.Clone(it.fields)
	if it.arguments != nil {
		object["arguments"] = it.arguments.String()
	}
	if object["type"] != "tool_call" || len(it.blocks) > 0 {
		blocks := []any{}
		for _, at := range slices.Sorted(maps.Keys(it.blocks)) {
			b := it.blocks[at]
			fields := b.fields
			if b.text != nil {
				fields = maps.Clone(fields)
				fields["text"] = b.text.String()
			}
			blocks = append(blocks, fields)
		}
		object[it.list] = blocks
	}
	return object
}

// canonical writes JSON with sorted keys and without spaces or needless escapes.
func canonical(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Maps, slices, strings and numbers that came out of a decoder go into an encoder.
	_ = enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Canonical rewrites a JSON value in the form of [Fold.Task], so that two can be compared byte for byte.
func Canonical(data []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return canonical(v), nil
}
