// Package graphs is what both of LangGraph's dialects know of a run's graphs: at which checkpoint each of them stands, and which
// messages are in their states and in what their nodes write. What a dialect says of it, and when, is its own business.
package graphs

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// State is a checkpoint with its values.
type State struct {
	ID     string
	Parent string // empty for the first
	Step   int
	Source event.Source
	// Values is the object of all fields in the order of the graph, messages in LangChain's form.
	Values json.RawMessage
	Next   []string // nodes that are due
	Tasks  []Task   // the same, as executions
}

// Task is an execution that is due at a checkpoint.
type Task struct {
	ID   string
	Node string
	Path []string // as in event.NodeStarted
	// Subgraph says that the node is a graph, which has a namespace of its own.
	Subgraph bool
}

// Empty is the object without members.
var Empty = json.RawMessage("{}")

// Space is where the graph of a namespace stands.
type Space struct {
	Checkpoint string // empty if not known
	Begun      bool   // its first state was told
	Wrote      bool   // something was written since the checkpoint
	fresh      bool   // the checkpoint is the one before an input
	state      *State // of the checkpoint, once it was read
}

// Spaces are the namespaces of a run.
type Spaces map[string]*Space

// At returns what is known of a namespace.
func (s Spaces) At(ns string) *Space {
	sp := s[ns]
	if sp == nil {
		sp = &Space{}
		s[ns] = sp
	}
	return sp
}

// State returns the state of a namespace, which is read at most once. Before there is one, it is empty.
func (s Spaces) State(ns string, read func(ns, checkpoint string) (State, error)) (*State, error) {
	sp := s.At(ns)
	if sp.state != nil {
		return sp.state, nil
	}
	if sp.Checkpoint == "" {
		return &State{Values: Empty}, nil
	}
	st, err := read(ns, sp.Checkpoint)
	if err != nil {
		return nil, err
	}
	st.ID = cmp.Or(st.ID, sp.Checkpoint)
	sp.state = &st
	return sp.state, nil
}

// Stand notes where the graph stands.
func (sp *Space) Stand(checkpoint string) { *sp = Space{Checkpoint: checkpoint, Begun: true} }

// Reached notes that the graph has reached a checkpoint. It says whether something was written on the way, and whether the checkpoint
// is the first with an input: that one is told even if the input changed nothing, unless it is empty.
func (sp *Space) Reached(e event.CheckpointSaved) (wrote, first bool) {
	wrote, first = sp.Wrote || len(e.Changed) > 0, sp.fresh
	sp.Stand(e.ID)
	switch e.Source {
	case event.FromInput: // the state before the input
		sp.fresh = true
		return false, first
	case event.FromFork, event.FromUpdate: // where the run begins
		return true, first
	case event.FromLoop:
	}
	return wrote, first
}

// WroteSomething reports that a node's update is more than nothing in one of its spellings.
func WroteSomething(update json.RawMessage) bool {
	switch string(bytes.TrimSpace(update)) {
	case "", "null", "{}", "[]":
		return false
	}
	return true
}

// Failure is the class and the text of an error that ended something; the reason is the text where there is no error.
func Failure(err *event.Error, reason string) (name, text string) {
	if err == nil {
		return "Error", reason
	}
	return cmp.Or(err.Name, err.Code), err.Message
}

// AppendUsage writes LangChain's usage object.
func AppendUsage(dst []byte, u item.Usage) []byte {
	raw, err := item.UsageJSON(u)
	if err != nil {
		raw = Empty
	}
	return append(dst, raw...)
}

// Message is one that stands in an update or in a state.
type Message struct {
	Raw    []byte // without white space
	ID     string
	CallID string
	Role   item.Role
}

// MessagesIn finds the messages in the fields of an object, or of a list of objects: in lists, and alone. Their texts are
// passed over and not read.
func MessagesIn(raw json.RawMessage) []Message {
	if !bytes.Contains(raw, []byte(`"content"`)) {
		return nil
	}
	line, ok := jsonline.Compact(raw)
	if !ok {
		return nil
	}
	var found []Message
	for _, value := range jsonline.Members(line) {
		found = AppendListed(found, value)
	}
	for object := range jsonline.Elements(line) {
		for _, value := range jsonline.Members(object) {
			found = AppendListed(found, value)
		}
	}
	return found
}

// AppendListed adds the messages of one field, which has no white space in it.
func AppendListed(found []Message, value []byte) []Message {
	if m, ok := ReadMessage(value); ok {
		return append(found, m)
	}
	for one := range jsonline.Elements(value) {
		if m, ok := ReadMessage(one); ok {
			found = append(found, m)
		}
	}
	return found
}

// ReadMessage takes from an object what makes it a message that can be told. The object has no white space in it.
func ReadMessage(object []byte) (m Message, ok bool) {
	content := false
	for key, value := range jsonline.Members(object) {
		ok := true
		switch string(key) {
		case "id":
			m.ID, ok = jsonline.Text(value)
		case "tool_call_id":
			m.CallID, ok = jsonline.Text(value)
		case "type":
			var typ string
			typ, ok = jsonline.Text(value)
			m.Role = item.RoleOf(typ)
		case "content":
			content = true
		}
		if !ok && string(value) != "null" {
			return m, false
		}
	}
	m.Raw = object
	switch m.Role {
	case item.User, item.Assistant, item.System, item.Tool:
		return m, m.ID != "" && content
	case item.Remove: // says what is gone
	}
	return m, false
}
