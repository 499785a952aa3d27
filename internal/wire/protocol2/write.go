package protocol2

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// The append functions write into a buffer in the manner of strconv: most frames are one short delta.

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
func appendRaw(dst, raw []byte) []byte {
	dst, err := jsonline.AppendRaw(dst, raw)
	if err != nil {
		return append(dst, "null"...)
	}
	return dst
}

func appendUsage(dst []byte, u item.Usage) []byte {
	raw, err := item.UsageJSON(u)
	if err != nil {
		return append(dst, "{}"...)
	}
	return append(dst, raw...)
}

func wroteSomething(update json.RawMessage) bool {
	s := string(bytes.TrimSpace(update))
	return s != "" && s != "null" && s != "{}" && s != "[]"
}
