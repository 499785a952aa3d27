package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// FieldMessages is the field in which a graph keeps its conversation, as LangGraph's do. What is left of answers that were
// cut off is put there.
const FieldMessages = "messages"

// Leaving is a message that was cut off, to be put into a state in which the node that was making it did not get to write.
type Leaving struct {
	Node    string
	Task    string // of the node's graph; empty for the root task
	Message item.Message
	// Follows says of a message of the state that it was begun later, and so stands behind; nil: none was.
	Follows func(id string) bool
}

// Leave adds messages to the conversation of a stored state, without running anything: what was due stays due, under the same
// ids, and what is known of it stays known. It returns the batch that says and stores so; nothing where the state has
// no conversation, or has the messages already.
func Leave(snap *Snapshot, run string, leaving []Leaving) (Batch, error) {
	raw, ok := snap.Values[FieldMessages]
	if !ok {
		return Batch{}, nil
	}
	var held []json.RawMessage
	if err := json.Unmarshal(raw, &held); err != nil {
		return Batch{}, fmt.Errorf("the messages of checkpoint %s: %w", snap.ID, err)
	}
	l := conversation{ids: make([]string, len(held)), list: held, left: map[string][]json.RawMessage{}}
	for i, m := range held {
		var named struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(m, &named) // one without an id is no answer of ours
		l.ids[i] = named.ID
	}
	for _, m := range leaving {
		if err := l.add(m); err != nil {
			return Batch{}, err
		}
	}
	if len(l.left) == 0 {
		return Batch{}, nil
	}
	return l.batch(snap, run, leaving[0].Task)
}

// conversation is a list of messages that grows.
type conversation struct {
	ids      []string
	list     []json.RawMessage
	inserted bool // something was put before what was there
	added    []json.RawMessage
	left     map[string][]json.RawMessage // by node
}

func (c *conversation) add(m Leaving) error {
	if slices.Contains(c.ids, m.Message.ID) {
		return nil
	}
	raw, err := json.Marshal(m.Message) // once: an answer that was cut off may be megabytes long
	if err != nil {
		return fmt.Errorf("message %s: %w", m.Message.ID, err)
	}
	at := len(c.ids)
	if m.Follows != nil {
		if first := slices.IndexFunc(c.ids, m.Follows); first >= 0 {
			at, c.inserted = first, true
		}
	}
	c.ids, c.list = slices.Insert(c.ids, at, m.Message.ID), slices.Insert(c.list, at, json.RawMessage(raw))
	c.added = append(c.added, raw)
	c.left[m.Node] = append(c.left[m.Node], raw)
	return nil
}

func (c *conversation) batch(snap *Snapshot, run, task string) (Batch, error) {
	cp := snap.Checkpoint
	cp.ID, cp.Parent, cp.Run = newCheckpointID(snap.ID), snap.ID, run
	cp.Step, cp.Source, cp.At = snap.Step+1, event.FromUpdate, now()
	cp.Versions = make(map[string]int64, len(snap.Versions))
	var newest int64
	for name, v := range snap.Versions {
		cp.Versions[name] = v
		newest = max(newest, v)
	}
	blob := Blob{Field: FieldMessages, Version: newVersion(newest), Base: snap.Versions[FieldMessages]}
	elements := c.added
	if c.inserted || blob.Base == 0 {
		blob.Base, elements = 0, c.list
	}
	blob.Data = listOf(elements)
	cp.Versions[FieldMessages] = blob.Version
	left, err := c.byNode()
	if err != nil {
		return Batch{}, err
	}
	saved := event.CheckpointSaved{
		ID: cp.ID, Parent: cp.Parent, Source: cp.Source, Next: names(cp.Next), Changed: []string{FieldMessages}, Left: left,
	}
	b := Batch{
		Events: []event.Envelope{{NS: cp.NS, Task: task, Step: cp.Step, Event: saved}},
		Save:   []Save{Commit{Checkpoint: cp, Blobs: []Blob{blob}, Done: c.done(blob)}},
	}
	for _, o := range snap.Kept {
		b.Save = append(b.Save, Kept{Thread: cp.Thread, NS: cp.NS, Checkpoint: cp.ID, Outcome: o})
	}
	return b, nil
}

// listOf is a list of JSON values, which are taken as they are.
func listOf(values []json.RawMessage) json.RawMessage {
	n := 2
	for _, v := range values {
		n += len(v) + 1
	}
	list := append(make([]byte, 0, n), '[')
	for i, v := range values {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, v...)
	}
	return append(list, ']')
}

// byNode is what each node left, as an object.
func (c *conversation) byNode() (json.RawMessage, error) {
	out := []byte{'{'}
	for i, node := range slices.Sorted(maps.Keys(c.left)) {
		name, err := json.Marshal(node)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, name...), `:{"`+FieldMessages+`":`...)
		out = append(append(out, listOf(c.left[node])...), '}')
	}
	return append(out, '}'), nil
}

// done tells who wrote, for those who read the history. What one node alone wrote is what the blob has, and need not be stored again.
func (c *conversation) done(blob Blob) (out []Outcome) {
	for _, node := range slices.Sorted(maps.Keys(c.left)) {
		o := Outcome{Task: "left:" + node, Node: node, Finished: true}
		if len(c.left[node]) == len(c.added) && blob.Base != 0 {
			o.Stored = map[string]int64{FieldMessages: blob.Version}
		} else {
			o.Writes = []FieldWrite{{FieldMessages, listOf(c.left[node])}}
		}
		out = append(out, o)
	}
	return out
}
