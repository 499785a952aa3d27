package jsonline

import (
	"encoding/json"
	"unicode/utf8"
)

// deepest is how far values may be nested, as in encoding/json.
const deepest = 10_000

// Skip returns the end of the JSON value that begins at a place, if there is one that is valid and has no white space
// in it. Bytes inside of strings need not be UTF-8.
func Skip(data []byte, at int) (end int, ok bool) { return skip(data, at, 0) }

func skip(data []byte, at, depth int) (end int, ok bool) {
	if at >= len(data) {
		return at, false
	}
	switch data[at] {
	case '"':
		return skipString(data, at)
	case '{', '[':
		return skipNested(data, at, depth+1)
	case 't':
		return skipWord(data, at, "true")
	case 'f':
		return skipWord(data, at, "false")
	case 'n':
		return skipWord(data, at, "null")
	}
	return skipNumber(data, at)
}

func skipWord(data []byte, at int, word string) (end int, ok bool) {
	end = at + len(word)
	return end, end <= len(data) && string(data[at:end]) == word
}

// skipNested passes an object or a list.
func skipNested(data []byte, at, depth int) (end int, ok bool) {
	if depth > deepest {
		return at, false
	}
	isObject := data[at] == '{'
	closing := data[at] + 2 // ']' and '}' are two behind '[' and '{'
	at++
	if at < len(data) && data[at] == closing {
		return at + 1, true
	}
	for {
		if isObject {
			if at >= len(data) || data[at] != '"' {
				return at, false
			}
			if at, ok = skipString(data, at); !ok || at >= len(data) || data[at] != ':' {
				return at, false
			}
			at++
		}
		if at, ok = skip(data, at, depth); !ok || at >= len(data) {
			return at, false
		}
		switch data[at] {
		case ',':
			at++
		case closing:
			return at + 1, true
		default:
			return at, false
		}
	}
}

// skipString passes a string, whose opening quote is at at.
func skipString(data []byte, at int) (end int, ok bool) {
	for at++; ; {
		at += plainBytes(data[at:])
		if at >= len(data) {
			return at, false
		}
		switch c := data[at]; {
		case c == '"':
			return at + 1, true
		case c == '\\':
			n := escape(data[at:])
			if n == 0 {
				return at, false
			}
			at += n
		case c < 0x20:
			return at, false
		default: // not ASCII
			for at++; at < len(data) && data[at] >= utf8.RuneSelf; {
				at++
			}
		}
	}
}

// escape returns the length of the escape at the front, 0 if there is none that is valid.
func escape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(data) < 6 {
			return 0
		}
		for _, c := range data[2:6] {
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func skipNumber(data []byte, at int) (end int, ok bool) {
	if data[at] == '-' {
		at++
	}
	whole := skipDigits(data, at)
	if whole == at || whole > at+1 && data[at] == '0' {
		return at, false
	}
	at = whole
	if at < len(data) && data[at] == '.' {
		if end = skipDigits(data, at+1); end == at+1 {
			return at, false
		}
		at = end
	}
	if at < len(data) && (data[at] == 'e' || data[at] == 'E') {
		at++
		if at < len(data) && (data[at] == '+' || data[at] == '-') {
			at++
		}
		if end = skipDigits(data, at); end == at {
			return at, false
		}
		at = end
	}
	return at, true
}

func skipDigits(data []byte, at int) int {
	for at < len(data) && '0' <= data[at] && data[at] <= '9' {
		at++
	}
	return at
}

// Valid is json.Valid, and several times as fast for what has no white space around its values.
func Valid(raw []byte) bool {
	end, ok := Skip(raw, 0)
	return ok && end == len(raw) || json.Valid(raw)
}

// Compact returns JSON in the form that [Members] and [Elements] read, which is most often the same bytes; false for
// what is no JSON.
func Compact(raw []byte) ([]byte, bool) {
	if end, ok := Skip(raw, 0); ok && end == len(raw) && utf8.Valid(raw) {
		return raw, true
	}
	out, err := AppendRaw(nil, raw)
	return out, err == nil && raw != nil
}

// Members yields the members of an object in their order, whatever it is of anything else nothing. The text must come
// from [Compact]. A key is as it is spelled, without its quotes; see [Text].
func Members(object []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		if len(object) < 2 || object[0] != '{' {
			return
		}
		for at := 1; object[at] == '"'; at++ { // past the comma, or the end
			colon, ok := skipString(object, at)
			if !ok {
				return
			}
			end, ok := Skip(object, colon+1)
			if !ok || !yield(object[at+1:colon-1], object[colon+1:end]) || end == len(object)-1 {
				return
			}
			at = end
		}
	}
}

// Elements yields the elements of a list, and nothing of anything else. The text must come from [Compact].
func Elements(list []byte) func(yield func(value []byte) bool) {
	return func(yield func(value []byte) bool) {
		if len(list) < 3 || list[0] != '[' {
			return
		}
		for at := 1; at < len(list); at++ {
			end, ok := Skip(list, at)
			if !ok || !yield(list[at:end]) {
				return
			}
			at = end
		}
	}
}
