// Package kept marks what a provider gets back as it came: what its own tools asked and found, and content that
// nobody else understands.
//
// Such a piece of an answer travels as a JSON object through events, messages and checkpoints, and through clients that
// may show it. It is the provider's object with two members more: "type", where the provider gives none, so that
// clients can tell it from other content; and "tributary", which says who made it. Only that provider is sent it
// again, without the two; a conversation that goes on elsewhere goes on without it.
package kept

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/model/internal/payload"
)

// Mark says where a piece comes from.
type Mark struct {
	Provider string `json:"provider"`
	// Follows is the provider's id of the reasoning that must stand right before the piece.
	Follows string `json:"follows,omitempty"`
	// Typed says that the type is ours and not the provider's.
	Typed bool `json:"typed,omitempty"`
}

const member = "tributary"

// Put marks an object. typ is its type where it has none; raw is not changed.
func Put(raw []byte, typ string, m Mark) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	m.Typed = typ != ""
	mark, err := json.Marshal(m)
	name, nameErr := json.Marshal(typ)
	if err != nil || nameErr != nil || len(raw) < 2 || raw[0] != '{' {
		return nil // strings can always be written, and only objects are kept
	}
	out := make([]byte, 0, len(raw)+len(mark)+len(typ)+len(member)+16)
	out = append(out, '{')
	if m.Typed {
		out = append(append(append(out, `"type":`...), name...), ',')
	}
	if inside := bytes.TrimSpace(raw[1 : len(raw)-1]); len(inside) > 0 {
		out = append(append(out, inside...), ',')
	}
	out = append(append(append(out, `"`+member+`":`...), mark...), '}')
	return out
}

// Take returns the provider's own object and its mark. It is not ok if the object carries none.
func Take(foreign []byte) (raw json.RawMessage, m Mark, ok bool) {
	var r payload.Reader
	r.Reset(foreign)
	var mark []byte
	for name := range r.Object {
		if string(name) == member && r.Kind() == '{' {
			mark = r.Raw()
		}
	}
	if r.End() != nil || mark == nil || json.Unmarshal(mark, &m) != nil || m.Provider == "" {
		return nil, Mark{}, false
	}
	return without(foreign, m), m, true
}

// without writes the object without the members that Put added.
func without(foreign []byte, m Mark) json.RawMessage {
	var r payload.Reader
	r.Reset(foreign)
	out := []byte{'{'}
	for name := range r.Object {
		if n := string(name); n == member || n == "type" && m.Typed {
			continue
		}
		key, err := json.Marshal(string(name))
		if err != nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), r.Raw()...)
	}
	return append(out, '}')
}

// Type returns the type of an object, or nothing.
func Type(raw []byte) (typ string) {
	var r payload.Reader
	r.Reset(raw)
	for name := range r.Object {
		if string(name) == "type" {
			typ = r.Text()
		}
	}
	return typ
}
