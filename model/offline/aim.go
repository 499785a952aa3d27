package offline

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
)

// What a sentence must have of a question to answer it. The numbers were found on the questions of internal/eval and on documents that others
// wrote; TestAReportQuotesWhatIsAskedForAndNothingElse holds what they must do.
const (
	within  = 16  // words of a sentence that stand together
	aside   = 0.6 // worth of a word in the sentence before or after, or in another part of a long sentence
	above   = 0.8 // of one in the title or in a heading above the passage
	farther = 0.3 // of one elsewhere in the passage
	minor   = 0.3 // of a word that questions are full of, beside others
	lent    = 0.5 // of a word that a part of a question has from the whole

	least    = 0.48 // of the question that a sentence covers, with what stands around it
	leastOwn = 0.33 // of the question that it covers by itself
	leastBy  = 0.25 // of the same, beside a sentence that has most of the question
	most     = 0.6  // which is so much, as is what a sentence has with what stands around it
	nearBest = 0.75 // of what the best sentence covers

	enough     = 5 // sentences, up to which others are taken too that have so much of the question by themselves:
	nearlyHalf = 0.45
)

// minorWords are what questions are full of, and documents too.
var minorWords = wordSet(`happen happens happened happening work works working take takes taken put come comes become call called keep keeps try help see set
way ways thing things something anything everything someone anyone people person user users kind sort type lot part parts
able possible best good better right new first last next different difference certain own one two
time times long often still already ever never always usually really exactly allow allowed supposed actually any instead begin begins decide decides
happens cause causes during example large big small much high`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[prose.Stem(w)] = true
	}
	return set
}

// aim is what a question asks for, in keys of words, with what each is worth among the passages that were read.
type aim struct {
	keys   []string
	weight []float64
	all    float64
	own    int // the first keys, which are not lent
}

// line is a sentence of a passage, and where words of the question stand in it.
type line struct {
	quote
	position int   // among the sentences of its passage
	at       []int // by key of the aim: the place of the word in the sentence, or -1
}

// newAim weighs the words of a question by how rare they are in what was read. One that stands nowhere weighs as much as others do: what
// answers only the rest of a question covers less of it.
// The first own of the keys are the question's own, and the others are lent to it.
func newAim(lines []line, keys []string, own int) aim {
	a := aim{keys: keys, weight: make([]float64, len(keys)), own: own}
	lightest := slices.IndexFunc(keys, func(k string) bool { return !minorWords[k] }) < 0 // there are no others
	sum, read := 0.0, 0
	for i := range keys {
		n := 0
		for _, l := range lines {
			if l.at[i] >= 0 {
				n++
			}
		}
		if n > 0 {
			a.weight[i] = 1 + math.Log(float64(len(lines))/float64(n))/2
			sum, read = sum+a.weight[i], read+1
		}
	}
	for i, k := range keys {
		if a.weight[i] == 0 {
			a.weight[i] = max(1, sum/float64(max(read, 1)))
		}
		if minorWords[k] && !lightest {
			a.weight[i] *= minor
		}
		if i >= own {
			a.weight[i] *= lent
		}
		a.all += a.weight[i]
	}
	return a
}

// weighty counts the words of a question that are not minor: all of them, or those that stand in a sentence or in the headings above it.
func (a aim) weighty(at []int, head []bool) int {
	n := 0
	for i, k := range a.keys {
		if i < a.own && !minorWords[k] && (at == nil || at[i] >= 0 || head != nil && head[i]) {
			n++
		}
	}
	return n
}

