package item

import (
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// MarshalJSON writes the LangChain form; json.Marshal then adds its escapes for HTML.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }

// AppendJSON writes the LangChain form to the end of dst; see [Append].
func (m Message) AppendJSON(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.Member("content", m.appendContent)
	o.OptString("id", m.ID)
	o.OptString("name", m.Name)
	m.appendCalls(&o)
	o.OptString("tool_call_id", m.CallID)
	if m.Role == Tool {
		status := "success"
		if m.Failed {
			status = "error"
		}
		o.String("status", status)
	}
	o.OptRaw("artifact", m.Artifact)
	if m.Usage != nil {
		o.Member("usage_metadata", m.Usage.appendWire)
	}
	optList(&o, "reasoning", m.Reasoning, Reasoning.append)
	o.OptString("order", string(m.Order.Usual()))
	optList(&o, "blocks", m.Blocks, Block.AppendJSON)
	o.Member("additional_kwargs", m.appendKwargs)
	o.Member("response_metadata", m.appendMetadata)
	o.String("type", langchainType(m.Role))
	return o.End()
}

// appendCalls writes valid and invalid calls as two lists. An assistant has both, if empty.
func (m Message) appendCalls(o *jsonline.Object) {
	type call struct {
		ToolCall
		args json.RawMessage
		at   int
	}
	var valid, invalid []call
	if m.Role == Assistant {
		valid, invalid = []call{}, []call{}
	}
	for i, c := range m.ToolCalls {
		if args, ok := argumentsObject(c.Arguments); ok {
			valid = append(valid, call{c, args, i})
		} else {
			invalid = append(invalid, call{c, nil, i})
		}
	}
	if valid != nil {
		jsonline.List(o, "tool_calls", valid, func(c call, dst []byte) ([]byte, error) {
			o := jsonline.Begin(dst)
			o.String("name", c.Name)
			o.Raw("args", c.args)
			o.String("id", c.CallID)
			o.String("type", "tool_call")
			o.OptString("item_id", c.ID)
			o.OptString("signature", c.Signature)
			return o.End()
		})
	}
	if invalid != nil {
		jsonline.List(o, "invalid_tool_calls", invalid, func(c call, dst []byte) ([]byte, error) {
			o := jsonline.Begin(dst)
			o.String("name", c.Name)
			o.String("args", c.Arguments)
			o.String("id", c.CallID)
			o.String("error", "the arguments are not a JSON object")
			o.String("type", "invalid_tool_call")
			o.OptString("item_id", c.ID)
			o.OptString("signature", c.Signature)
			o.Int("at", int64(c.at))
			return o.End()
		})
	}
}

// argumentsObject returns the arguments as the JSON object they should be, or says that they are none.
func argumentsObject(s string) (json.RawMessage, bool) {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" {
		return emptyObject, true
	}
	if t[0] != '{' || !json.Valid([]byte(s)) {
		return nil, false
	}
	return json.RawMessage(s), true
}

// appendKwargs adds reasoning text under the key that chat front ends show it from.
func (m Message) appendKwargs(dst []byte) ([]byte, error) {
	var thought string
	if len(m.Reasoning) == 1 {
		thought = JoinText(m.Reasoning[0].Summary)
	} else {
		var b strings.Builder
		for _, r := range m.Reasoning {
			b.WriteString(JoinText(r.Summary))
		}
		thought = b.String()
	}
	return appendOpen(dst, m.Kwargs, [2]string{"reasoning_content", thought})
}

func (m Message) appendMetadata(dst []byte) ([]byte, error) {
	return appendOpen(dst, m.Metadata, [2]string{"finish_reason", string(m.Finish)}, [2]string{"model_name", m.Model})
}

// appendOpen writes an object of a client's with keys of ours set in it, those that are not empty.
func appendOpen(dst []byte, object json.RawMessage, set ...[2]string) ([]byte, error) {
	var have map[string]json.RawMessage
	if len(object) > 0 {
		if set[0][1] == "" && set[len(set)-1][1] == "" {
			return jsonline.AppendRaw(dst, object)
		}
		if err := json.Unmarshal(object, &have); err != nil {
			return dst, err
		}
	}
	if have == nil { // none, or null
		o := jsonline.Begin(dst)
		for _, kv := range set {
			o.OptString(kv[0], kv[1])
		}
		return o.End()
	}
	for _, kv := range set {
		if kv[1] != "" {
			have[kv[0]] = jsonline.AppendString(nil, kv[1])
		}
	}
	raw, err := marshal(have)
	if err != nil {
		return dst, err
	}
	return jsonline.AppendRaw(dst, raw)
}
