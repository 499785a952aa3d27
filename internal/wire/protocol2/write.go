package protocol2

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/item"
)

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