// covers is how much of the question a sentence has by itself, and with what stands around it.
func (a aim) covers(l line, passage []line, head []bool) (own, with float64) {
	if a.all == 0 {
		return 0, 0
	}
	credit := make([]float64, len(a.keys))
	give := func(i int, worth float64) { credit[i] = max(credit[i], worth) }
	for i := range a.keys {
		if head[i] {
			give(i, above)
		}
	}
	for _, other := range passage {
		for i, at := range other.at {
			if at < 0 {
				continue
			}
			if d := other.position - l.position; d >= -1 && d <= 1 {
				give(i, aside)
			} else {
				give(i, farther)
			}
		}
	}
	// Of a long sentence the stretch counts that has the most.
	best, from := 0.0, -1
	for _, start := range l.at {
		if start < 0 {
			continue
		}
		sum := 0.0
		for i, at := range l.at {
			if at >= start && at < start+within {
				sum += a.weight[i]
			}
		}
		if sum > best {
			best, from = sum, start
		}
	}
	if from >= 0 {
		for i, at := range l.at {
			if at >= from && at < from+within {
				give(i, 1)
			}
		}
	}
	sum := 0.0
	for i, c := range credit {
		sum += c * a.weight[i]
	}
	return best / a.all, sum / a.all
}

// keysOf are the keys of the words of a question, in order. Where two Chinese words meet there is a pair that is no word: it is left out if no
// passage has it, and its characters are in pairs that some have.
func keysOf(about []string, read map[string]bool) []string {
	var out []string
	for _, w := range about {
		pairs := slices.Sorted(func(yield func(string) bool) {
			for k := range prose.Keys(w) {
				if !yield(k) {
					return
				}
			}
		})
		known := func(r rune) bool {
			return slices.ContainsFunc(pairs, func(k string) bool { return read[k] && strings.ContainsRune(k, r) })
		}
		for _, k := range pairs {
			if prose.Chinese(k) && !read[k] && strings.IndexFunc(k, func(r rune) bool { return !known(r) }) < 0 {
				continue
			}
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// joined are the keys with those in place of a word that passages write as one with the next: back off is backoff.
func joined(question string, keys []string, read map[string]bool) []string {
	words := prose.Words(question)
	for i := range len(words) - 1 {
		one := prose.Stem(words[i] + words[i+1])
		at := slices.Index(keys, prose.Stem(words[i]))
		if at >= 0 && read[one] && !slices.Contains(keys, one) {
			keys[at] = one
		}
	}
	return keys
}

// linesOf are the sentences of all passages, and by passage which words stand in its headings.
func linesOf(found []passage, keys []string) (lines [][]line, heads [][]bool) {
	same := kinOf(keys)
	for n, p := range found {
		head := make([]bool, len(keys))
		for i, at := range placesOf(headingOf(p.source), keys, same) {
			head[i] = at >= 0
		}
		var list []line
		for i, s := range prose.Sentences(p.text) {
			whole := withWhatItPointsAt(s, list, p.text)
			list = append(list, line{quote{whole, n, prose.Keys(whole)}, i, placesOf(s, keys, same)})
		}
		lines, heads = append(lines, list), append(heads, head)
	}
	return lines, heads
}

// placesOf tells where in a text the words of a question first stand, under any form.
func placesOf(text string, keys []string, same func(word string) int) []int {
	at := make([]int, len(keys))
	for i := range at {
		at[i] = -1
	}
	for place, w := range prose.Words(text) {
		for k := range prose.Keys(w) {
			if i := same(k); i >= 0 && at[i] < 0 {
				at[i] = place
			}
		}
		for part := range strings.FieldsSeq(strings.ReplaceAll(w, "_", " ")) { // of a name
			if i := same(prose.Stem(part)); i >= 0 && at[i] < 0 {
				at[i] = place
			}
		}
	}
	return at
}

// endings make another word of the same meaning, near enough.
var endings = []string{"er", "or", "ion", "ation", "ment", "abl", "ibl", "al", "ance", "ence", "anc", "enc", "iv", "ness", "ful", "li", "ure", "ur", "ag", "ed", "ing", "t", "n", "i", "ib", "ition"}

// kinOf tells which of the keys a word is a form of, or -1: confine and confinement, encode and encoder.
func kinOf(keys []string) func(word string) int {
	known := map[string]int{}
	return func(word string) int {
		if i, ok := known[word]; ok {
			return i
		}
		i := slices.IndexFunc(keys, func(k string) bool { return k == word || kin(k, word) })
		known[word] = i
		return i
	}
}

func kin(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	const longEnough = 4 // a stem that says something
	if len(a) < longEnough || a[0] >= utf8.RuneSelf {
		return false
	}
	rest, ok := strings.CutPrefix(b, a)
	if !ok { // decide, decision
		n := len(a) - 1
		return n > longEnough && strings.HasPrefix(b, a[:n]) && slices.Contains([]string{"ion", "sion", "ition"}, b[n:])
	}
	return slices.Contains(endings, rest) && (len(a) > longEnough || rest != "er" && rest != "or") // who reads a stream is not what is read
}

// answering are the sentences that answer a question, the best first.
func answering(found []passage, q asking) (chosen []answer) {
	read := map[string]bool{}
	for _, p := range found {
		for k := range prose.Keys(p.source + "\n" + p.text) {
			read[k] = true
		}
	}
	keys := joined(q.text, keysOf(q.about, read), read)
	own := len(keys)
	for _, k := range keysOf(q.context, read) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	lines, heads := linesOf(found, keys)
	a := newAim(slices.Concat(lines...), keys, own)
	names := named(q.text, slices.Concat(q.about, q.context))
	weighty := a.weighty(nil, nil)
	best := 0.0
	seen := map[string]bool{}
	for n, list := range lines {
		if !speaksOf(names, keys, list, heads[n]) {
			continue
		}
		needs := leastOwn
		for _, l := range list {
			if own, _ := a.covers(l, list, heads[n]); own >= most {
				needs = leastBy
			}
		}
		for _, l := range list {
			if seen[l.text] || !quotable(l.text) || !whole(l.text) || dangling(l.text) {
				continue
			}
			seen[l.text] = true
			own, with := a.covers(l, list, heads[n])
			if own < leastBy || own < needs && with < most || with < least || weighty < 3 && !compares.MatchString(q.text) && a.weighty(l.at, heads[n]) < weighty {
				continue
			}
			best = max(best, with)
			chosen = append(chosen, answer{quote: l.quote, own: own, with: with, words: a.weighty(l.at, nil), score: with + 0.5*own - lengthy(l.text)})
		}
	}
	// What is far behind the best is left out, unless there is little else and it has the words of the question itself.
	near := slices.DeleteFunc(slices.Clone(chosen), func(c answer) bool { return c.with < nearBest*best })
	few := len(near) < enough
	chosen = slices.DeleteFunc(chosen, func(c answer) bool {
		return c.with < nearBest*best && !(few && c.own >= nearlyHalf && c.words > 1)
	})
	slices.SortStableFunc(chosen, func(x, y answer) int {
		switch {
		case x.score > y.score:
			return -1
		case x.score < y.score:
			return 1
		}
		return 0
	})
	return chosen
}

// compares finds questions about two things that may be told of one by one.
var compares = pattern.New(`(?i)\b(?:difference|differ|differs|compare|compared|versus|vs)\b|区别|不同|比较`)

// speaksOf reports that a passage has all names that are asked for, in its text or above it.
func speaksOf(names map[string]bool, keys []string, list []line, head []bool) bool {
	for i, k := range keys {
		if names[k] && !head[i] && !slices.ContainsFunc(list, func(l line) bool { return l.at[i] >= 0 }) {
			return false
		}
	}
	return true
}

// answer is a sentence that answers a question, and how well.
type answer struct {
	quote
	own, with, score float64
	words            int // weighty ones of the question that it has itself
}

// named are the words of a question that are names: what does not speak of them answers something else.
func named(question string, about []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range about {
		rest := strings.TrimFunc(w, func(r rune) bool { return unicode.IsLower(r) })
		begins := strings.HasPrefix(strings.TrimSpace(question), w)
		if rest != "" && !prose.Chinese(w) && (!begins || strings.ContainsAny(w[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")) {
			out[prose.Stem(w)] = true
		}
	}
	return out
}
