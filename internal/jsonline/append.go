package jsonline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString writes a JSON string. Bytes that are not UTF-8 become U+FFFD; U+2028 and U+2029 are escaped because
// JavaScript once took them for line ends, and so did many an SSE parser.
func AppendString(dst []byte, s string) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// AppendEscaped writes the inside of a JSON string, for those who put one together.
func AppendEscaped(dst []byte, s string) []byte {
	if len(s) >= 1<<10 { // at once, and not by doubling; some of it is escaped, and nobody knows how much
		dst = slices.Grow(dst, len(s)+len(s)/32)
	}
	start := 0
	for i := 0; i < len(s); {
		i += plain(s[i:])
		if i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// plain counts the bytes at the front that stand for themselves in a JSON string, all of them ASCII.
func plain(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		// One load; the compiler joins the eight.
		v := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if !allPlain(v) {
			break
		}
	}
	for i < len(s) && stands[s[i]] {
		i++
	}
	return i
}

// plainBytes is plain for bytes.
func plainBytes(b []byte) int {
	i := 0
	for ; i+8 <= len(b) && allPlain(binary.LittleEndian.Uint64(b[i:])); i += 8 {
	}
	for i < len(b) && stands[b[i]] {
		i++
	}
	return i
}

// allPlain reports that each of eight bytes stands for itself.
func allPlain(v uint64) bool {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	// A byte's high bit is set if it is not ASCII, below a space, a quote or a backslash. A borrow may set the bit of the
	// byte above such a one too; that is never the only one.
	quote, slash := v^(ones*'"'), v^(ones*'\\')
	return (v|(v-ones*0x20)|(quote-ones)|(slash-ones))&high == 0
}

// stands are the bytes that stand for themselves.
var stands = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendRaw writes JSON that somebody else wrote: without white space, and with bytes that are not UTF-8 replaced, but
// otherwise as it is spelled. An error says what is wrong with it; then dst is as it was. Nil is null.
func AppendRaw(dst, raw []byte) ([]byte, error) {
	if raw == nil {
		return append(dst, "null"...), nil
	}
	if end, ok := Skip(raw, 0); ok && end == len(raw) && utf8.Valid(raw) {
		return append(dst, raw...), nil
	}
	start := len(dst)
	b := bytes.NewBuffer(dst)
	if err := json.Compact(b, raw); err != nil {
		return dst[:start], err
	}
	dst = b.Bytes()
	if !utf8.Valid(dst[start:]) {
		return append(dst[:start], bytes.ToValidUTF8(dst[start:], []byte("\ufffd"))...), nil
	}
	return dst, nil
}
