package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/tool"
)

// AskKind is the kind of the questions that servers ask.
const AskKind = "clarification"

// Question is what a person is shown of a server's question. The answer is an object of the schema's properties; or the
// value itself, if there is one property; or {"action": "decline"}.
type Question struct {
	Server  string          `json:"server"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"`
}

// elicited answers a question that a server asks by itself, in a session. If one call is under way, it is that call's;
// among several nobody can tell, so the question is put off, and from then on calls wait for each other.
func (ss *session) elicited(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	h := ss.server.hub
	h.mu.Lock()
	var f *flight
	for _, f = range ss.flights {
	}
	if len(ss.flights) > 1 {
		f = nil
		if ss.alone == nil {
			ss.alone = make(chan struct{}, 1)
		}
	}
	h.mu.Unlock()
	if f == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	return f.ask(p)
}

// inputs answers what a server wants to know before it goes on with a call.
func (f *flight) inputs(wanted mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	given := mcp.InputResponseMap{}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		p, ok := wanted[id].(*mcp.ElicitParams)
		if !ok {
			return nil, errors.New("the server wants something that it is not given here: only people can be asked")
		}
		answer, err := f.ask(p)
		if err != nil {
			return nil, err
		}
		given[id] = answer
	}
	return given, nil
}

// ask asks a person. While there is no answer the call ends: the server is told that it was cancelled.
func (f *flight) ask(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scope == nil || f.asked != nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	q := Question{Server: f.session.server.Name, Message: short(visible(f.session.server.mask(p.Message)), maxAbout)}
	if p.RequestedSchema != nil {
		var err error
		if q.Schema, err = schemaOf(p.RequestedSchema); err != nil {
			return nil, fmt.Errorf("the question cannot be shown: %w", err)
		}
	}
	raw, err := f.scope.Ask(tool.Question{Value: q, Kind: AskKind})
	if err != nil {
		f.asked = err
		f.cancel(err)
		return nil, errors.New("a person is asked; the call is made again when there is an answer")
	}
	return answerOf(q.Schema, raw), nil
}

// answerOf is a person's answer in the protocol's words. What does not fit is a refusal, never a guess.
func answerOf(schema, raw json.RawMessage) *mcp.ElicitResult {
	var said struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	var value any
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return &mcp.ElicitResult{Action: "decline"}
	}
	object, isObject := value.(map[string]any)
	if isObject && json.Unmarshal(raw, &said) == nil && slices.Contains([]string{"accept", "decline", "cancel"}, said.Action) {
		if said.Action != "accept" {
			said.Content = nil
		}
		return &mcp.ElicitResult{Action: said.Action, Content: said.Content}
	}
	if isObject {
		return &mcp.ElicitResult{Action: "accept", Content: object}
	}
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &form) == nil && len(form.Properties) == 1 {
		for name := range form.Properties {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{name: value}}
		}
	}
	return &mcp.ElicitResult{Action: "decline"}
}
