package research

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
)

// Doubt is a citation that its passage does not bear out.
type Doubt struct {
	Numbers []int  `json:"numbers"`
	Claim   string `json:"claim"`
	Reason  Reason `json:"reason"`
	Detail  string `json:"detail,omitempty"` // the number, name or quotation that is not there
}

// Reason says what is wrong with a citation.
type Reason string

const (
	NoSource  Reason = "no_source" // nothing was read under this number
	NotQuoted Reason = "not_quoted"
	NoNumber  Reason = "no_number"
	NoName    Reason = "no_name"
	OffTopic  Reason = "off_topic" // the two have few words in common
	Opposite  Reason = "opposite"  // one of the two denies what the other says
	NotSaid   Reason = "not_said"  // a model does not find it there, and says why
)

// in says a reason in a language.
func (r Reason) in(zh bool, detail string) string {
	text := map[Reason][2]string{
		NoSource:  {"nothing was read under this number", "没有读过这个编号的资料"},
		NotQuoted: {"the source does not have these words", "来源中没有这段原文"},
		NoNumber:  {"the source does not have the number " + detail, "来源中没有数字 " + detail},
		NoName:    {"the source does not mention " + detail, "来源没有提到 " + detail},
		OffTopic:  {"the source speaks of something else", "来源讲的是另一件事"},
		Opposite:  {"the source seems to say the opposite", "来源的说法似乎相反"},
		NotSaid:   {"a model does not find it in the source: " + detail, "模型没有在来源中找到：" + detail},
	}[r]
	if zh {
		return text[1]
	}
	return text[0]
}

// judge holds claims against passages. It compares words and cannot understand either: it finds what is not there, and
// trusts what is.
type judge struct {
	look  func(int) (Source, bool)
	given map[string]bool // words and numbers of the question, which a claim may use without a source
	read  map[int]*evidence
}

// evidence is a passage, taken apart.
type evidence struct {
	text    string // without markup, in small letters
	keys    map[string]bool
	numbers map[string]bool
	// sentences of the passage, with their words
	sentences []map[string]bool
	denials   []bool
}

func newJudge(question string, look func(int) (Source, bool)) *judge {
	given := prose.Keys(question)
	for n := range numbersIn(question) {
		given[n] = true
	}
	return &judge{look, given, map[int]*evidence{}}
}

func (j *judge) evidence(n int) *evidence {
	if e, ok := j.read[n]; ok {
		return e
	}
	var e *evidence
	if src, ok := j.look(n); ok {
		e = evidenceOf(src.Title + "\n" + src.Address + "\n" + item.JoinText(src.Content) + "\n" + src.Passage())
		for _, s := range prose.Sentences(src.Passage()) {
			e.sentences = append(e.sentences, contentKeys(plain(s)))
			e.denials = append(e.denials, denies(s))
		}
	}
	j.read[n] = e
	return e
}

func evidenceOf(text string) *evidence {
	text = plain(text)
	return &evidence{text: squeeze(text), keys: prose.Keys(text), numbers: numbersIn(text)}
}

// How many of a claim's words must be in all of its sources together, and in each of them.
const (
	sharedByAll  = 0.5
	sharedByEach = 0.2
	nearlySame   = 0.85 // words of a claim in one sentence, from which on the two must not deny each other
)

