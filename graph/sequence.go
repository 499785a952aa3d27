package graph

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/tributary-ai/tributary/item"
)

// Sequence is a field that holds a list. It is empty before the first write, and a checkpoint stores only
// what was appended.
type Sequence[T any] struct{ Field[[]T] }

// Add makes an update from single elements.
func (f Sequence[T]) Add(elements ...T) Write { return f.Set(elements) }

// Get reads the list as it was when the step began. Appending to it does not change what others see.
func (f Sequence[T]) Get(s *Scope) []T { return slices.Clip(f.Field.Get(s)) }

// List is a field to which updates append.
func List[T any](name string) Sequence[T] {
	return sequence(name, func(old, update []T, owned bool) ([]T, folded) {
		return extend(old, update, owned), folded{appended: true, verbatim: true, same: len(update) == 0}
	})
}

// Union is a field to which updates append what is not there yet.
func Union[T comparable](name string) Sequence[T] {
	return sequence(name, func(old, update []T, owned bool) ([]T, folded) {
		fresh := make([]T, 0, len(update))
		for _, v := range update {
			if !slices.Contains(old, v) && !slices.Contains(fresh, v) {
				fresh = append(fresh, v)
			}
		}
		return extend(old, fresh, owned), folded{appended: true, verbatim: len(fresh) == len(update), same: len(fresh) == 0}
	})
}

// Messages is a field that holds a conversation. A message with a new id is appended; one with the id of a message
// that is there replaces it; one of role [item.Remove] takes it away, or everything before it where its id is
// [item.RemoveAll]. Messages without an id are given one.
func Messages(name string) Sequence[item.Message] {
	f := sequence(name, foldMessages)
	f.def.complete = func(v any) any { return withIDs(v.([]item.Message)) }
	many := f.def.decode
	f.def.decode = func(data []byte) (any, error) {
		// Clients may write a single message, an object or a string, where they mean a list of one.
		if t := bytes.TrimSpace(data); len(t) > 0 && t[0] != '[' && !bytes.Equal(t, []byte("null")) {
			var m item.Message
			if err := json.Unmarshal(t, &m); err != nil {
				return nil, err
			}
			return []item.Message{m}, nil
		}
		return many(data)
	}
	f.def.schema = func() json.RawMessage { return json.RawMessage(messagesSchema) }
	return f
}

// messagesSchema says with LangGraph's own key that the list is a conversation, which is how its tools know where to
// show a chat.
const messagesSchema = `{"type":"array","langgraph_type":"messages","items":{"type":"object","properties":{"id":{"type":"string"},"type":{"type":"string"},"content":{}},"required":["type","content"]}}`

func withIDs(msgs []item.Message) []item.Message {
	if !slices.ContainsFunc(msgs, func(m item.Message) bool { return m.ID == "" }) {
		return msgs
	}
	msgs = slices.Clone(msgs)
	for i := range msgs {
		if msgs[i].ID == "" {
			msgs[i].ID = newUUID()
		}
	}
	return msgs
}

func foldMessages(old, update []item.Message, owned bool) ([]item.Message, folded) {
	if i := lastRemoveAll(update); i >= 0 {
		sum, _ := foldMessages(nil, update[i+1:], true)
		return sum, folded{}
	}
	place := placer(old, len(update))
	result := folded{appended: true, verbatim: true, same: len(update) == 0}
	sum := old
	var gone map[string]bool
	for _, m := range update {
		at := place(sum, m.ID)
		switch {
		case m.Role == item.Remove && at < 0:
			result.verbatim = false // nothing to remove: the wish is already true
		case m.Role == item.Remove:
			if gone == nil {
				gone = map[string]bool{}
			}
			gone[m.ID] = true
		case at >= 0 && reflect.DeepEqual(sum[at], m):
			// A subgraph gives back the whole conversation; what it left alone is not written again.
			result.verbatim = false
			delete(gone, m.ID)
		case at >= 0:
			if result.appended {
				sum, owned = slices.Clone(sum), true
			}
			result.appended = false
			sum[at] = m
			delete(gone, m.ID)
		default:
			sum, owned = extend(sum, []item.Message{m}, owned), true
		}
	}
	if len(gone) > 0 {
		result.appended = false
		sum = slices.DeleteFunc(slices.Clone(sum), func(m item.Message) bool { return gone[m.ID] })
	}
	if !result.appended {
		result.verbatim = false
	} else {
		result.same = len(sum) == len(old)
	}
	return sum, result
}

func lastRemoveAll(msgs []item.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == item.Remove && msgs[i].ID == item.RemoveAll {
			return i
		}
	}
	return -1
}

// placer returns a function that finds a message by id. The usual update is one or two messages, for which
// an index of the whole conversation would cost more than looking through it.
func placer(old []item.Message, updates int) func(msgs []item.Message, id string) int {
	if updates <= 4 {
		return func(msgs []item.Message, id string) int {
			return slices.IndexFunc(msgs, func(m item.Message) bool { return m.ID == id })
		}
	}
	index := make(map[string]int, len(old)+updates)
	seen := 0
	return func(msgs []item.Message, id string) int {
		for ; seen < len(msgs); seen++ {
			index[msgs[seen].ID] = seen
		}
		if at, ok := index[id]; ok {
			return at
		}
		return -1
	}
}

// extend appends. A list that the runtime owns may be extended in place: readers hold shorter views of it.
func extend[T any](old, add []T, owned bool) []T {
	if !owned {
		old = slices.Clip(old)
	}
	return append(old, add...)
}

// marshalList writes a list. Elements that write their own JSON need not be read once more by encoding/json; < > and & stand for themselves then.
func marshalList[T any](list []T) ([]byte, error) {
	type appender interface {
		AppendJSON(dst []byte) ([]byte, error)
	}
	if _, ok := any(new(T)).(appender); !ok {
		return json.Marshal(list)
	}
	out, err := []byte{'['}, error(nil)
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = any(&list[i]).(appender).AppendJSON(out); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func sequence[T any](name string, fold func(old, update []T, owned bool) ([]T, folded)) Sequence[T] {
	d := define[[]T](name)
	d.initial = []T{}
	decode := d.decode
	d.decode = func(data []byte) (any, error) {
		v, err := decode(data)
		if list, _ := v.([]T); list == nil && err == nil {
			return []T{}, nil
		}
		return v, err
	}
	d.encode = func(v any) ([]byte, error) {
		list := v.([]T)
		if list == nil {
			return []byte("[]"), nil
		}
		return marshalList(list)
	}
	d.fold = func(old, update any, owned bool) folded {
		was, _ := old.([]T)
		sum, f := fold(was, update.([]T), owned)
		f.value = sum
		return f
	}
	d.grow = &growing{
		length: func(v any) int { list, _ := v.([]T); return len(list) },
		tail: func(v, base any) ([]byte, error) {
			was, _ := base.([]T)
			return marshalList(v.([]T)[len(was):])
		},
		since: func(v, base any) (any, bool) {
			list, _ := v.([]T)
			old, _ := base.([]T)
			if len(list) < len(old) || len(old) > 0 && !reflect.DeepEqual(list[:len(old)], old) {
				return nil, false
			}
			return list[len(old):], true
		},
	}
	return Sequence[T]{Field[[]T]{d}}
}
