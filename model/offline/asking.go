package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
)

// asking is a question, or a part of one that asks for something of its own.
type asking struct {
	text    string
	about   []string // its words
	context []string // those of the whole question, where the part does not say what it is about
}

var (
	nextPart = pattern.New(`(?i)(?:[,;]\s*|\s+)(?:and|or)\s+((?:in|at|for|to|by|with|from)\s+)?(how|what|when|which|who|whose|where|why|may|must|can|does|do|did|is|are|will|should)\b|[?;]\s+(how|what|when|which|who|whose|where|why)\b`)
	asksHan  = pattern.New(`什么|如何|怎么|怎样|多少|多久|多长|多大|哪|为何|是否|能否|吗|谁|几`)
	leans    = pattern.New(`(?i)\b(?:it|its|they|them|their|that|those|this|these|he|she|his|her)\b|它|他|她|其|这|那`)
)

// asksOf takes a question apart: "How long is the Nile, and who discovered it?" asks for two things.
func asksOf(question string) []asking {
	question = strings.Join(strings.Fields(question), " ")
	var texts []string
	if prose.Chinese(question) {
		for part := range strings.FieldsFuncSeq(question, func(r rune) bool { return strings.ContainsRune("，；？,;?", r) }) {
			if n := len(texts); n > 0 && (!asksHan.MatchString(part) || !asksHan.MatchString(texts[n-1])) {
				texts[n-1] += "，" + part
				continue
			}
			texts = append(texts, part)
		}
	} else {
		rest := question
		for {
			at := nextPart.Regexp().FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			begin := at[4]
			if begin < 0 {
				begin = at[6]
			}
			if at[2] >= 0 {
				begin = at[2]
			}
			texts = append(texts, rest[:at[0]])
			rest = rest[begin:]
		}
		texts = append(texts, rest)
	}
	whole := prose.Content(question)
	var out []asking
	for _, t := range texts {
		q := asking{text: sentenceOf(t, prose.Chinese(question)), about: prose.Content(t)}
		if len(q.about) == 0 {
			continue
		}
		weighty := 0
		for _, w := range q.about {
			if !minorWords[prose.Stem(w)] {
				weighty++
			}
		}
		if len(texts) > 1 && (weighty < 2 || leans.MatchString(t)) {
			q.context = whole
		}
		out = append(out, q)
	}
	if len(out) < 2 {
		return []asking{{text: question, about: whole}}
	}
	return out
}

// sentenceOf is a part of a question as a question of its own.
func sentenceOf(text string, zh bool) string {
	text = strings.TrimRightFunc(strings.TrimSpace(text), func(r rune) bool { return unicode.IsPunct(r) && !slices.Contains([]rune(")）”\"'`"), r) })
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:] + pick(zh, "？", "?")
}