// judge returns what is wrong with a group of citations behind one claim.
func (j *judge) judge(claim string, group []int) []Doubt {
	var found []Doubt
	var missing, there []int
	var all []*evidence
	for _, n := range group {
		if e := j.evidence(n); e != nil {
			there, all = append(there, n), append(all, e)
		} else {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		found = append(found, Doubt{missing, claim, NoSource, ""})
	}
	bare := plain(claim)
	words := contentKeys(bare)
	if len(all) == 0 || len(words) == 0 && len(numbersIn(bare)) == 0 {
		return found
	}
	doubt := func(r Reason, detail string) []Doubt { return append(found, Doubt{there, claim, r, detail}) }
	for _, q := range quotedIn(claim) {
		if !anyOf(all, func(e *evidence) bool { return strings.Contains(e.text, q) }) {
			return doubt(NotQuoted, q)
		}
	}
	for _, n := range sorted(numbersIn(bare)) {
		if !j.given[n] && !anyOf(all, func(e *evidence) bool { return e.numbers[n] }) {
			return doubt(NoNumber, n)
		}
	}
	// A translation shares neither words nor names with what it translates.
	if prose.Chinese(bare) != anyOf(all, func(e *evidence) bool { return prose.Chinese(e.text) }) && len(words) > 0 {
		return found
	}
	for _, name := range namesIn(claim) {
		parts := prose.Keys(name)
		if !j.knows(all, parts) {
			return doubt(NoName, name)
		}
	}
	union := map[string]bool{}
	for i, e := range all {
		shared := share(words, func(k string) bool { return e.keys[k] })
		if len(all) > 1 && shared < sharedByEach {
			found = append(found, Doubt{there[i : i+1], claim, OffTopic, ""})
		}
		for k := range e.keys {
			union[k] = true
		}
	}
	if share(words, func(k string) bool { return union[k] }) < sharedByAll {
		return doubt(OffTopic, "")
	}
	if j.denied(bare, words, all) {
		return doubt(Opposite, "")
	}
	return found
}

// sure reports that a claim which nothing is wrong with is borne out by words alone: a quotation makes up most of it, or a sentence
// of one of its passages says nearly the same.
func (j *judge) sure(claim string, group []int) bool {
	words := contentKeys(plain(claim))
	quoted := prose.Keys(strings.Join(quotedIn(claim), " "))
	if share(words, func(k string) bool { return quoted[k] }) >= nearlySame {
		return true
	}
	for _, n := range group {
		e := j.evidence(n)
		if e == nil {
			continue
		}
		for i, s := range e.sentences {
			if e.denials[i] == denies(plain(claim)) && share(words, func(k string) bool { return s[k] }) >= nearlySame {
				return true
			}
		}
	}
	return false
}

// knows reports that all parts of a name are in a source, or in the question.
func (j *judge) knows(all []*evidence, parts map[string]bool) bool {
	for k := range parts {
		if !j.given[k] && !anyOf(all, func(e *evidence) bool { return e.keys[k] }) {
			return false
		}
	}
	return true
}

// denied reports that a source has nearly the same sentence, which says yes where the claim says no, or the reverse.
func (j *judge) denied(claim string, words map[string]bool, all []*evidence) bool {
	if len(words) < 4 {
		return false
	}
	says, against := denies(claim), false
	for _, e := range all {
		for i, s := range e.sentences {
			if share(words, func(k string) bool { return s[k] }) < nearlySame || share(s, func(k string) bool { return words[k] }) < 0.7 {
				continue
			}
			if e.denials[i] == says {
				return false
			}
			against = true
		}
	}
	return against
}

var denial = pattern.New(`(?i)\b(?:not|no|never|none|nothing|neither|nor|cannot|without|\w+n['’]t)\b|不|没|無|无|非|未|别`)

func denies(sentence string) bool { return denial.MatchString(sentence) }

// contentKeys are the words of a text that carry its meaning.
func contentKeys(text string) map[string]bool {
	keys := prose.Keys(strings.Join(prose.Content(text), " "))
	for k := range keys {
		if number.MatchString(k) && number.FindString(k) == k {
			delete(keys, k) // they are looked at by themselves
		}
	}
	return keys
}

// share is the part of a set of which something is true.
func share(set map[string]bool, is func(string) bool) float64 {
	if len(set) == 0 {
		return 1
	}
	n := 0
	for k := range set {
		if is(k) {
			n++
		}
	}
	return float64(n) / float64(len(set))
}

func anyOf(all []*evidence, is func(*evidence) bool) bool { return slices.ContainsFunc(all, is) }

func sorted(set map[string]bool) []string {
	var list []string
	for k := range set {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

var (
	link   = pattern.New(`!?\[([^\]^][^\]]*)\]\([^)]*\)`)
	spaces = pattern.New(`\s+`)
)

// plain is a text without the markup that says nothing.
func plain(text string) string {
	text = link.ReplaceAllString(text, "$1")
	return strings.NewReplacer("**", "", "__", "", "`", "", "*", "").Replace(text)
}

// squeeze makes texts alike that differ in spaces, letters' size and the shape of quotation marks.
func squeeze(text string) string {
	text = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "「", `"`, "」", `"`).Replace(text)
	return strings.TrimSpace(spaces.ReplaceAllString(strings.ToLower(text), " "))
}

var quotation = pattern.New(`“([^“”]+)”|「([^「」]+)」|『([^『』]+)』|(?:^|[\s(])"([^"]+)"`)

// quotedIn are the quotations of a claim, in pieces where something is left out, as evidence has them. A word or two
// between quotation marks is a manner of speaking.
func quotedIn(claim string) []string {
	var out []string
	for _, m := range quotation.FindAllStringSubmatch(claim, -1) {
		whole := strings.Join(m[1:], "")
		for _, piece := range regexp.MustCompile(`\s*(?:…|\.\.\.|\[…\]|\[\.\.\.\])\s*`).Split(plain(whole), -1) {
			piece = strings.TrimRight(squeeze(piece), " .,;:。，；：!?！？")
			if len(strings.Fields(piece)) >= 3 || prose.Chinese(piece) && len([]rune(piece)) >= 6 {
				out = append(out, piece)
			}
		}
	}
	return out
}

var (
	number  = pattern.New(`[0-9]+(?:[.,][0-9]+)*`)
	ordinal = pattern.New(`^\s*[0-9]+[.)]\s`)
	spelled = map[string]string{
		"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
		"twice": "2", "hundred": "100", "thousand": "1000", "million": "1000000",
	}
	word = pattern.New(`[a-z]+`)
)

// numbersIn are the numbers of a text, spelled in one way. The number of an item of a list is none of them.
func numbersIn(text string) map[string]bool {
	out := map[string]bool{}
	text = ordinal.ReplaceAllString(text, "")
	for _, n := range number.FindAllString(text, -1) {
		out[canonical(n)] = true
	}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		if n, ok := spelled[w]; ok {
			out[n] = true
		}
	}
	return out
}

// canonical takes the separators of thousands out of a number: 1,000 is 1000, and 3,5 is 3.5.
func canonical(n string) string {
	parts := strings.Split(n, ",")
	for i, p := range parts[1:] {
		if whole, _, _ := strings.Cut(p, "."); len(whole) != 3 || i < len(parts)-2 && len(p) != 3 {
			n = strings.Join(parts, ".")
			break
		}
		if i == len(parts)-2 {
			n = strings.Join(parts, "")
		}
	}
	if strings.Count(n, ".") == 1 && strings.HasSuffix(n, ".0") {
		n = strings.TrimSuffix(n, ".0")
	}
	return n
}

var label = pattern.New(`^\s*(?:[-*+>]\s+)*\*\*[^*]+\*\*\s*[:：.]?\s*`)

// namesIn are the words of a claim that are names by how they are written: with a capital inside a sentence, with
// several, or as code.
func namesIn(claim string) []string {
	claim = label.ReplaceAllString(claim, "")
	var out []string
	begins := true // a sentence, where every word has a capital
	for field := range strings.FieldsSeq(plain(claim)) {
		w := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if quoted := strings.HasPrefix(field, "“") || strings.HasPrefix(field, `"`); quoted {
			begins = true
		}
		if w != "" {
			if isName(w, begins) {
				out = append(out, w)
			}
			begins = strings.ContainsAny(field[len(field)-1:], ".:!?") || strings.HasSuffix(field, "—") || strings.HasSuffix(field, "：")
		}
	}
	return out
}

// isName tells a name from another word. At the beginning of a sentence only one with several capitals is.
func isName(w string, begins bool) bool {
	capitals, letters := 0, 0
	first := rune(0)
	for i, r := range w {
		if i == 0 {
			first = r
		}
		if r < unicode.MaxASCII && unicode.IsLetter(r) {
			letters++
			if unicode.IsUpper(r) {
				capitals++
			}
		}
	}
	if letters < 2 {
		return false
	}
	return capitals > 1 || !begins && unicode.IsUpper(first)
}
