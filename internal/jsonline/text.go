package jsonline

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a JSON string, as encoding/json does: what is not UTF-8, and surrogates without their other half, become
// U+FFFD. It is false for anything that is no string.
func Text(value []byte) (string, bool) {
	n := len(value)
	if n < 2 || value[0] != '"' || value[n-1] != '"' {
		return "", false
	}
	rest := value[1 : n-1]
	if plainBytes(rest) == len(rest) {
		return string(rest), true
	}
	var b strings.Builder
	b.Grow(len(rest))
	for {
		n := plainBytes(rest)
		b.Write(rest[:n])
		if rest = rest[n:]; len(rest) == 0 {
			return b.String(), true
		}
		switch c := rest[0]; {
		case c == '\\':
			r, size := unescape(rest)
			if size == 0 {
				return "", false
			}
			b.WriteRune(r)
			rest = rest[size:]
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(rest)
			b.WriteRune(r)
			rest = rest[size:]
		default: // a quote or a control character
			return "", false
		}
	}
}

// AppendText appends what the inside of a JSON string means. Characters that JSON would have escaped may stand for themselves, as they
// do where others write JSON; a quote may not. It is false for an escape that JSON does not have; then what was appended means nothing.
func AppendText(dst, inside []byte) ([]byte, bool) {
	for {
		n := plainBytes(inside)
		dst = append(dst, inside[:n]...)
		if inside = inside[n:]; len(inside) == 0 {
			return dst, true
		}
		var r rune
		switch c := inside[0]; {
		case c == '"':
			return dst, false
		case c == '\\':
			if r, n = unescape(inside); n == 0 {
				return dst, false
			}
		default: // what is no UTF-8 becomes U+FFFD
			r, n = utf8.DecodeRune(inside)
		}
		dst = utf8.AppendRune(dst, r)
		inside = inside[n:]
	}
}

// unescape reads the escape at the front; its size is 0 if it is not valid.
func unescape(data []byte) (r rune, size int) {
	size = escape(data)
	if size == 0 {
		return 0, 0
	}
	switch data[1] {
	case 'b':
		return '\b', size
	case 'f':
		return '\f', size
	case 'n':
		return '\n', size
	case 'r':
		return '\r', size
	case 't':
		return '\t', size
	case 'u':
		return unescapeUnit(data, size)
	}
	return rune(data[1]), size
}

// unescapeUnit reads \uXXXX, and the one after it if the two are a pair of surrogates.
func unescapeUnit(data []byte, size int) (rune, int) {
	r := unit(data)
	if !utf16.IsSurrogate(r) {
		return r, size
	}
	if next := data[size:]; len(next) >= size && next[0] == '\\' && escape(next) == size {
		if pair := utf16.DecodeRune(r, unit(next)); pair != utf8.RuneError {
			return pair, 2 * size
		}
	}
	return utf8.RuneError, size
}

// unit reads the digits of a valid \uXXXX.
func unit(data []byte) rune {
	n, _ := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n)
}
