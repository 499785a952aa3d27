package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// Text is made of words. Chinese and Japanese are written without spaces, so a run of such characters is taken as its
// overlapping pairs; the last character is added on its own, so that a single one is found as the beginning of a pair or
// as that.

// wide reports a character of a script without spaces.
func wide(r rune) bool {
	return r >= 0x2E80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == '々')
}

// longestWord is where words are cut: what is longer is data and no word.
const longestWord = 48

// eachWord calls with every word of the text as it is written, and where it stands. Pairs of characters overlap. A name
// such as ReadFile is given whole and in its parts; all of these have the same position.
func eachWord(text string, with func(word string, from, to, position int)) {
	position := 0
	for i := 0; i < len(text); {
		if class := classes[text[i]]; class == other {
			i++
			continue
		} else if class != beyond {
			// a word begins
		} else if r, n := utf8.DecodeRuneInString(text[i:]); wide(r) {
			i = eachPair(text, i, &position, with)
			continue
		} else if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			i += n
			continue
		}
		start, parts := i, 0
		part := i
		var before byte // of what class the character before was
		for i < len(text) {
			class, n := classes[text[i]], 1
			if class == other {
				break
			}
			if class == beyond {
				var r rune
				if r, n = utf8.DecodeRuneInString(text[i:]); wide(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
					break
				}
			}
			if class == capital && before == small {
				with(text[part:i], part, i, position)
				part, parts = i, parts+1
			}
			before = class
			i += n
		}
		if parts > 0 {
			with(text[part:i], part, i, position)
		}
		if i-start <= longestWord {
			with(text[start:i], start, i, position)
		}
		position++
	}
}

// The classes of bytes. Every byte of every document is looked at.
const (
	other   = iota // stands between words
	small          // letter
	capital        // letter
	digit
	beyond // part of a character that is not ASCII
)

var classes = func() (of [256]byte) {
	for c := range of {
		switch {
		case c >= 'a' && c <= 'z':
			of[c] = small
		case c >= 'A' && c <= 'Z':
			of[c] = capital
		case c >= '0' && c <= '9':
			of[c] = digit
		case c >= utf8.RuneSelf:
			of[c] = beyond
		}
	}
	return of
}()

// eachPair gives the pairs of the run of wide characters at i, and returns where it ends.
func eachPair(text string, i int, position *int, with func(word string, from, to, position int)) int {
	last := -1
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !wide(r) {
			break
		}
		if last >= 0 {
			with(text[last:i+n], last, i+n, *position)
			*position++
		}
		last = i
		i += n
	}
	with(text[last:i], last, i, *position)
	*position++
	return i
}

// term is the form of a word under which it is kept: without case, marks and inflection.
func term(word string) string {
	if r, _ := utf8.DecodeRuneInString(word); wide(r) {
		return word
	}
	return stem(fold(word))
}

// fold takes case, accents and the width of letters away.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			var b strings.Builder
			for _, r := range norm.NFKD.String(strings.ToLower(word)) {
				if !unicode.IsMark(r) {
					b.WriteRune(r)
				}
			}
			return strings.ToLower(b.String())
		}
	}
	return strings.ToLower(word)
}

// stem takes the inflection off an English word. Words with digits are names of something and stay.
func stem(word string) string {
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}
