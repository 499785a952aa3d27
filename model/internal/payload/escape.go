package payload

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escapesValid reports that every backslash begins an escape of JSON's.
func escapesValid(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if i == len(raw) {
			return false
		}
		switch raw[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if hex(raw[i+1:]) < 0 {
				return false
			}
			i += 4
		default:
			return false
		}
	}
	return true
}

// unescaped appends what a string means. What is no UTF-8, and half a pair of surrogates, becomes U+FFFD.
func unescaped(dst, raw []byte) []byte { return unescape(dst, raw, false) }

// unescape is unescaped; with halves, half a pair of surrogates stays one, for [Halves].
func unescape(dst, raw []byte, halves bool) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\':
			var size int
			var half rune
			if halves {
				half = halfAt(raw[i:])
			}
			if half != 0 {
				dst, size = append(dst, 0xE0|byte(half>>12), 0x80|byte(half>>6)&0x3F, 0x80|byte(half)&0x3F), 6
			} else {
				dst, size = escape(dst, raw[i:])
			}
			i += size
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			char, size := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, char)
			i += size
		}
	}
	return dst
}

// escape appends the character that a valid escape stands for, and returns the escape's length.
func escape(dst, raw []byte) ([]byte, int) {
	switch c := raw[1]; c {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
	default:
		return append(dst, c), 2
	}
	char := hex(raw[2:])
	if !utf16.IsSurrogate(char) {
		return utf8.AppendRune(dst, char), 6
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if whole := utf16.DecodeRune(char, hex(raw[8:])); whole != utf8.RuneError {
			return utf8.AppendRune(dst, whole), 12
		}
	}
	return utf8.AppendRune(dst, utf8.RuneError), 6
}

// hex reads four digits; less than zero if they are none.
func hex(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil || b[0] == '+' {
		return -1
	}
	return rune(n)
}
