package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
)

// mostGroups bounds the work that one question can cause. What it looks for beyond that is left out.
const mostGroups = 32

// question is what somebody asked, taken apart. It is words, never syntax.
type question struct {
	groups []group
	units  []unit
}

// group is a word with others that mean the same. A passage has the group if it has any of them.
type group struct {
	word   string // as it was typed
	terms  []alternative
	single bool    // a Chinese character that stands alone
	common bool    // a word that questions are full of; it counts little
	phrase bool    // it stands beside the group before it
	idf    float64 // filled in when the index is asked
	found  bool    // some document has it
}

// alternative is a term, and how much it counts beside the word itself.
type alternative struct {
	term   string
	weight float64
}

// unit is a part of the question that a passage has or has not: a word, or a Chinese character, which it has if it has one
// of the pairs that the character is in. It has it in part if it has the character in other pairs: what is meant is often
// said with one of the two.
type unit struct {
	groups []int
	char   string // the character; empty for a word, and for a character that stands alone
	weight float64
}

// Words that say nothing about the subject of a question.
var stop = set(`
a an the this that these those there here it its they them their he she his her him we us our you your i me my mine one ones
is are was were be been being am do does did doing done have has had having can could will would shall should may might must cannot
and or but nor not no if then else than so as at by for from in into of off on onto out over per to under until up upon via with within without
what which who whom whose when where why how whether much many more most some any all each every both few other another such same own only just also too very
about above after again against before below between during through while because since though although however
please tell explain describe know let s t don doesn didn isn aren won wouldn shouldn couldn ve re ll d m vs etc
`)

// Words that questions are full of and that documents have too. They count, but little.
var common = set(`
use used using uses work works working make makes making made get gets getting got give gives given go goes going take takes taken taking put happen happens
want need needs like look looks find found show shows say says said mean means way ways thing things something anything everything someone somebody anyone people person
able possible best good better right new first last next different certain kind sort type lot help try keep keeps see set called call come comes without instead
time times long often still already ever never always usually really exactly allowed must own part parts whole each able supposed actually
`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// What Chinese questions are made of, longer ones first; before them, words that only look as if they had one inside.
var hanStop = pattern.New(`目的|了解|和平|和谐|共和|总和|参与|涉及|普及|及时|自我|是非|不了解|公里|里程|` +
	`请问一下|请告诉我|告诉我|请问|请你|什么样|为什么|是什么|什么是|什么叫|什么时候|什么|怎么样|怎样|怎么办|怎么|如何|哪一些|哪些|哪个|哪里|哪儿|哪|是否|能否|是不是|有没有|能不能|可不可以|可以|应该|应当|需要|介绍一下|介绍|解释一下|解释|一下|一个|一些|这个|那个|这些|那些|以及|还有|关于|多少|几个|多久|多长|我们|你们|他们|它们|的时候|时候|之后|以后|之前|以前|如果|因为|所以|但是|而且|或者|还是|就是|才能|才会|会不会|要不要|吗|呢|吧|啊|的|了|是|和|与|及|我|你|它|要|会|能|在|把|被|让|给|有|都|也|就|还|再|才|用|对|从|到|为|很|最|谁|几|该|得|着|过|这|那|里|时`)

var hanKept = pattern.New(`^(?:目的|了解|和平|和谐|共和|总和|参与|涉及|普及|及时|自我|是非|不了解|公里|里程)$`)

// parse takes a question apart.
func parse(text string) question {
	var q question
	text = strings.ToValidUTF8(text, " ")
	content := hanStop.ReplaceAllStringFunc(text, func(s string) string {
		if hanKept.MatchString(s) {
			return s
		}
		return "\x00" // parts what stands around it
	})
	if strings.TrimFunc(content, func(r rune) bool { return r == 0 || !wide(r) }) == "" && strings.IndexFunc(text, wide) >= 0 {
		content = text // a question of nothing but such words is about them
	}
	q.take(content, false)
	if len(q.groups) == 0 {
		q.take(content, true)
	}
	return q
}

func (q *question) take(text string, everything bool) {
	known := map[string]int{}
	last, lastEnd := -1, -1 // the group before, and where it ended
	var chars []struct{ from, unit int }
	how := false
	eachWord(text, func(word string, from, to, _ int) {
		if len(q.groups) == mostGroups {
			return
		}
		r, n := utf8.DecodeRuneInString(word)
		if wide(r) {
			single := n == len(word)
			before, _ := utf8.DecodeLastRuneInString(text[:from])
			if single && wide(before) {
				return // the last of a run
			}
			g, ok := known[word]
			if !ok {
				g = len(q.groups)
				known[word] = g
				q.groups = append(q.groups, group{word: word, terms: hanAlternatives(word), single: single, phrase: lastEnd == from+n && last >= 0})
			}
			last, lastEnd = g, to
			for at := from; at < to; {
				_, n := utf8.DecodeRuneInString(text[at:])
				i := len(chars) - 1
				for i >= 0 && chars[i].from != at {
					i--
				}
				if i < 0 {
					q.units = append(q.units, unit{})
					if !single {
						q.units[len(q.units)-1].char = text[at : at+n]
					}
					chars = append(chars, struct{ from, unit int }{at, len(q.units) - 1})
					i = len(chars) - 1
				}
				u := &q.units[chars[i].unit]
				u.groups = append(u.groups, g)
				at += n
			}
			return
		}
		if before, _ := utf8.DecodeLastRuneInString(text[:from]); letter(before) {
			return // a part of a name, which comes whole too
		} else if after, _ := utf8.DecodeRuneInString(text[to:]); letter(after) {
			return
		}
		lower := fold(word)
		adverb := how // as in how soon, how far
		how = lower == "how"
		if !everything && (stop[lower] || lower == "") {
			return
		}
		t := stem(lower)
		if _, ok := known[t]; ok || t == "" {
			return
		}
		g := group{word: word, terms: alternatives(lower, t), common: !everything && (common[lower] || adverb || len(lower) == 1), phrase: last >= 0 && strings.TrimSpace(text[min(lastEnd, from):from]) == ""}
		known[t] = len(q.groups)
		last, lastEnd = len(q.groups), to
		q.units = append(q.units, unit{groups: []int{len(q.groups)}})
		q.groups = append(q.groups, g)
	})
}

func letter(r rune) bool {
	return !wide(r) && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// alternatives are a word's term and those of its synonyms.
func alternatives(word, t string) []alternative {
	out := []alternative{{t, 1}}
	seen := map[string]bool{t: true}
	for _, s := range synonyms[t] {
		if !seen[s] {
			seen[s] = true
			out = append(out, alternative{s, synonymWeight})
		}
	}
	return out
}

func hanAlternatives(pair string) []alternative {
	out := []alternative{{pair, 1}}
	for _, s := range synonyms[pair] {
		out = append(out, alternative{s, synonymWeight})
	}
	return out
}
