package protocol2

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

// message is one that stands in an update or in a state.
type message struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	CallID    string          `json:"tool_call_id"`
	Status    string          `json:"status"`
	ToolCalls []struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tool_calls"`
	Kwargs struct {
		Reasoning string `json:"reasoning_content"`
	} `json:"additional_kwargs"`
	Metadata struct {
		Finish string `json:"finish_reason"`
	} `json:"response_metadata"`
}

// short is a message in the form that values have.
type short struct{ raw, form []byte }

// asMessage reads a message that values show.
func asMessage(raw json.RawMessage) (message, bool) {
	var m message
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil || m.Content == nil {
		return m, false
	}
	switch item.RoleOf(m.Type) {
	case item.User, item.Assistant, item.System, item.Tool:
		return m, true
	case item.Remove:
	}
	return m, false
}

// appendShort writes an object of fields with the messages in them in their short form. What is no object is written
// as it is.
func (p *Projector) appendShort(dst []byte, object json.RawMessage) []byte {
	line, ok := jsonline.Compact(object)
	if !ok || line[0] != '{' {
		return jsonline.AppendForeign(dst, object)
	}
	dst = append(dst, '{')
	for key, value := range jsonline.Members(line) {
		dst = append(append(append(dst, '"'), key...), '"', ':')
		dst = append(p.appendValue(dst, value), ',')
	}
	return closed(dst, '}')
}

// closed puts a bracket in the place of the last comma, or behind an opening one.
func closed(dst []byte, bracket byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst = dst[:last]
	}
	return append(dst, bracket)
}

// appendValue writes a field, which has no white space in it.
func (p *Projector) appendValue(dst, value []byte) []byte {
	if value[0] != '[' {
		return p.appendOne(dst, value)
	}
	dst = append(dst, '[')
	for one := range jsonline.Elements(value) {
		dst = append(p.appendOne(dst, one), ',')
	}
	return closed(dst, ']')
}

func (p *Projector) appendOne(dst, raw []byte) []byte {
	// A conversation is told again after every step, and nearly all of its messages are the same.
	told, ok := graphs.ReadMessage(raw)
	if known := p.short[told.ID]; ok && bytes.Equal(known.raw, raw) {
		return append(dst, known.form...)
	}
	m, ok := asMessage(raw)
	if !ok {
		return append(dst, raw...)
	}
	form := m.appendForm(nil)
	if m.ID != "" {
		p.short[m.ID] = short{raw: bytes.Clone(raw), form: form}
	}
	return append(dst, form...)
}

// appendForm writes the short form. What a model said is a list of blocks, as it was streamed.
func (m *message) appendForm(dst []byte) []byte {
	modelled := m.Metadata.Finish != ""
	dst = jsonline.AppendString(append(dst, `{"type":`...), m.Type)
	dst = append(dst, `,"content":`...)
	if modelled {
		dst = m.appendBlocks(dst)
	} else {
		dst = jsonline.AppendForeign(dst, m.Content)
	}
	for _, f := range []struct{ key, value string }{{"id", m.ID}, {"name", m.Name}, {"tool_call_id", m.CallID}, {"status", m.Status}} {
		if f.value != "" {
			dst = jsonline.AppendField(dst, f.key, f.value)
		}
	}
	if modelled {
		dst = append(jsonline.AppendField(append(dst, `,"response_metadata":{"output_version":"v1"`...), "finish_reason", m.Metadata.Finish), '}')
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for i, c := range m.ToolCalls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonline.AppendField(jsonline.AppendString(append(dst, `{"id":`...), c.ID), "name", c.Name)
			dst = append(jsonline.AppendForeign(append(dst, `,"args":`...), c.Args), `,"type":"tool_call"}`...)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendBlocks writes the content of a message as blocks: what led to it, what it says, what it calls.
func (m *message) appendBlocks(dst []byte) []byte {
	dst = append(dst, '[')
	next := func() {
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
	}
	if m.Kwargs.Reasoning != "" {
		dst = append(jsonline.AppendField(append(dst, `{"type":"reasoning"`...), "reasoning", m.Kwargs.Reasoning), '}')
	}
	var text string
	var parts []json.RawMessage
	switch {
	case json.Unmarshal(m.Content, &text) == nil:
		if text != "" {
			next()
			dst = append(jsonline.AppendField(append(dst, `{"type":"text"`...), "text", text), '}')
		}
	case json.Unmarshal(m.Content, &parts) == nil:
		for _, part := range parts {
			next()
			dst = appendPart(dst, part)
		}
	}
	for _, c := range m.ToolCalls {
		next()
		dst = appendCall(dst, c.ID, c.Name, string(c.Args))
	}
	return append(dst, ']')
}

// appendPart writes a part of a message's content; pictures are named otherwise here.
func appendPart(dst []byte, part json.RawMessage) []byte {
	var image struct {
		Type  string `json:"type"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(part, &image) == nil && image.Type == "image_url" {
		return append(jsonline.AppendField(append(dst, `{"type":"image"`...), "url", image.Image.URL), '}')
	}
	return jsonline.AppendForeign(dst, part)
}
