package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/internal/wire"
)

// page merges frames as DeerFlow's web page does, and fails where that one would.
type page struct {
	bubbles map[string]*drawn
	order   []string
	results map[string]bool
	ended   bool
}

type bubble struct {
	Text, Thought string
	Calls         []string // id and name
}

type drawn struct {
	bubble
	agent, finish string
	void          bool
	calls         []*pageCall
}

type pageCall struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Args   map[string]any `json:"args"`
	chunks []string
}

func (p *page) apply(f wire.Frame) error {
	if p.bubbles == nil {
		p.bubbles, p.results = map[string]*drawn{}, map[string]bool{}
	}
	var d struct {
		Thread  string  `json:"thread_id"`
		ID      string  `json:"id"`
		Agent   string  `json:"agent"`
		Role    string  `json:"role"`
		Content *string `json:"content"`
		Thought string  `json:"reasoning_content"`
		Finish  string  `json:"finish_reason"`
		Call    string  `json:"tool_call_id"`
		Calls   []*pageCall
		List    []*pageCall `json:"tool_calls"`
		Chunks  *[]struct {
			ID    *string `json:"id"`
			Args  string  `json:"args"`
			Index *int    `json:"index"`
		} `json:"tool_call_chunks"`
	}
	if err := json.Unmarshal(f.Data, &d); err != nil {
		return err
	}
	switch {
	case p.ended:
		return fmt.Errorf("something comes after the end")
	case d.Thread == "":
		return fmt.Errorf("no thread")
	case d.Content != nil && *d.Content == "":
		return fmt.Errorf("an empty content")
	}
	switch f.Name {
	case "citations", "error":
		return nil
	case "tool_call_result":
		p.results[d.Call] = true
		return nil
	}
	if d.ID == "" || d.Role != "assistant" {
		return fmt.Errorf("no id or role")
	}
	m := p.bubbles[d.ID]
	if f.Name == "end" {
		p.ended = true
		if m == nil && len(p.order) > 0 {
			return fmt.Errorf("the end draws a message")
		}
		return nil
	}
	if m == nil {
		m = &drawn{agent: d.Agent}
		p.bubbles[d.ID] = m
		p.order = append(p.order, d.ID)
	}
	switch f.Name {
	case "message_chunk":
		if d.Content != nil {
			m.Text += *d.Content
		}
		m.Thought += d.Thought
	case "tool_calls", "tool_call_chunks":
		if len(d.List) > 0 && d.List[0].Name != "" {
			m.calls = d.List
		}
		if d.Chunks == nil {
			return fmt.Errorf("no list of chunks")
		}
		for _, c := range *d.Chunks {
			if strings.ContainsAny(c.Args, "[]{}") || c.Index == nil {
				return fmt.Errorf("a chunk that is not escaped, or has no index")
			}
			args := strings.NewReplacer("&#91;", "[", "&#93;", "]", "&#123;", "{", "&#125;", "}").Replace(c.Args)
			for _, call := range m.calls {
				if c.ID != nil && call.ID == *c.ID {
					call.chunks = []string{args}
				} else if c.ID == nil && len(call.chunks) > 0 {
					call.chunks = append(call.chunks, args)
					break
				}
			}
		}
	case "interrupt":
	default:
		return fmt.Errorf("an unknown frame")
	}
	if d.Finish == "" {
		return nil
	}
	m.finish, m.void = d.Finish, d.Finish == "void"
	for _, call := range m.calls {
		if len(call.chunks) > 0 {
			if err := json.Unmarshal([]byte(strings.Join(call.chunks, "")), &call.Args); err != nil {
				return fmt.Errorf("the arguments of %s: %w", call.ID, err)
			}
			call.chunks = nil
		}
	}
	m.Calls = nil
	for _, call := range m.calls {
		m.Calls = append(m.Calls, call.ID+" "+call.Name)
	}
	return nil
}
