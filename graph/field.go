package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// AnyField is a [Field] of whatever type, as a graph is made of them.
type AnyField interface {
	// Name is the key under which the field is found in the state's JSON form.
	Name() string
	// Schema describes the field's values as a JSON Schema.
	Schema() json.RawMessage
	definition() *definition
}

// Field is a named part of the state, together with the rule by which writes merge into it. Fields are values:
// declare them once, beside the nodes that use them, and share them between graphs.
//
// What Get returns is shared by all nodes of a step and must not be changed.
type Field[T any] struct{ def *definition }

// definition is the untyped side of a field, the one that the runtime works with.
type definition struct {
	name   string
	key    []byte // the name as JSON, with its colon
	typ    reflect.Type
	schema func() json.RawMessage

	// single says that only one write in a step makes sense.
	single bool
	// initial is the value before the first write; nil where the field is absent until then.
	initial any
	decode  func([]byte) (any, error)
	encode  func(any) ([]byte, error)
	// complete finishes an update before anybody sees it: it gives ids to messages that have none.
	complete func(any) any
	// check says what is wrong with an update that is of the right type; nil where nothing can be. Stored values are
	// not checked: what a field may hold can become less, and the threads that hold more must still open.
	check func(any) error
	fold  func(old, update any, owned bool) folded
	grow  *growing // of fields whose values are lists or maps
}

// growing is what storing only what is new takes.
type growing struct {
	length func(any) int
	// tail encodes what v has beyond base, which it grew out of.
	tail func(v, base any) ([]byte, error)
	// since returns what v has after the elements of base, if it begins with them; nil for maps.
	since func(v, base any) (any, bool)
}

// folded is the outcome of merging an update into a value.
type folded struct {
	value any
	// same says that the update changed nothing.
	same bool
	// appended says that the old value is a prefix of the new one, or has some of its keys with the same values.
	appended bool
	// verbatim says that what is new, the tail or else the whole value, is just the update.
	verbatim bool
}

// Write is an update of a field, still to be merged.
type Write struct {
	def   *definition
	value any
	raw   json.RawMessage // its JSON form, once somebody needed it
	// stored is the version under which a checkpoint holds just this update.
	stored int64
}

// Field is the name of the field that is written.
func (w Write) Field() string { return w.def.name }

func (f Field[T]) Name() string            { return f.def.name }
func (f Field[T]) Schema() json.RawMessage { return f.def.schema() }
func (f Field[T]) definition() *definition { return f.def }

// Set makes an update of the field; its rule says what becomes of it.
func (f Field[T]) Set(v T) Write { return Write{def: f.def, value: v} }

// Get reads the field as it was when the step began; for a node that was sent an input, from that input.
// It is the zero value where the field has not been written.
func (f Field[T]) Get(s *Scope) T {
	v, _ := f.Lookup(s)
	return v
}

// Lookup is Get, and tells whether the field has a value.
func (f Field[T]) Lookup(s *Scope) (T, bool) {
	var zero T
	v, ok := s.lookup(f.def.name)
	if !ok {
		return zero, false
	}
	t, ok := v.(T)
	if !ok && v != nil { // nil is a value of a field of an interface type
		panic(fmt.Sprintf("field %q of graph %q holds a %T, not a %T", f.def.name, s.engine.g.name, v, zero))
	}
	return t, true
}

// LastValue is a field that holds what was written last. Two writes in one step are an error, because
// neither would be the last.
func LastValue[T any](name string) Field[T] {
	d := define[T](name)
	d.single = true
	d.fold = func(_, update any, _ bool) folded { return folded{value: update, verbatim: true} }
	return Field[T]{d}
}

// Enum is a field that holds one of a few texts; what was written last counts. Another text is refused, whether a
// client writes it or a node does, and the schema tells which there are.
func Enum[T ~string](name string, values ...T) Field[T] {
	f := LastValue[T](name)
	values = slices.Clone(values)
	f.def.check = func(v any) error {
		if !slices.Contains(values, v.(T)) {
			return fmt.Errorf("field %q: %q is none of %q", name, v, values)
		}
		return nil
	}
	f.def.schema = sync.OnceValue(func() json.RawMessage {
		s := schema{Type: "string", Enum: make([]string, len(values))}
		for i, v := range values {
			s.Enum[i] = string(v)
		}
		return s.encode()
	})
	return f
}

// JSON is a field of any JSON value; what was written last counts.
func JSON(name string) Field[json.RawMessage] {
	f := LastValue[json.RawMessage](name)
	f.def.schema = func() json.RawMessage { return json.RawMessage(`{}`) }
	return f
}

// Reduced is a field whose writes are merged by a function. It starts as the zero value, and merge must not
// change its arguments.
func Reduced[T any](name string, merge func(old, update T) T) Field[T] {
	d := define[T](name)
	d.fold = func(old, update any, _ bool) folded {
		was, _ := old.(T)
		add, _ := update.(T) // nil where T is an interface
		return folded{value: merge(was, add)}
	}
	return Field[T]{d}
}

// Merge is a field that holds a map: an update adds and replaces keys, and an empty map clears them all. A checkpoint stores
// only the keys that were added, and the whole map where one was replaced.
func Merge[V any](name string) Field[map[string]V] {
	d := define[map[string]V](name)
	d.initial = map[string]V{}
	d.fold = func(old, update any, _ bool) folded {
		was, _ := old.(map[string]V)
		add := update.(map[string]V)
		if len(add) == 0 {
			return folded{value: map[string]V{}, same: len(was) == 0}
		}
		sum := make(map[string]V, len(was)+len(add))
		maps.Copy(sum, was)
		maps.Copy(sum, add)
		fresh := len(sum) == len(was)+len(add) // else the chain of what is stored could grow for ever, and the map would not
		return folded{value: sum, appended: fresh, verbatim: fresh}
	}
	d.grow = &growing{
		length: func(v any) int { m, _ := v.(map[string]V); return len(m) },
		tail: func(v, base any) ([]byte, error) {
			was, _ := base.(map[string]V)
			added := map[string]V{}
			for k, e := range v.(map[string]V) {
				if _, ok := was[k]; !ok {
					added[k] = e
				}
			}
			return json.Marshal(added)
		},
	}
	return Field[map[string]V]{d}
}

func define[T any](name string) *definition {
	typ := reflect.TypeFor[T]()
	key, _ := json.Marshal(name) // a string always encodes
	return &definition{
		name:   name,
		key:    append(key, ':'),
		typ:    typ,
		schema: sync.OnceValue(func() json.RawMessage { return schemaOf(typ) }),
		decode: func(data []byte) (any, error) {
			var v T
			err := json.Unmarshal(data, &v)
			return v, err
		},
		encode: func(v any) ([]byte, error) { return json.Marshal(v) },
	}
}

// read decodes a client's value of the field.
func (d *definition) read(data []byte) (any, error) {
	v, err := d.decode(data)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", d.name, err)
	}
	return v, nil
}

// encoded returns the JSON form of the write.
func (w *Write) encoded() (json.RawMessage, error) {
	if w.raw == nil {
		raw, err := w.def.encode(w.value)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", w.def.name, err)
		}
		w.raw = raw
	}
	return w.raw, nil
}
