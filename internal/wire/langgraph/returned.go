package langgraph

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

// returned tells the complete messages that a node returned, in mode messages-tuple.
func (p *Projector) returned(x *execution, update json.RawMessage) error {
	if !p.opt.Modes.Has(MessagesTuple) || x.child {
		return nil // a graph's own nodes have told of what it returns
	}
	var held map[string]bool
	for _, m := range graphs.MessagesIn(update) {
		if p.shown[m.ID] {
			continue
		}
		if p.calls[m.CallID] == nil || m.Role != item.Tool {
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
		b := append([]byte{'['}, m.Raw...)
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
	if sp := p.spaces.At(ns); sp.Checkpoint == "" {
		id, err := p.opt.States.Base(ns)
		if err != nil {
			return nil, err
		}
		sp.Checkpoint = id
	}
	st, err := p.state(ns)
	if err != nil {
		return nil, err
	}
	for _, m := range graphs.MessagesIn(st.Values) {
		held[m.ID] = true
	}
	return held, nil
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
		for _, m := range graphs.AppendListed(nil, value) {
			if p.completed[m.ID] {
				continue
			}
			p.completed[m.ID] = true
			b = append(b, ',')
			b = append(b, m.Raw...)
		}
	}
	if b != nil {
		b[0] = '['
		p.emit("messages/complete", append(b, ']'))
	}
}
