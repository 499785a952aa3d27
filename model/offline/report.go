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
	inShort   = 3 // quotations that answer the question at the top
	inSection = 4 // quotations in each section

	mostSections = 8
	enough       = 6   // quotations, from which on those that hardly fit are left out
	sameSaying   = 0.7 // of its words in another sentence, from which on a sentence repeats it
)

var cited = pattern.New(`\[\^([0-9]+)\]`)

// writeReport makes a report out of quotations: first those that fit the question best, then those that each step found, by
// subject and each once, then what contradicts each other, and what was not found.
func writeReport(task string) string {
	question, _ := onePart(task, "question")
	zh := prose.Chinese(question)
	text, _ := onePart(task, "passages")
	found, _ := passages(item.Text(text))
	byNumber := map[int]passage{}
	for _, p := range found {
		byNumber[p.ref] = p
	}
	about := prose.Content(question)
	r := &extract{zh: zh, question: question, least: 1, scale: newScale(found, about)}
	title := question
	if t, ok := onePart(task, "title"); ok && t != "" {
		title = t
	}
	fmt.Fprintf(&r.b, "# %s\n\n", strings.Join(strings.Fields(title), " "))
	r.b.WriteString(pick(zh,
		"> 本报告没有使用语言模型：程序按词语检索文档，并逐字摘录。引号内的每句话都出自其后编号所指的段落。\n",
		"> No language model was used for this report. A program searched the documents by words and copied sentences out of them: each one between quotation marks stands word for word in the passage whose number follows it.\n"))

	if best := r.quotes(found, about, inShort); len(best) > 0 {
		r.section(pick(zh, "要点", "In short"), best, found)
	}
	var empty []string
	var documents []document
	for _, f := range parts(task, "finding") {
		any := false
		for _, m := range cited.FindAllStringSubmatch(f.text, -1) {
			n, _ := strconv.Atoi(m[1])
			if p, ok := byNumber[n]; ok {
				documents, any = shelve(documents, p), true
			}
		}
		if !any && f.title != question {
			empty = append(empty, f.title)
		}
	}
	// What has one word in common with the question is mostly about something else. It is better than nothing, and no more.
	done := map[string]bool{}
	for _, r.least = range []int{min(2, (len(r.scale.wanted)+1)/2), 1} {
		for _, d := range documents {
			if r.scale.vague() || len(r.headings) > mostSections || done[d.place] || r.least == 1 && len(r.used) >= enough {
				continue
			}
			if list := r.quotes(d.passages, about, inSection); len(list) > 0 {
				done[d.place] = true
				r.section(d.heading(list), list, d.passages)
			}
		}
	}
	r.conflicts(parts(task, "conflict"))
	r.missing(empty, parts(task, "failed"), found)
	return r.b.String()
}

// extract is a report while it is written.
type extract struct {
	b        strings.Builder
	zh       bool
	question string
	used     []map[string]bool // the words of what was quoted
	least    int               // words of the question that a quotation must have
	scale    scale
	headings []string
}

// document is what was read of one file or page.
type document struct {
	place    string
	passages []passage
}

// shelve puts a passage to those of its document.
func shelve(all []document, p passage) []document {
	where := strings.Trim(place.FindString(p.source), " ()")
	if i := strings.LastIndex(where, ", "); i >= 0 {
		where = where[:i] // the line or the page
	}
	where, _, _ = strings.Cut(where, "#")
	for i := range all {
		if all[i].place == where {
			if !slices.Contains(all[i].passages, p) {
				all[i].passages = append(all[i].passages, p)
			}
			return all
		}
	}
	return append(all, document{where, []passage{p}})
}

// heading is where the quotations of a document stand: under one of its headings, or under several.
func (d document) heading(quotes []quote) string {
	heading := headingOf(d.passages[quotes[0].passage].source)
	for _, q := range quotes {
		if headingOf(d.passages[q.passage].source) != heading {
			heading, _, _ = strings.Cut(heading, " › ")
			break
		}
	}
	if heading == "" {
		return d.place
	}
	return heading
}

// quotes chooses sentences that say what was not said yet.
func (r *extract) quotes(from []passage, about []string, most int) []quote {
	var out []quote
	// Several times as many are chosen as are wanted, since many repeat each other.
	for _, q := range chooseMost(from, about, "", r.question, 3*most) {
		if strings.Contains(q.text, " | ") || strings.Contains(q.text, r.question) {
			continue // a row says little without its table, and who asks the question does not answer it
		}
		if shared, worth := r.scale.weigh(q.keys); shared < r.least || worth < nearBest*r.scale.best {
			continue // it is about something else
		}
		ks := prose.Keys(strings.Join(prose.Content(q.text), " "))
		if len(out) == most || slices.ContainsFunc(r.used, func(u map[string]bool) bool { return overlap(ks, u) > sameSaying }) {
			continue
		}
		r.used = append(r.used, ks)
		out = append(out, q)
	}
	return out
}

// section writes quotations under a heading, those of one passage together.
func (r *extract) section(heading string, quotes []quote, from []passage) {
	r.headings = append(r.headings, heading)
	fmt.Fprintf(&r.b, "\n## %s\n\n", heading)
	slices.SortStableFunc(quotes, func(a, b quote) int {
		return firstOf(quotes, a.passage) - firstOf(quotes, b.passage)
	})
	for _, q := range quotes {
		fmt.Fprintf(&r.b, "- “%s” [^%d]\n", q.text, from[q.passage].ref)
	}
}

// firstOf is where a passage is first quoted.
func firstOf(quotes []quote, passage int) int {
	return slices.IndexFunc(quotes, func(q quote) bool { return q.passage == passage })
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
func (r *extract) missing(empty []string, failures []part, found []passage) {
	var lines []string
	for _, f := range failures {
		lines = append(lines, fmt.Sprintf("%s (%s)", f.title, f.text))
	}
	all := map[string]bool{}
	for _, p := range found {
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
		if !has {
			words = append(words, w)
		}
	}
	gone := prose.Keys(strings.Join(words, " "))
	for _, e := range empty { // one that looked for these words is told of with them
		if len(words) == 0 || overlap(prose.Keys(strings.Join(prose.Content(e), " ")), gone) < 1 {
			lines = append(lines, e)
		}
	}
	vague := len(r.headings) > 0 && r.scale.vague()
	if len(lines) == 0 && len(words) == 0 && len(r.headings) > 0 && !vague {
		return
	}
	fmt.Fprintf(&r.b, "\n## %s\n\n", pick(r.zh, "资料中未找到", "Not found in the sources"))
	if len(r.headings) == 0 {
		r.b.WriteString(pick(r.zh, "资料中没有能回答这个问题的句子。\n\n", "No sentence of the documents answers the question.\n\n"))
	}
	if len(words) > 0 {
		fmt.Fprintf(&r.b, "- %s\n", pick(r.zh, "没有段落提到"+hanList(words)+"。", "No passage that was read mentions "+list(words)+"."))
	}
	if vague {
		fmt.Fprintf(&r.b, "- %s\n", pick(r.zh, "没有一句话包含问题中一半以上的词语：上面的引文也许并不回答这个问题。",
			"No sentence has half of the words of the question: what is quoted above may not answer it."))
	}
	for _, l := range lines {
		fmt.Fprintf(&r.b, "- %s\n", strings.Join(strings.Fields(l), " "))
	}
}
