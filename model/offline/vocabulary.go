package offline

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// packed are the first 50,000 of the 200,000 tokens of o200k_base, in their order, each behind its length in one byte. They are those
// that were found first, so that any of them is made of two before it: a vocabulary of its own, which cuts most texts as the
// whole does. The whole is 6 MB of program and seven seconds of every first build.
//
//go:embed vocabulary.gz
var packed []byte

// ranks are the tokens with their places. They are unpacked by the first call that needs them: a server with a real provider never
// does.
var ranks = sync.OnceValue(func() map[string]int {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("offline: the vocabulary cannot be read: " + err.Error()) // it is a part of the program
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		panic("offline: the vocabulary cannot be read: " + err.Error())
	}
	all := make(map[string]int, 50_000)
	for text := string(raw); text != ""; {
		n := int(text[0]) + 1
		all[text[1:n]] = len(all)
		text = text[n:]
	}
	return all
})

// tokensOf calls yield with the tokens of a text. Joined, they are the text.
func tokensOf(text string, yield func(token string)) {
	all := ranks()
	for text != "" {
		n := wordAt(text)
		word := text[:n]
		text = text[n:]
		for len(word) > maxWord {
			merge(all, word[:maxWord], yield)
			word = word[maxWord:]
		}
		merge(all, word, yield)
	}
}

// maxWord bounds what is merged at once, which takes time with the square of its length.
const maxWord = 64

// merge cuts a word into tokens: into bytes first, and then the two neighbours that make the earliest token are joined, as long as
// there are any.
func merge(all map[string]int, word string, yield func(string)) {
	if _, ok := all[word]; ok {
		yield(word)
		return
	}
	var room [maxWord + 1]int
	cuts := room[:0]
	for i := range len(word) + 1 {
		cuts = append(cuts, i)
	}
	for len(cuts) > 2 {
		best, at := len(all), -1
		for i := 0; i+2 < len(cuts); i++ {
			if rank, ok := all[word[cuts[i]:cuts[i+2]]]; ok && rank < best {
				best, at = rank, i+1
			}
		}
		if at < 0 {
			break
		}
		cuts = append(cuts[:at], cuts[at+1:]...)
	}
	for i := 1; i < len(cuts); i++ {
		yield(word[cuts[i-1]:cuts[i]])
	}
}

// wordAt is how long the beginning of a text is over which no token reaches: letters with what stands before them, up to three
// digits, punctuation, or white space.
func wordAt(s string) int {
	r, first := utf8.DecodeRuneInString(s)
	lead := 0
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '\r' && r != '\n' {
		lead = first
	}
	if n := letters(s[lead:]); n > 0 {
		return lead + n
	}
	switch {
	case unicode.IsNumber(r):
		return upTo(s, 3, unicode.IsNumber)
	case unicode.IsSpace(r):
		if r == ' ' {
			if n := marks(s[first:]); n > 0 {
				return first + n
			}
		}
		return space(s)
	}
	return max(marks(s), first)
}

// letters is the length of a word: capitals and then small letters, and an English ending behind an apostrophe.
func letters(s string) int {
	n := upTo(s, len(s), func(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M) })
	n += upTo(s[n:], len(s), func(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M) })
	if n == 0 || n == len(s) || s[n] != '\'' {
		return n
	}
	for _, ending := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if len(s) >= n+len(ending) && strings.EqualFold(s[n:n+len(ending)], ending) {
			return n + len(ending)
		}
	}
	return n
}

// marks is the length of punctuation, with the ends of lines behind it.
func marks(s string) int {
	n := upTo(s, len(s), func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if n == 0 {
		return 0
	}
	return n + upTo(s[n:], len(s), func(r rune) bool { return r == '\r' || r == '\n' || r == '/' })
}

// space is the length of white space: to its last end of a line, or without the last character, which belongs to the word
// behind it.
func space(s string) int {
	n := upTo(s, len(s), unicode.IsSpace)
	if end := strings.LastIndexAny(s[:n], "\r\n"); end >= 0 {
		return end + 1
	}
	if n == len(s) {
		return n
	}
	_, last := utf8.DecodeLastRuneInString(s[:n])
	return max(n-last, min(n, last))
}

// upTo is the length of at most so many characters that are of a kind.
func upTo(s string, most int, is func(rune) bool) int {
	n := 0
	for count := 0; count < most && n < len(s); count++ {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !is(r) {
			break
		}
		n += size
	}
	return n
}
