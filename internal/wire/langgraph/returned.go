package langgraph

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/item"
)

// message is one that stands in an update or in a state.
type message struct {
	raw    json.RawMessage
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	CallID string          `json:"tool_call_id"`
	Body   json.RawMessage `json:"content"`
}

// returned tells the complete messages that a node returned, in mode messages-tuple.
func (p *Projector) returned(x *execution, update json.RawMessage) error {
	if !p.opt.Modes.Has(MessagesTuple) || x.child {
		return nil // a graph's own nodes have told of what it returns
	}
	var held map[string]bool
	for _, m := range messagesIn(update) {
		if p.shown[m.ID] {
			continue
		}
		if p.calls[m.CallID] == nil || item.RoleOf(m.Type) != item.Tool {
			if held == nil {
				var err error
				if held, err = p.held(x.ns); err != nil {
					return err
				}
			}
			if held[m.ID] {
				continue
			}
		}
		p.shown[m.ID] = true
		b := appendRaw([]byte{'['}, m.raw)
		b = append(b, `,{"tags":[]`...)
		p.emit(p.name("messages", x.ns), append(p.appendMeta(b, x), `}]`...))
	}
	return nil
}

// held returns the ids of the messages that the state of a namespace had before the node.
func (p *Projector) held(ns string) (map[string]bool, error) {
	held := map[string]bool{}
	if p.opt.States == nil {
		return held, nil
	}
	if sp := p.space(ns); sp.checkpoint == "" {
		id, err := p.opt.States.Base(ns)
		if err != nil {
			return nil, err
		}
		sp.checkpoint = id
	}
	st, err := p.state(ns)
	if err != nil {
		return nil, err
	}
	for _, m := range messagesIn(st.Values) {
		held[m.ID] = true
	}
	return held, nil
}

// messagesIn finds the messages in the fields of an object, or of a list of objects: in lists, and alone.
func messagesIn(raw json.RawMessage) []message {
	if !bytes.Contains(raw, []byte(`"content"`)) {
		return nil
	}
	var found []message
	objects := []json.RawMessage{raw}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '[' {
		objects = nil
		if json.Unmarshal(raw, &objects) != nil {
			return nil
		}
	}
	for _, object := range objects {
		eachField(object, func(_ string, value json.RawMessage) {
			found = append(found, listed(value)...)
		})
	}
	return found
}

// listed returns the messages of one field.
func listed(value json.RawMessage) []message {
	list := []json.RawMessage{value}
	if len(value) > 0 && value[0] == '[' {
		list = nil
		if json.Unmarshal(value, &list) != nil {
			return nil
		}
	}
	var found []message
	for _, one := range list {
		var m message
		if len(one) == 0 || one[0] != '{' || json.Unmarshal(one, &m) != nil || m.ID == "" || m.Body == nil {
			continue
		}
		switch item.RoleOf(m.Type) {
		case item.User, item.Assistant, item.System, item.Tool:
			m.raw = one
			found = append(found, m)
		case item.Remove: // says what is gone
		}
	}
	return found
}

// eachField calls f for the members of an object, in their order.
func eachField(object json.RawMessage, f func(key string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return
		}
		f(key.(string), value)
	}
}

// complete tells, in mode messages, the messages of the root graph's state that were not told as complete before.
func (p *Projector) complete(values json.RawMessage) {
	var b []byte
	eachField(values, func(key string, value json.RawMessage) {
		if key != "messages" {
			return
		}
		for _, m := range listed(value) {
			if p.completed[m.ID] {
				continue
			}
			p.completed[m.ID] = true
			b = append(b, ',')
			b = appendRaw(b, m.raw)
		}
	})
	if b != nil {
		b[0] = '['
		p.emit("messages/complete", append(b, ']'))
	}
}
