package payload

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Piece reads a string that is one piece of a longer text. Servers that count in UTF-16 cut a character in two, and send
// each half as an escape of its own: \ud83d in one piece and \ude00 in the next. Such halves are left as they are, in three
// bytes that are no UTF-8, until [Halves] joins them. Nothing else may read what Piece returns.
func (r *Reader) Piece() string {
	if r.Kind() != '"' {
		r.Skip()
		return ""
	}
	raw, plain := r.quoted()
	if plain {
		return string(raw)
	}
	r.buf = r.halved(r.buf[:0], raw)
	return string(r.buf)
}

// halved is meant, but leaves halves of characters as they are.
func (r *Reader) halved(dst, raw []byte) []byte {
	from := 0
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		half, size := halfAt(raw[i:])
		if half != 0 {
			dst = r.meant(dst, raw[from:i])
			dst = append(dst, 0xE0|byte(half>>12), 0x80|byte(half>>6)&0x3F, 0x80|byte(half)&0x3F)
			from = i + size
		}
		i += size
	}
	return r.meant(dst, raw[from:])
}

// halfAt returns the half of a character that the escape at the front stands for, or 0 where its other half follows or it is another
// escape; and how long the escape is, with both halves.
func halfAt(raw []byte) (half rune, size int) {
	first, ok := unit(raw)
	if !ok {
		return 0, min(2, len(raw))
	}
	if !utf16.IsSurrogate(first) {
		return 0, 6
	}
	if second, ok := unit(raw[6:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
		return 0, 12
	}
	return first, 6
}

// unit reads \uXXXX.
func unit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}

// Halves joins the halves of characters at the ends of the pieces of one text. The zero value is ready.
type Halves struct{ first rune } // of a character whose other half is still to come; 0 for none

// Join returns what a piece of [Reader.Piece] means, after the pieces before it. A half that stands alone becomes U+FFFD.
func (h *Halves) Join(piece string) string {
	if piece == "" || h.first == 0 && strings.IndexByte(piece, 0xED) < 0 {
		return piece
	}
	var b strings.Builder
	for piece != "" {
		half, size := decodeHalf(piece)
		if h.first != 0 {
			whole := utf16.DecodeRune(h.first, half)
			h.first = 0
			b.WriteRune(whole) // U+FFFD where the two are no pair
			if whole != utf8.RuneError {
				piece = piece[size:]
				continue
			}
		}
		switch {
		case half == 0:
			b.WriteString(piece[:size])
		case half < 0xDC00:
			h.first = half
		default:
			b.WriteRune(utf8.RuneError)
		}
		piece = piece[size:]
	}
	return b.String()
}

// Rest returns what stands for a half whose other half did not come: U+FFFD, or nothing.
func (h *Halves) Rest() string {
	if h.first == 0 {
		return ""
	}
	h.first = 0
	return string(utf8.RuneError)
}

// decodeHalf reads the first character of a text. half is not 0 if it is half of one.
func decodeHalf(s string) (half rune, size int) {
	if len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	_, size = utf8.DecodeRuneInString(s)
	return 0, size
}
