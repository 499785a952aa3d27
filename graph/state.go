package graph

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// state is the live values of a graph's fields, by the field's place in the graph.
type state []cell

type cell struct {
	value any
	set   bool

	// What is stored: the version, 0 if nothing is; of a list or a map, the value then.
	version int64
	stored  any
	bytes   int // of the encoded value

	// What happened since it was stored.
	changed bool
	grown   bool // a list that was only appended to, or a map that only got new keys
	writes  int
	only    *Write // the update that is just what is new, if a single one was
}

// newState returns the state before anything was written.
func newState(g *Graph) state {
	st := make(state, len(g.fields))
	for i, d := range g.fields {
		if d.initial != nil {
			st[i] = cell{value: d.initial, set: true, changed: true}
		}
	}
	return st
}

// loadState reads the values of a snapshot. Fields that the graph no longer has are left alone.
func loadState(g *Graph, snap *Snapshot) (state, error) {
	st := newState(g)
	for i, d := range g.fields {
		raw, ok := snap.Values[d.name]
		if !ok {
			continue
		}
		v, err := d.decode(raw)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: stored value of field %q: %w", snap.ID, d.name, err)
		}
		st[i] = cell{value: v, set: true, version: snap.Versions[d.name], bytes: len(raw), grown: true}
		if d.grow != nil {
			st[i].stored = v
		}
	}
	return st, nil
}

func (st state) clone() state {
	out := make(state, len(st))
	copy(out, st)
	return out
}

// fold merges a write. owned says that the state's lists may be extended in place.
func (st state) fold(g *Graph, w *Write, owned bool) {
	i := g.index[w.def.name]
	d, c := g.fields[i], &st[i]
	f := d.fold(c.value, w.value, owned)
	if f.same && c.set {
		return
	}
	if !c.changed {
		c.grown = d.grow != nil && c.version != 0
	}
	c.grown = c.grown && f.appended
	c.writes++
	c.only = nil
	// The whole of a list or a map is stored where there is nothing to extend; it is then just the update only if it was
	// empty.
	if c.writes == 1 && f.verbatim && (c.grown || d.grow == nil || d.grow.length(c.value) == 0) {
		c.only = w
	}
	c.value, c.set, c.changed = f.value, true, true
}

// blob encodes what is new of a field and notes it as stored under the version.
func (c *cell) blob(d *definition, version int64) (Blob, error) {
	b := Blob{Field: d.name, Version: version}
	var err error
	switch {
	case c.only != nil:
		b.Data, err = c.only.encoded()
	case c.grown:
		b.Data, err = d.grow.tail(c.value, c.stored)
	default:
		b.Data, err = d.encode(c.value)
	}
	if err != nil {
		return b, fmt.Errorf("field %q: %w", d.name, err)
	}
	if c.grown {
		b.Base = c.version
		c.bytes += len(b.Data)
	} else {
		c.bytes = len(b.Data)
	}
	c.version, c.changed, c.grown, c.writes, c.only = version, false, true, 0, nil
	if d.grow != nil {
		c.stored = c.value
	}
	return b, nil
}

// encode returns the values of all fields that have one.
func (st state) encode(g *Graph) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(st))
	for i, d := range g.fields {
		if !st[i].set {
			continue
		}
		raw, err := d.encode(st[i].value)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", d.name, err)
		}
		out[d.name] = raw
	}
	return out, nil
}

// adopt makes a write ours: of a field that the graph has, by the graph's own rule, complete.
func (g *Graph) adopt(w Write) (Write, error) {
	if w.def == nil {
		return w, invalidUpdate("an empty write; make writes with a field's Set")
	}
	i, ok := g.index[w.def.name]
	if !ok {
		return w, invalidUpdate("graph %q has no field %q", g.name, w.def.name)
	}
	d := g.fields[i]
	if d != w.def {
		if d.typ != w.def.typ {
			return w, invalidUpdate("field %q of graph %q holds %v; the update is %v", d.name, g.name, d.typ, w.def.typ)
		}
		w.def = d
	}
	if d.check != nil {
		if err := d.check(w.value); err != nil {
			return w, invalidUpdate("%v", err)
		}
	}
	if d.complete != nil && w.raw == nil {
		w.value = d.complete(w.value)
	}
	return w, nil
}

