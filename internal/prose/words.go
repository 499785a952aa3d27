// Package prose tells the words of a text that say what it is about, and cuts texts into sentences, without a language model:
// English by crude stems, Chinese by pairs of characters. The offline model chooses quotations with it, and deep research
// holds claims against what was read.
//
// # Laws
//
//   - The same text gives the same words and sentences on every machine.
//   - A sentence is a substring of its text, so whoever quotes it quotes the text.
package prose

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Chinese reports that a text is to be answered in Chinese: it has Han characters, and no kana.
func Chinese(text string) bool {
	han := false
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return false
		case unicode.Is(unicode.Han, r):
			han = true
		}
	}
	return han
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// stopWords carry no content: a document is not about them.
var stopWords = set(`
a an the this that these those there here it its they them their he she his her him we us our you your i me my mine
is are was were be been being am do does did doing done have has had having can could will would shall should may might must
and or but nor not no if then else than so as at by for from in into of off on onto out over per to under until up upon via with within without
what which who whom whose when where why how whether much many more most some any all each every both few other another such same own only just also too very
about above after again against before below between during through while because since though although
please tell explain describe show give find look search know want need like say says said mean means work works let make get got goes go use used uses using
hello hi hey thanks thank ok okay yes yeah
`)

// hanStop are the Chinese words that a question is made of, longer ones first, after words that only look as if
// they had one inside and are kept.
var (
	hanKept = `目的|了解|和平|和谐|共和|总和|与其|参与|涉及|普及|及时|自我|是非`
	hanStop = regexp.MustCompile(hanKept + `|请问一下|请告诉我|告诉我|请问|请你|什么样|为什么|是什么|什么是|什么叫|什么|怎么样|怎样|怎么|如何|哪些|哪个|哪里|是否|能否|是不是|有没有|可以|介绍一下|介绍|解释一下|解释|说明|一下|一个|这个|那个|以及|还有|关于|有多少|多少|有多长|多长|有多大|多大|有多久|多久|有多高|多高|有多远|多远|有多|我们|你们|他们|它们|吗|呢|吧|啊|的|了|是|和|与|及|我|你|它`)
	hanOnly = regexp.MustCompile(`^(?:` + hanKept + `)$`)
)

// Words splits a text at everything that is neither a letter nor a digit. Han characters are kept apart from
// other letters.
func Words(text string) []string {
	var out []string
	begin, lastHan := -1, false // of the word that is being read
	flush := func(end int) {
		if begin >= 0 {
			out = append(out, strings.Trim(text[begin:end], "'’_"))
		}
		begin = -1
	}
	for i, r := range text {
		part, han := false, false
		if r < utf8.RuneSelf { // most are
			part = 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		} else {
			part, han = unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r), unicode.Is(unicode.Han, r)
		}
		inner := r == '_' || r == '\'' || r == '’'
		if !part && !(inner && begin >= 0 && !lastHan) {
			flush(i)
			continue
		}
		if han != lastHan {
			flush(i)
		}
		if lastHan = han; begin < 0 {
			begin = i
		}
	}
	flush(len(text))
	return out
}

// Content returns the words of a question that say what it is about, each once, in order.
func Content(question string) []string {
	var out []string
	seen := map[string]bool{}
	add := func(w string) {
		if key := Stem(w); w != "" && !seen[key] {
			seen[key] = true
			out = append(out, w)
		}
	}
	for _, w := range Words(question) {
		if Chinese(w) {
			rest := hanStop.ReplaceAllStringFunc(w, func(m string) string {
				if hanOnly.MatchString(m) {
					return m
				}
				return " "
			})
			for part := range strings.FieldsSeq(rest) {
				add(part)
			}
			continue
		}
		lower := strings.ToLower(w)
		lower, _, _ = strings.Cut(strings.ReplaceAll(lower, "’", "'"), "'") // what's, agent's
		if !stopWords[lower] {
			add(strings.TrimSuffix(strings.ReplaceAll(w, "’", "'"), "'s"))
		}
	}
	return out
}

// Stem makes the forms of an English word alike: resume, resumes, resumed, resuming. It is crude, and meant only
// for telling whether two words are one.
func Stem(w string) string {
	w = strings.ToLower(w)
	if len(w) <= 3 || !isASCII(w) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "i"
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	}
	for _, suffix := range []string{"ing", "ed", "es", "s", "e"} {
		if strings.HasSuffix(w, suffix) && len(w)-len(suffix) >= 3 {
			w = w[:len(w)-len(suffix)]
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 'l' && w[n-1] != 's' { // stopped, stop
		w = w[:n-1]
	}
	if strings.HasSuffix(w, "y") {
		w = w[:len(w)-1] + "i"
	}
	return w
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Keys are what two texts share if they speak of the same thing: stems of words, and pairs of neighbouring Han
// characters.
func Keys(text string) map[string]bool {
	out, seen := map[string]bool{}, map[string]bool{}
	for _, w := range Words(text) {
		if seen[w] { // most words of a text are there more than once
			continue
		}
		seen[w] = true
		if !Chinese(w) {
			out[Stem(w)] = true
			continue
		}
		r := []rune(w)
		if len(r) == 1 {
			out[w] = true
		}
		for i := range len(r) - 1 {
			out[string(r[i:i+2])] = true
		}
	}
	return out
}
