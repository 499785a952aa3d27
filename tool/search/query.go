package search

import (
	"strings"
	"unicode"
)

// Chinese and Japanese are written without spaces, and the index knows only words. So a run of such characters
// is indexed, and looked for, as its overlapping pairs; the last character is added on its own, so that a
// single character is found as the beginning of a pair or as that.

// wide reports a character of a script without spaces.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == '々'
}

// pairs prepares text for the index.
func pairs(text string) string {
	if strings.IndexFunc(text, wide) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(3 * len(text))
	var run []rune
	flush := func() {
		if len(run) == 0 {
			return
		}
		b.WriteByte(' ')
		for i := range len(run) - 1 {
			b.WriteString(string(run[i : i+2]))
			b.WriteByte(' ')
		}
		b.WriteRune(run[len(run)-1])
		b.WriteByte(' ')
		run = run[:0]
	}
	for _, r := range text {
		if wide(r) {
			run = append(run, r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}

// mostTerms bounds the work that one query can cause.
const mostTerms = 32

// terms turns what somebody typed into quoted words of the query language: letters and digits between double
// quotes, which cannot be anything but words there.
func terms(query string) []string {
	var out []string
	known := map[string]bool{}
	add := func(word, suffix string) {
		term := `"` + word + `"` + suffix
		if len(out) < mostTerms && !known[term] {
			known[term] = true
			out = append(out, term)
		}
	}
	var word, run []rune
	flush := func() {
		if len(word) > 0 {
			add(strings.ToLower(string(word)), "")
		}
		if len(run) == 1 {
			add(string(run), "*")
		}
		for i := range len(run) - 1 {
			add(string(run[i:i+2]), "")
		}
		word, run = word[:0], run[:0]
	}
	for _, r := range strings.ToValidUTF8(query, " ") {
		switch {
		case wide(r):
			if len(word) > 0 {
				flush()
			}
			run = append(run, r)
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && len(word) > 0:
			if len(run) > 0 {
				flush()
			}
			word = append(word, r)
		default:
			flush()
		}
	}
	flush()
	return out
}
