package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Command is what a node wants done: fields updated, and nodes visited besides those that its edges lead to.
// The zero Command does nothing.
type Command struct {
	Writes []Write
	Goto   []Target
	// Parent says that the command is for the graph that this one is a subgraph of. It ends the subgraph.
	Parent bool

	err error // of a payload that cannot be encoded, told when the command is carried out
}

// Update makes a command that writes fields.
func Update(writes ...Write) Command { return Command{Writes: writes} }

// Goto makes a command that visits nodes.
func Goto(nodes ...string) Command { return Command{}.Go(nodes...) }

// Send makes a command that runs a node with an input of its own.
func Send(node string, payload any) Command { return Command{}.Send(node, payload) }

// Go adds nodes to visit.
func (c Command) Go(nodes ...string) Command {
	c.Goto = c.Goto[:len(c.Goto):len(c.Goto)]
	for _, n := range nodes {
		c.Goto = append(c.Goto, Target{Node: n})
	}
	return c
}

// Send adds an execution of a node that reads the payload in place of the state. The payload is encoded as JSON;
// writes become an object of fields.
func (c Command) Send(node string, payload any) Command {
	t, err := SendTo(node, payload)
	if err != nil {
		c.err = err
		return c
	}
	c.Goto = append(c.Goto[:len(c.Goto):len(c.Goto)], t)
	return c
}

// ToParent addresses the command to the parent graph.
func (c Command) ToParent() Command {
	c.Parent = true
	return c
}

// To makes targets of node names, for branches.
func To(nodes ...string) []Target { return Goto(nodes...).Goto }

// SendTo makes a target with an input of its own.
func SendTo(node string, payload any) (Target, error) {
	raw, err := encodePayload(payload)
	if err != nil {
		return Target{}, fmt.Errorf("send to %q: %w", node, err)
	}
	return Target{Node: node, Send: true, Input: raw}, nil
}

func encodePayload(payload any) (json.RawMessage, error) {
	switch p := payload.(type) {
	case json.RawMessage:
		if !json.Valid(p) {
			return nil, fmt.Errorf("not valid JSON")
		}
		return p, nil
	case []Write:
		return encodeObject(p)
	}
	return json.Marshal(payload)
}

// encodeObject writes updates as one object.
func encodeObject(writes []Write) (json.RawMessage, error) {
	b := []byte{'{'}
	for i := range writes {
		raw, err := writes[i].encoded()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, writes[i].def.key...), raw...)
	}
	return append(b, '}'), nil
}

// encodeUpdate is the form in which events tell updates: an object, or a list of objects where a field is
// written more than once, or nothing.
func encodeUpdate(writes []Write) (json.RawMessage, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	for i := range writes {
		for j := range i {
			if writes[i].def.name == writes[j].def.name {
				return encodeUpdates(writes)
			}
		}
	}
	return encodeObject(writes)
}

func encodeUpdates(writes []Write) (json.RawMessage, error) {
	b := []byte{'['}
	for i := range writes {
		obj, err := encodeObject(writes[i : i+1])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, obj...)
	}
	return append(b, ']'), nil
}

// Orders is what a client asks a waiting graph to do: answer its questions, change its state, visit nodes.
type Orders struct {
	// Resume is the answer to a pending interrupt, or an object of answers by interrupt id. Which of the two it is is seen
	// by its shape, as LangGraph's clients want it, unless ByID says so.
	Resume json.RawMessage
	// ByID says that Resume is an object of answers by interrupt id, whatever the ids look like.
	ByID bool
	// Update is an object of fields, or a list of [field, value] pairs.
	Update json.RawMessage
	Goto   []Target
}

// UnmarshalJSON reads {"resume": …, "by_id": …, "update": …, "goto": …}, where goto is a node's name,
// {"node": …, "input": …}, or a list of either.
func (o *Orders) UnmarshalJSON(data []byte) error {
	var w struct {
		Resume json.RawMessage `json:"resume"`
		ByID   bool            `json:"by_id"`
		Update json.RawMessage `json:"update"`
		Goto   json.RawMessage `json:"goto"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if w.ByID && json.Unmarshal(w.Resume, &map[string]json.RawMessage{}) != nil {
		return fmt.Errorf("command: resume must be an object of answers by interrupt id")
	}
	targets, err := decodeTargets(w.Goto)
	if err != nil {
		return fmt.Errorf("command: goto: %w", err)
	}
	// "resume": null is an answer; an absent key is none. RawMessage keeps the two apart.
	*o = Orders{Resume: w.Resume, ByID: w.ByID, Update: nullToNil(w.Update), Goto: targets}
	return nil
}

func decodeTargets(raw json.RawMessage) ([]Target, error) {
	raw = nullToNil(raw)
	if raw == nil {
		return nil, nil
	}
	if raw[0] != '[' {
		t, err := decodeTarget(raw)
		return []Target{t}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var out []Target
	for _, one := range list {
		t, err := decodeTarget(one)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func decodeTarget(raw json.RawMessage) (Target, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return Target{Node: name}, nil
	}
	var send struct {
		Node  string          `json:"node"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &send); err != nil || send.Node == "" {
		return Target{}, fmt.Errorf(`want a node's name or {"node": name, "input": value}`)
	}
	if send.Input == nil {
		send.Input = json.RawMessage("null")
	}
	return Target{Node: send.Node, Send: true, Input: send.Input}, nil
}

// answers takes Resume apart: answers by id, or one answer for whoever asks first.
func (o *Orders) answers() (byID map[string]json.RawMessage, one json.RawMessage) {
	if o == nil || o.Resume == nil {
		return nil, nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal(o.Resume, &m)
	if o.ByID && err == nil {
		return m, nil
	}
	if err != nil || len(m) == 0 {
		return nil, o.Resume
	}
	for id := range m {
		if !looksLikeInterruptID(id) {
			return nil, o.Resume
		}
	}
	return m, nil
}

func looksLikeInterruptID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

func nullToNil(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}
