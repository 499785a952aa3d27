package item

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ByTags writes a message with encoding/json, as its wire form is tagged: what AppendJSON must equal.
func ByTags(m Message) ([]byte, error) {
	w := wire{
		ID: m.ID, Name: m.Name, CallID: m.CallID, Artifact: m.Artifact, Reasoning: m.Reasoning, Order: rawOrder(m), Blocks: m.Blocks,
		Type: langchainType(m.Role),
	}
	var err error
	if w.Content, err = marshalContent(m.Content, m.Parts); err != nil {
		return nil, err
	}
	if m.Role == Assistant {
		w.ToolCalls, w.Invalid = []wireCall{}, []wireInvalidCall{}
	}
	for i, c := range m.ToolCalls {
		if args, ok := argumentsObject(c.Arguments); ok {
			w.ToolCalls = append(w.ToolCalls, wireCall{
				Name: c.Name, Args: args, ID: c.CallID, Type: "tool_call", Item: c.ID, Signature: c.Signature,
			})
		} else {
			w.Invalid = append(w.Invalid, wireInvalidCall{
				Name: c.Name, Args: c.Arguments, ID: c.CallID, Error: "the arguments are not a JSON object",
				Type: "invalid_tool_call", Item: c.ID, Signature: c.Signature, At: &i,
			})
		}
	}
	if m.Role == Tool {
		w.Status = "success"
		if m.Failed {
			w.Status = "error"
		}
	}
	if m.Usage != nil {
		w.Usage = usageToWire(*m.Usage)
	}
	if w.Kwargs, err = withKwargs(m); err != nil {
		return nil, err
	}
	if w.Metadata, err = withMetadata(m); err != nil {
		return nil, err
	}
	return marshal(w)
}

// withKwargs adds reasoning text under the key that chat front ends show it from.
func withKwargs(m Message) (json.RawMessage, error) {
	var b strings.Builder
	for _, r := range m.Reasoning {
		b.WriteString(JoinText(r.Summary))
	}
	if b.Len() == 0 {
		return orEmpty(m.Kwargs), nil
	}
	return setKeys(m.Kwargs, map[string]string{"reasoning_content": b.String()})
}

func withMetadata(m Message) (json.RawMessage, error) {
	set := map[string]string{}
	if m.Finish != "" {
		set["finish_reason"] = string(m.Finish)
	}
	if m.Model != "" {
		set["model_name"] = m.Model
	}
	if len(set) == 0 {
		return orEmpty(m.Metadata), nil
	}
	return setKeys(m.Metadata, set)
}

func orEmpty(obj json.RawMessage) json.RawMessage {
	if len(obj) == 0 {
		return emptyObject
	}
	return obj
}

func setKeys(obj json.RawMessage, set map[string]string) (json.RawMessage, error) {
	if len(obj) == 0 {
		return marshal(set)
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(obj, &have); err != nil {
		return nil, err
	}
	if have == nil { // null
		return marshal(set)
	}
	for k, v := range set {
		b, err := marshal(v)
		if err != nil {
			return nil, err
		}
		have[k] = b
	}
	return marshal(have)
}

func marshalContent(blocks []Block, parts bool) (json.RawMessage, error) {
	if !parts && (len(blocks) == 0 || len(blocks) == 1 && plainText(blocks[0])) {
		return marshal(JoinText(blocks))
	}
	out := make([]json.RawMessage, 0, len(blocks))
	for _, b := range blocks {
		raw, err := marshalPart(b)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return marshal(out)
}

func marshalPart(b Block) (json.RawMessage, error) {
	if b.Foreign != nil {
		return b.Foreign, nil
	}
	switch b.Type {
	case ImageBlock:
		url, err := marshal(map[string]string{"url": b.URL})
		if err != nil {
			return nil, err
		}
		return marshal(wirePart{Type: "image_url", ImageURL: url, MIME: b.MIME, Ref: b.Ref})
	case FileBlock:
		return marshal(wirePart{Type: "file", URL: b.URL, MIME: b.MIME, Name: b.Name, Ref: b.Ref})
	case TextBlock:
		return marshal(wirePart{Type: "text", Text: b.Text, Ref: b.Ref, Notes: b.Annotations})
	}
	return nil, fmt.Errorf("block of unknown type %q", b.Type)
}

func usageToWire(u Usage) *wireUsage {
	w := &wireUsage{Input: u.InputTokens, Output: u.OutputTokens, Total: u.Total(), Cost: u.CostMicros}
	if u.CachedTokens != 0 || u.CacheWriteTokens != 0 {
		w.In = &wireInDetails{u.CachedTokens, u.CacheWriteTokens}
	}
	if u.ReasoningTokens != 0 {
		w.Out = &wireOutDetails{u.ReasoningTokens}
	}
	return w
}

func rawOrder(m Message) json.RawMessage {
	if m.Order == "" {
		return nil
	}
	return json.RawMessage(`"` + string(m.Order) + `"`)
}
