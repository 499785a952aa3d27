package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
)

const (
	inShort     = 3 // quotations that answer the question at the top
	inSection   = 4 // quotations in each section
	ofDocument  = 6 // of one document
	mostChapter = 6 // sections

	sameSaying = 0.7 // of its words in another sentence, from which on a sentence repeats it
)

var cited = pattern.New(`\[\^([0-9]+)\]`)

// writeReport makes a report out of quotations: first those that fit the question best, then the others, by the parts of the question or by
// document and each once, then what contradicts each other, and what was not found.
func writeReport(task string) string {
	question, _ := onePart(task, "question")
	zh := prose.Chinese(question)
	text, _ := onePart(task, "passages")
	found, _ := passages(item.Text(text))
	r := &extract{zh: zh, question: question, found: found}
	title := question
	if t, ok := onePart(task, "title"); ok && t != "" {
		title = t
	}
	fmt.Fprintf(&r.b, "# %s\n\n", strings.Join(strings.Fields(title), " "))
	r.b.WriteString(pick(zh,
		"> 本报告没有使用语言模型：程序按词语检索文档，并逐字摘录。引号内的每句话都出自其后编号所指的段落。\n",
		"> No language model was used for this report. A program searched the documents by words and copied sentences out of them: each one between quotation marks stands word for word in the passage whose number follows it.\n"))

	asked := asksOf(question)
	answers := make([][]answer, len(asked))
	var best []answer
	for i, q := range asked {
		answers[i] = answering(found, q)
		best = append(best, r.take(&answers[i], (inShort+len(asked)-1)/len(asked))...)
	}
	if len(best) > 0 {
		r.section(pick(zh, "要点", "In short"), best)
	}
	for i, q := range asked {
		if len(asked) == 1 {
			r.byDocument(answers[i])
		} else if list := r.take(&answers[i], inSection); len(list) > 0 {
			r.section(q.text, list)
		}
	}
	r.conflicts(parts(task, "conflict"))
	r.missing(r.fruitless(task), parts(task, "failed"))
	return r.b.String()
}

// fruitless are the steps that cite nothing.
func (r *extract) fruitless(task string) []string {
	var out []string
	for _, f := range parts(task, "finding") {
		cites := slices.ContainsFunc(cited.FindAllStringSubmatch(f.text, -1), func(m []string) bool {
			return slices.ContainsFunc(r.found, func(p passage) bool { return strconv.Itoa(p.ref) == m[1] })
		})
		if !cites && f.title != r.question {
			out = append(out, f.title)
		}
	}
	return out
}

// byDocument writes a section for each document, that with the best answer first.
func (r *extract) byDocument(all []answer) {
	for len(all) > 0 && r.sections < mostChapter {
		where := placeOf(r.found[all[0].passage])
		of := slices.DeleteFunc(slices.Clone(all), func(a answer) bool { return placeOf(r.found[a.passage]) != where })
		all = slices.DeleteFunc(all, func(a answer) bool { return placeOf(r.found[a.passage]) == where })
		if list := r.take(&of, inSection); len(list) > 0 {
			r.section(r.heading(list, where), list)
		}
	}
}

// extract is a report while it is written.
type extract struct {
	b        strings.Builder
	zh       bool
	question string
	found    []passage
	used     []map[string]bool // the words of what was quoted
	taken    map[string]int    // quotations by document
	sections int
}

// placeOf is the file or page that a passage is from.
func placeOf(p passage) string {
	where := strings.Trim(place.FindString(p.source), " ()")
	where, _, _ = strings.Cut(where, ", ") // what follows is the line or the page, and who wrote it
	where, _, _ = strings.Cut(where, "#")
	return where
}

// heading is where the quotations of a document stand: under one of its headings, or under several.
func (r *extract) heading(list []answer, where string) string {
	heading := headingOf(r.found[list[0].passage].source)
	for _, q := range list {
		if headingOf(r.found[q.passage].source) != heading {
			heading, _, _ = strings.Cut(heading, " › ")
			break
		}
	}
	if heading == "" {
		return where
	}
	return heading
}

