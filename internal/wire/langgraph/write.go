package langgraph

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
)

// appendTime writes a time as JavaScript does.
func appendTime(dst []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(dst, `"2006-01-02T15:04:05.000Z"`)
}

// appendState splices values from the store, which are ours and valid; they are only looked through for line ends.
func appendState(dst []byte, values json.RawMessage) []byte {
	if len(values) == 0 {
		return append(dst, "{}"...)
	}
	if bytes.IndexByte(values, '\n') >= 0 || bytes.IndexByte(values, '\r') >= 0 {
		return jsonline.AppendForeign(dst, values)
	}
	return append(dst, values...)
}

// appendUpdate writes what a node wrote; a node that wrote nothing wrote {}.
func appendUpdate(dst []byte, update json.RawMessage) []byte {
	if !graphs.WroteSomething(update) {
		return append(dst, "{}"...)
	}
	return jsonline.AppendForeign(dst, update)
}

// members returns the members of an object in the order of their keys, each with a comma before it, without those
// whose keys are taken.
func members(object json.RawMessage, taken []string) []byte {
	var m map[string]json.RawMessage
	if len(object) == 0 || json.Unmarshal(object, &m) != nil {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		if !slices.Contains(taken, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var b []byte
	for _, k := range keys {
		b = jsonline.AppendString(append(b, ','), k) // theirs
		b = jsonline.AppendForeign(append(b, ':'), m[k])
	}
	return b
}
