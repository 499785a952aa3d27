// Package request holds what providers share about putting a conversation into the words of an API.
//
// Conversations may have begun at another provider, been trimmed or been cut off. What is here gives a provider
// something that it accepts in any case, and invents nothing: what cannot be said is said to be missing.
package request

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/tributary-ai/tributary/item"
)

// Interrupted is the result of a call that has none.
const Interrupted = "The call was interrupted; whether it had any effect is not known."

// Lines is a tool's content as one text, for wires that take no more. Each block stands on lines of its own, or the number of a passage
// would run into the passage, and two blocks could make up a mark that neither of them is.
func Lines(content []item.Block) string {
	var texts []string
	for _, b := range content {
		if b.Type == item.TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Result finds the result of a call of the message at i among the messages after it, before the model speaks again, and
// notes it in taken. Results without a call id answer calls in order. nil: there is none.
func Result(call item.ToolCall, msgs []item.Message, i int, taken []bool) *item.Message {
	for j := i + 1; j < len(msgs) && msgs[j].Role != item.Assistant; j++ {
		if msgs[j].Role == item.Tool && !taken[j] && (msgs[j].CallID == call.CallID || msgs[j].CallID == "") {
			taken[j] = true
			return &msgs[j]
		}
	}
	return nil
}

// Arguments makes an object of what a model wrote, since APIs accept nothing else. What does not parse is shown to the
// model as it wrote it.
func Arguments(s string) json.RawMessage {
	b := bytes.TrimSpace([]byte(s))
	if len(b) == 0 {
		return json.RawMessage("{}")
	}
	if b[0] == '{' && json.Valid(b) {
		return b
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": s})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}

// DataURL takes a "data:" URL apart. The data is base64 in any case; the type is empty where the URL gives none.
func DataURL(s string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", false
	}
	head, encoded := strings.CutSuffix(head, ";base64")
	mime, _, _ = strings.Cut(head, ";")
	if !encoded {
		plain, err := url.PathUnescape(data)
		if err != nil {
			return "", "", false
		}
		data = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	return mime, data, true
}

// Patch applies RFC 7396 to an object, once for each patch: null removes, objects are merged, all else replaces.
func Patch(object []byte, patches ...map[string]json.RawMessage) ([]byte, error) {
	for _, p := range patches {
		if len(p) == 0 {
			continue
		}
		var err error
		if object, err = merge(object, p); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func merge(object []byte, patch map[string]json.RawMessage) ([]byte, error) {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(object, &have); err != nil || have == nil {
		have = map[string]json.RawMessage{}
	}
	for key, value := range patch {
		value = bytes.TrimSpace(value)
		if !json.Valid(value) {
			return nil, fmt.Errorf("extra %q is not valid JSON", key)
		}
		switch {
		case bytes.Equal(value, []byte("null")):
			delete(have, key)
		case value[0] == '{':
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(value, &inner); err != nil {
				return nil, fmt.Errorf("extra %q: %w", key, err)
			}
			merged, err := merge(have[key], inner)
			if err != nil {
				return nil, fmt.Errorf("extra %q: %w", key, err)
			}
			have[key] = merged
		default:
			have[key] = value
		}
	}
	return json.Marshal(have)
}

// JSON writes a request as it is sent: without the escapes that only a page of HTML needs.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
