package protocol2

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
)

// The append functions write into a buffer in the manner of strconv: most frames are one short delta.

func appendKey(dst []byte, key string) []byte {
	dst = append(dst, ',')
	dst = appendString(dst, key)
	return append(dst, ':')
}

func appendField(dst []byte, key, value string) []byte {
	return appendString(appendKey(dst, key), value)
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
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

// appendRaw writes foreign JSON on one line, the same whether the event comes from memory or was read back from
// disk; what is no JSON becomes null.
func appendRaw(dst, raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return append(dst, "null"...)
	}
	if !utf8.Valid(b.Bytes()) {
		return append(dst, bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd"))...)
	}
	return append(dst, b.Bytes()...)
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

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. Bytes that are not UTF-8 become U+FFFD; U+2028 and U+2029 are escaped,
// since some SSE readers take them for line ends.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		escape := ""
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			switch {
			case r == '\u2028':
				escape = `\u2028`
			case r == '\u2029':
				escape = `\u2029`
			case r == utf8.RuneError && size == 1:
				escape = `\ufffd`
			default:
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case escape != "":
			dst = append(dst, escape...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
