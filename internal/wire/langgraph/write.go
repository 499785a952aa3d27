package langgraph

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// The append functions write into a buffer in the manner of strconv: most frames are one short delta, and reflection
// would cost more than all the rest.

func appendKey(dst []byte, key string) []byte {
	dst = append(dst, ',')
	dst = event.AppendString(dst, key)
	return append(dst, ':')
}

func appendField(dst []byte, key, value string) []byte {
	return event.AppendString(appendKey(dst, key), value)
}

func appendInt(dst []byte, key string, n int) []byte {
	return strconv.AppendInt(appendKey(dst, key), int64(n), 10)
}

// appendTime writes a time as JavaScript does.
func appendTime(dst []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(dst, `"2006-01-02T15:04:05.000Z"`)
}

// appendNames writes a list of strings.
func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, s := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = event.AppendString(dst, s)
	}
	return append(dst, ']')
}

// appendRaw writes foreign JSON on one line, the same whether the event comes from memory or was read back from
// disk; what is no JSON becomes null.
func appendRaw(dst []byte, raw []byte) []byte {
	dst, err := jsonline.AppendRaw(dst, raw)
	if err != nil {
		return append(dst, "null"...)
	}
	return dst
}

// appendState splices values from the store, which are ours and valid; they are only looked through for line ends.
func appendState(dst []byte, values json.RawMessage) []byte {
	if len(values) == 0 {
		return append(dst, "{}"...)
	}
	if bytes.IndexByte(values, '\n') >= 0 || bytes.IndexByte(values, '\r') >= 0 {
		return appendRaw(dst, values)
	}
	return append(dst, values...)
}

// appendUpdate writes what a node wrote; a node that wrote nothing wrote {}.
func appendUpdate(dst []byte, update json.RawMessage) []byte {
	if !wroteSomething(update) {
		return append(dst, "{}"...)
	}
	return appendRaw(dst, update)
}

func wroteSomething(update json.RawMessage) bool {
	switch string(bytes.TrimSpace(update)) {
	case "", "null", "{}", "[]":
		return false
	}
	return true
}

// appendUsage writes LangChain's usage object.
func appendUsage(dst []byte, u item.Usage) []byte {
	raw, err := item.UsageJSON(u)
	if err != nil {
		return append(dst, "{}"...)
	}
	return append(dst, raw...)
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
		b = appendRaw(appendKey(b, k), m[k])
	}
	return b
}
