package payload

import (
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
	r.buf = unescape(r.buf[:0], raw, true)
	return string(r.buf)
}

// halfAt returns the half of a character that an escape stands for, if its other half does not follow; else 0.
func halfAt(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	char := hex(raw[2:])
	if !utf16.IsSurrogate(char) {
		return 0
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' && utf16.DecodeRune(char, hex(raw[8:])) != utf8.RuneError {
		return 0
	}
	return char
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