// adoptAll is adopt for what one node writes, which may write a last-value field only once.
func (g *Graph) adoptAll(writes []Write) ([]Write, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	out := make([]Write, len(writes))
	for i, w := range writes {
		var err error
		if out[i], err = g.adopt(w); err != nil {
			return nil, err
		}
		for j := range i {
			if out[i].def.single && out[j].def == out[i].def {
				return nil, invalidUpdate("field %q keeps the last value and was written twice by one node", out[i].def.name)
			}
		}
	}
	return out, nil
}

// readWrites decodes an object of fields from outside. Keys that are not fields are ignored.
func (g *Graph) readWrites(raw json.RawMessage) ([]Write, error) {
	raw = nullToNil(raw)
	if raw == nil {
		return nil, nil
	}
	if raw[0] == '[' {
		return g.readPairs(raw)
	}
	obj, err := membersOf(raw)
	if err != nil {
		return nil, invalidInput("the input of graph %q must be an object of fields", g.name)
	}
	var out []Write
	for _, d := range g.fields {
		v, ok := obj[d.name]
		if !ok {
			continue
		}
		w, err := g.readWrite(d, v)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// largeInput is from where on an input is not decoded as a whole: it may have megabytes.
const largeInput = 4 << 10

// membersOf is an object by its keys. The values of a large one stay where they lie.
func membersOf(raw json.RawMessage) (obj map[string]json.RawMessage, err error) {
	if len(raw) > largeInput {
		if obj, ok := lookInto(raw); ok {
			return obj, nil
		}
	}
	err = json.Unmarshal(raw, &obj)
	return obj, err
}

// lookInto is membersOf for objects that have no white space around their values.
func lookInto(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if end, ok := jsonline.Skip(raw, 0); !ok || end != len(raw) || raw[0] != '{' {
		return nil, false
	}
	obj := map[string]json.RawMessage{}
	for key, value := range jsonline.Members(raw) {
		name, ok := jsonline.Text(slices.Concat([]byte{'"'}, key, []byte{'"'}))
		if !ok {
			return nil, false
		}
		obj[name] = value
	}
	return obj, true
}

// readPairs decodes [[field, value], …].
func (g *Graph) readPairs(raw json.RawMessage) ([]Write, error) {
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return nil, invalidInput("an update must be an object of fields or a list of [field, value] pairs")
	}
	var out []Write
	for _, p := range pairs {
		var name string
		if err := json.Unmarshal(p[0], &name); err != nil {
			return nil, invalidInput("an update must be an object of fields or a list of [field, value] pairs")
		}
		i, ok := g.index[name]
		if !ok {
			continue
		}
		w, err := g.readWrite(g.fields[i], p[1])
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

func (g *Graph) readWrite(d *definition, raw json.RawMessage) (Write, error) {
	v, err := d.read(raw)
	if err == nil && d.check != nil {
		err = d.check(v)
	}
	if err != nil {
		return Write{}, invalidInput("%v", err)
	}
	return g.adopt(Write{def: d, value: v})
}

// keptWrites decodes the writes of a task whose outcome was kept.
func (g *Graph) keptWrites(o Outcome) ([]Write, error) {
	var out []Write
	for _, fw := range o.Writes {
		i, ok := g.index[fw.Field]
		if !ok {
			continue
		}
		v, err := g.fields[i].read(fw.Value)
		if err != nil {
			return nil, fmt.Errorf("kept outcome of node %q: %w", o.Node, err)
		}
		out = append(out, Write{def: g.fields[i], value: v, raw: fw.Value})
	}
	return out, nil
}
