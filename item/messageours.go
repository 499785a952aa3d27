package item

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// What LangChain has no word for stands where its own clients let it stand. Python's convert_to_messages takes a tool
// call of four keys and no other, so what we know beside is in additional_kwargs; clients show the content of a tool's
// message as a text, so its parts are in the artifact.

// callsKey is the key of additional_kwargs under which a message keeps its calls in order, valid and invalid ones.
const callsKey = "tributary_calls"

type wireCallOurs struct {
	ID        string `json:"id"` // of the call
	Item      string `json:"item_id,omitempty"`
	Signature string `json:"signature,omitempty"`
	Invalid   bool   `json:"invalid,omitempty"`
}

// withCalls is the object of a client's with what LangChain's lists of calls do not tell.
func (m Message) withCalls() (json.RawMessage, error) {
	needed, broken := false, false
	ours := make([]wireCallOurs, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		_, valid := argumentsObject(c.Arguments)
		ours[i] = wireCallOurs{c.CallID, c.ID, c.Signature, !valid}
		needed = needed || c.ID != "" || c.Signature != "" || valid && broken // invalid calls are read as the last
		broken = broken || !valid
	}
	if !needed {
		return m.Kwargs, nil
	}
	list, err := marshal(ours)
	if err != nil {
		return nil, err
	}
	have := map[string]json.RawMessage{}
	if len(m.Kwargs) > 0 {
		if err := json.Unmarshal(m.Kwargs, &have); err != nil || have == nil {
			have = map[string]json.RawMessage{}
		}
	}
	have[callsKey] = list
	return marshal(have)
}

// takeCalls takes what withCalls wrote out of the open object, and puts the calls in order by it. Calls that it does
// not tell of come last.
func (m *Message) takeCalls(kwargs json.RawMessage) json.RawMessage {
	if !bytes.Contains(kwargs, []byte(callsKey)) {
		return kwargs
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(kwargs, &have) != nil {
		return kwargs
	}
	raw, ok := have[callsKey]
	if !ok {
		return kwargs
	}
	delete(have, callsKey)
	if rest, err := marshal(have); err == nil {
		kwargs = rest
	}
	if len(have) == 0 {
		kwargs = nil
	}
	var ours []wireCallOurs
	if json.Unmarshal(raw, &ours) != nil {
		return kwargs // somebody else's
	}
	var ordered []ToolCall
	left := m.ToolCalls
	for _, o := range ours {
		for i, c := range left {
			_, valid := argumentsObject(c.Arguments)
			if c.CallID == o.ID && valid != o.Invalid {
				c.ID, c.Signature = o.Item, o.Signature
				ordered = append(ordered, c)
				left = append(append([]ToolCall(nil), left[:i]...), left[i+1:]...)
				break
			}
		}
	}
	m.ToolCalls = append(ordered, left...)
	return kwargs
}

// toolArtifact is what a tool's message of ours has as its artifact: the parts whose texts are the content, and what
// people see in their place.
type toolArtifact struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content,omitempty"`
	Blocks  []Block         `json:"blocks,omitempty"`
}

const artifactType = "tributary"

// shownText is the content of a tool's message as one text, where it consists of texts and was not given as a list.
func (m Message) shownText() (text string, ok bool) {
	if m.Role != Tool || m.Parts || m.Artifact != nil || len(m.Content) == 0 {
		return "", false
	}
	texts := make([]string, len(m.Content))
	for i, b := range m.Content {
		if b.Type != TextBlock || b.Foreign != nil {
			return "", false
		}
		texts[i] = b.Text
	}
	return strings.Join(texts, "\n"), true
}

// ownArtifact says that the artifact is ours to write, and the blocks belong into it.
func (m Message) ownArtifact() bool { return m.Role == Tool && m.Artifact == nil }

// appendArtifact writes a tool's own artifact, or ours.
func (m Message) appendArtifact(o *jsonline.Object) {
	if !m.ownArtifact() {
		o.OptRaw("artifact", m.Artifact)
		return
	}
	_, shown := m.shownText()
	parts := shown && (len(m.Content) > 1 || !plainText(m.Content[0]))
	if !parts && len(m.Blocks) == 0 {
		return
	}
	o.Member("artifact", func(dst []byte) ([]byte, error) {
		a := jsonline.Begin(dst)
		a.String("type", artifactType)
		if parts {
			jsonline.List(&a, "content", m.Content, Block.appendPart)
		}
		optList(&a, "blocks", m.Blocks, Block.AppendJSON)
		return a.End()
	})
}

// takeArtifact reads what appendArtifact wrote. A content that somebody has changed since counts, and not its parts.
func (m *Message) takeArtifact(raw json.RawMessage) {
	if isNull(raw) {
		return
	}
	var a toolArtifact
	if m.Role != Tool || json.Unmarshal(raw, &a) != nil || a.Type != artifactType {
		m.Artifact = compact(raw)
		return
	}
	if len(m.Blocks) == 0 {
		m.Blocks = a.Blocks
	}
	content, _, err := unmarshalContent(a.Content)
	if err != nil || m.Parts {
		return
	}
	was := Message{Role: Tool, Content: content}
	if text, ok := was.shownText(); ok && text == JoinText(m.Content) {
		m.Content = content
	}
}
