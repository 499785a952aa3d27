package offline

import (
	"strings"
	"unicode/utf8"
)

// pieces cuts text at token boundaries, except at those inside a rune: the tokens around such a boundary are
// one piece. The text must be valid UTF-8.
func pieces(text string) []string {
	var out []string
	var held strings.Builder
	tokensOf(text, func(tok string) {
		if held.Len() == 0 && utf8.ValidString(tok) {
			out = append(out, tok)
			return
		}
		held.WriteString(tok)
		if utf8.ValidString(held.String()) {
			out = append(out, held.String())
			held.Reset()
		}
	})
	if held.Len() > 0 {
		out = append(out, held.String())
	}
	return out
}

// countBytes is how much of a text is counted. Counting some megabytes takes about a second.
const countBytes = 64 << 10

// Tokens counts the tokens of a text. Of a longer one than 64 KiB it counts the beginning, and takes the rest to be like it.
func Tokens(text string) int {
	n := 0
	count := func(string) { n++ }
	if len(text) <= countBytes {
		tokensOf(text, count)
		return n
	}
	head := beginning(text, countBytes)
	tokensOf(head, count)
	return int(float64(n) * float64(len(text)) / float64(len(head)))
}
