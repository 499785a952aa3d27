package langgraph

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// message is one that stands in an update or in a state.
type message struct {
	raw    []byte // without white space
	id     string
	callID string
	role   item.Role
}

// returned tells the complete messages that a node returned, in mode messages-tuple.
func (p *Projector) returned(x *execution, update json.RawMessage) error {
	if !p.opt.Modes.Has(MessagesTuple) || x.child {
		return nil // a graph's own nodes have told of what it returns
	}
	var held map[string]bool
	for _, m := range messagesIn(update) {
		if p.shown[m.id] {
			continue
		}
		if p.calls[m.callID] == nil || m.role != item.Tool {
			if held == nil {
				var err error
				if held, err = p.held(x.ns); err != nil {
					return err
				}
			}
			if held[m.id] {
				continue
			}
		}
		p.shown[m.id] = true
		b := append([]byte{'['}, m.raw...)
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
		held[m.id] = true
	}
	return held, nil
}

// messagesIn finds the messages in the fields of an object, or of a list of objects: in lists, and alone. Their texts are
// passed over and not read.
func messagesIn(raw json.RawMessage) []message {
	if !bytes.Contains(raw, []byte(`"content"`)) {
		return nil
	}
	line, ok := jsonline.Compact(raw)
	if !ok {
		return nil
	}
	var found []message
	if line[0] == '{' {
		for _, value := range jsonline.Members(line) {
			found = appendListed(found, value)
		}
	}
	for object := range jsonline.Elements(line) {
		for _, value := range jsonline.Members(object) {
			found = appendListed(found, value)
		}
	}
	return found
}

// appendListed adds the messages of one field.
func appendListed(found []message, value []byte) []message {
	if m, ok := read(value); ok {
		return append(found, m)
	}
	for one := range jsonline.Elements(value) {
		if m, ok := read(one); ok {
			found = append(found, m)
		}
	}
	return found
}

// read takes from an object what makes it a message that can be told.
func read(object []byte) (m message, ok bool) {
	content := false
	for key, value := range jsonline.Members(object) {
		ok := true
		switch string(key) {
		case "id":
			m.id, ok = jsonline.Text(value)
		case "tool_call_id":
			m.callID, ok = jsonline.Text(value)
		case "type":
			var typ string
			typ, ok = jsonline.Text(value)
			m.role = item.RoleOf(typ)
		case "content":
			content = true
		}
		if !ok && string(value) != "null" {
			return m, false
		}
	}
	m.raw = object
	switch m.role {
	case item.User, item.Assistant, item.System, item.Tool:
		return m, m.id != "" && content
	case item.Remove: // says what is gone
	}
	return m, false
}

// complete tells, in mode messages, the messages of the root graph's state that were not told as complete before.
func (p *Projector) complete(values json.RawMessage) {
	line, ok := jsonline.Compact(values)
	if !ok {
		return
	}
	var b []byte
	for key, value := range jsonline.Members(line) {
		if string(key) != "messages" {
			continue
		}
		for _, m := range appendListed(nil, value) {
			if p.completed[m.id] {
				continue
			}
			p.completed[m.id] = true
			b = append(b, ',')
			b = append(b, m.raw...)
		}
	}
	if b != nil {
		b[0] = '['
		p.emit("messages/complete", append(b, ']'))
	}
}