// take chooses the best that say what was not said yet, and leaves the others.
func (r *extract) take(from *[]answer, most int) []answer {
	var out, rest []answer
	perPassage := map[int]int{}
	for _, a := range *from {
		where := placeOf(r.found[a.passage])
		if strings.Contains(a.text, " | ") || strings.Contains(a.text, r.question) || r.taken[where] >= ofDocument {
			continue // a row says little without its table, and who asks the question does not answer it
		}
		ks := prose.Keys(strings.Join(prose.Content(a.text), " "))
		if slices.ContainsFunc(r.used, func(u map[string]bool) bool { return overlap(ks, u) > sameSaying }) {
			continue
		}
		if len(out) == most || perPassage[a.passage] == mostPerPassage+most/inSection {
			rest = append(rest, a)
			continue
		}
		if r.taken == nil {
			r.taken = map[string]int{}
		}
		r.taken[where]++
		perPassage[a.passage]++
		r.used = append(r.used, ks)
		out = append(out, a)
	}
	*from = rest
	return out
}

// section writes quotations under a heading, those of one passage together.
func (r *extract) section(heading string, list []answer) {
	r.sections++
	fmt.Fprintf(&r.b, "\n## %s\n\n", heading)
	first := func(a answer) int {
		return slices.IndexFunc(list, func(b answer) bool { return a.passage == b.passage })
	}
	ordered := slices.Clone(list)
	slices.SortStableFunc(ordered, func(a, b answer) int {
		if d := first(a) - first(b); d != 0 {
			return d
		}
		text := r.found[a.passage].text
		return strings.Index(text, a.text) - strings.Index(text, b.text)
	})
	for _, q := range ordered {
		fmt.Fprintf(&r.b, "- “%s” [^%d]\n", q.text, r.found[q.passage].ref)
	}
}

func (r *extract) conflicts(list []part) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(&r.b, "\n## %s\n", pick(r.zh, "来源之间的矛盾", "Where the sources disagree"))
	for _, c := range list {
		b := strings.ReplaceAll(c.text, "\n", pick(r.zh, " 而另一处：", " But elsewhere: "))
		fmt.Fprintf(&r.b, "\n- %s\n", b)
	}
}

// missing says what was looked for in vain.
func (r *extract) missing(empty []string, failures []part) {
	var lines []string
	for _, f := range failures {
		lines = append(lines, fmt.Sprintf("%s (%s)", f.title, f.text))
	}
	all := map[string]bool{}
	for _, p := range r.found {
		for k := range prose.Keys(p.source + "\n" + p.text) {
			all[k] = true
		}
	}
	var words []string
	for _, w := range prose.Content(r.question) {
		has := true
		for k := range prose.Keys(w) {
			has = has && all[k]
		}
		if !has && !minorWords[prose.Stem(w)] {
			words = append(words, w)
		}
	}
	gone := prose.Keys(strings.Join(words, " "))
	for _, e := range empty { // one that looked for these words is told of with them
		if len(words) == 0 || overlap(prose.Keys(strings.Join(prose.Content(e), " ")), gone) < 1 {
			lines = append(lines, e)
		}
	}
	if len(lines) == 0 && len(words) == 0 && r.sections > 0 {
		return
	}
	fmt.Fprintf(&r.b, "\n## %s\n\n", pick(r.zh, "资料中未找到", "Not found in the sources"))
	if r.sections == 0 {
		r.b.WriteString(pick(r.zh, "资料中没有能回答这个问题的句子。\n\n", "No sentence of the documents answers the question.\n\n"))
		if near := r.nearest(); near != "" {
			fmt.Fprintf(&r.b, "- %s\n", near)
		}
	}
	if len(words) > 0 {
		fmt.Fprintf(&r.b, "- %s\n", pick(r.zh, "没有段落提到"+hanList(words)+"。", "No passage that was read mentions "+list(words)+"."))
	}
	for _, l := range lines {
		fmt.Fprintf(&r.b, "- %s\n", strings.Join(strings.Fields(l), " "))
	}
}

// nearest names what was read that comes nearest to the question, for those who want to look for themselves.
func (r *extract) nearest() string {
	var names []string
	for _, p := range r.found {
		if h := headingOf(p.source); h != "" && len(names) < 3 && !slices.Contains(names, h) {
			names = append(names, h)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return pick(r.zh, "最接近的段落在："+strings.Join(names, "；")+"。", "What comes nearest to it stands under: "+strings.Join(names, "; ")+".")
}
