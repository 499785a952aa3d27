package offline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
)

const (
	mostQuotes     = 4
	quotesOfTask   = 14 // what a step of a larger work finds is chosen from once more
	mostPerPassage = 2
	longestQuote   = 360 // runes
	shortestQuote  = 18
	longestReport  = 2000
)

// fromTools answers from what the tools returned since the model last spoke.
func fromTools(conv []item.Message, question string) reply {
	first := len(conv)
	for first > 0 && conv[first-1].Role == item.Tool {
		first--
	}
	about := topic(conv[:first], question)
	var found []passage
	var reports []string
	searched := false
	for _, m := range conv[first:] {
		name := toolName(conv, m)
		ps, loose := passages(m.Content)
		for _, p := range ps {
			if p.ref == 0 || !slices.ContainsFunc(found, func(f passage) bool { return f.ref == p.ref }) { // several may have found the same
				found = append(found, p)
			}
		}
		switch {
		case m.Failed:
			reports = append(reports, failedTool(name, loose, question))
		case name == searchTool || name == "" && len(ps) > 0:
			searched = true
		case len(ps) == 0 || loose != "" && !cites(loose, ps):
			reports = append(reports, toolSaid(name, loose, question))
		default:
			searched = true
		}
	}
	var parts []string
	if searched {
		most := mostQuotes
		if _, task := onePart(lastTold(conv), "question"); task {
			most, found = quotesOfTask, readIn(conv)
		}
		parts = append(parts, compose(found, about, quotedBefore(conv), question, most))
	}
	return reply{text: strings.Join(append(parts, reports...), "\n\n")}
}

// cites reports that a text is an answer out of passages, as another agent gives it: what it says can be quoted from them.
func cites(text string, ps []passage) bool {
	return slices.ContainsFunc(ps, func(p passage) bool { return p.ref > 0 && strings.Contains(text, fmt.Sprintf("[^%d]", p.ref)) })
}

// toolName finds out which tool a message is the result of.
func toolName(conv []item.Message, result item.Message) string {
	for _, m := range slices.Backward(conv) {
		for _, c := range m.ToolCalls {
			if c.CallID == result.CallID && c.CallID != "" {
				return c.Name
			}
		}
	}
	return result.Name
}

func failedTool(name, text, question string) string {
	if prose.Chinese(question) {
		return fmt.Sprintf("工具 %s 失败了：%s", name, clip(text))
	}
	return fmt.Sprintf("The tool %s failed: %s", name, clip(text))
}

func toolSaid(name, text, question string) string {
	if prose.Chinese(question) {
		return fmt.Sprintf("工具 %s 的回答：%s", name, clip(text))
	}
	return fmt.Sprintf("The tool %s answered: %s", name, clip(text))
}

func clip(text string) string {
	if r := []rune(text); len(r) > longestReport {
		return string(r[:longestReport]) + "…"
	}
	return text
}

// quotedBefore is what the model has said in earlier turns, so that "tell me more" brings something new.
func quotedBefore(conv []item.Message) string {
	var b strings.Builder
	for _, m := range conv {
		if m.Role == item.Assistant {
			b.WriteString(m.Text())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// compose writes the answer: a frame sentence, the quotations with their marks, and a closing sentence that
// says what they are.
func compose(found []passage, about []string, before, question string, most int) string {
	quotes := chooseMost(found, about, before, question, most)
	zh := prose.Chinese(question)
	if near := nearest(found, about); len(quotes) == 0 && len(near) > 0 {
		if zh {
			return fmt.Sprintf("文档中与%s有关的段落是 %s，但其中没有我能单独引用的句子。", hanList(about), strings.Join(near, "、"))
		}
		return fmt.Sprintf("The documents speak of %s in %s, though in no sentence that I could quote by itself.", list(about), list(near))
	}
	if len(quotes) == 0 {
		if zh {
			return fmt.Sprintf("我在文档中搜索了%s，没有找到能回答这个问题的内容。", hanList(about))
		}
		return fmt.Sprintf("I searched the documents for %s and found nothing that answers this.", list(about))
	}
	var b strings.Builder
	said, unsaid := mentioned(about, quotes, found)
	if zh {
		fmt.Fprintf(&b, "关于%s，文档中是这样写的：", hanList(said))
	} else {
		fmt.Fprintf(&b, "This is what the documents say about %s.", list(said))
	}
	for _, q := range quotes {
		b.WriteString("\n\n“" + q.text + "”")
		switch p := found[q.passage]; {
		case p.ref > 0:
			fmt.Fprintf(&b, " [^%d]", p.ref)
		case p.source != "":
			fmt.Fprintf(&b, " (%s)", p.source)
		}
	}
	if zh {
		b.WriteString("\n\n以上都是原文引用，我没有添加别的内容。")
		if len(unsaid) > 0 {
			fmt.Fprintf(&b, "关于%s，我没有找到什么。", hanList(unsaid))
		}
	} else {
		b.WriteString("\n\nThese are quotations; I add nothing of my own.")
		if len(unsaid) > 0 {
			fmt.Fprintf(&b, " I found nothing about %s.", list(unsaid))
		}
	}
	return b.String()
}

// mentioned parts the words of a question into those that the passages which are quoted have, in their text or above it, and
// the others: nobody may take a quotation for something about a word that stands nowhere.
func mentioned(about []string, quotes []quote, found []passage) (said, unsaid []string) {
	have := map[string]bool{}
	for _, q := range quotes {
		maps.Copy(have, prose.Keys(found[q.passage].source+"\n"+found[q.passage].text))
	}
	for _, w := range about {
		any := false
		for k := range prose.Keys(w) {
			any = any || have[k]
		}
		if any {
			said = append(said, w)
		} else {
			unsaid = append(unsaid, w)
		}
	}
	return said, unsaid
}

// nearest names up to three passages that share something with the question.
func nearest(found []passage, about []string) []string {
	wanted := prose.Keys(strings.Join(about, " "))
	var out []string
	for _, p := range found {
		shared := false
		for k := range prose.Keys(p.source + "\n" + p.text) {
			shared = shared || wanted[k]
		}
		if shared && p.ref > 0 && len(out) < 3 {
			out = append(out, fmt.Sprintf("[^%d]", p.ref))
		}
	}
	return out
}

func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return "this"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

func hanList(words []string) string {
	if len(words) == 0 {
		return "这个问题"
	}
	return "「" + strings.Join(words, "」「") + "」"
}

// quote is a sentence that may be chosen.
type quote struct {
	text    string
	passage int // index of the passage it is from
	keys    map[string]bool
}

// quotable reports that a sentence can stand between quotation marks: long enough to say something, short
// enough to be read, without quotation marks that would end it early or a citation mark that would be taken for ours.
func quotable(s string) bool {
	n := utf8.RuneCountInString(s)
	if prose.Chinese(s) {
		n *= 2 // a Han character says as much as several letters
	}
	return n >= shortestQuote && n <= longestQuote && !strings.ContainsAny(s, "“”") && !strings.Contains(s, "[^") && !strings.Contains(s, ":=") && proseOnly(s)
}

// proseOnly tells language from code, diagrams and rows of tables, which have lost their frame when a long block was
// cut: it is mostly letters, and is not set out with spaces.
func proseOnly(s string) bool {
	letters, all := 0, 0
	han := prose.Chinese(s) // whose sentences are so short that a number is a good part of one
	for _, r := range s {
		all++
		if unicode.IsLetter(r) || r == ' ' || han && unicode.IsDigit(r) {
			letters++
		}
	}
	return letters*100 >= all*78 && !strings.Contains(s, "   ")
}

// chooseMost picks the sentences that together cover the most of what was asked, the rarest words counting most. Each
// must share something with the question.
func chooseMost(found []passage, about []string, before, question string, most int) []quote {
	wanted := slices.Sorted(maps.Keys(prose.Keys(strings.Join(about, " ")))) // sorted: sums of floats depend on their order
	var all []quote
	spread := map[string]int{} // in how many sentences a key occurs
	seen := map[string]bool{}
	for i, p := range found {
		for _, s := range prose.Sentences(p.text) {
			if !quotable(s) || seen[s] || strings.Contains(before, s) {
				continue
			}
			seen[s] = true
			ks := prose.Keys(s)
			for k := range ks {
				spread[k]++
			}
			all = append(all, quote{s, i, ks})
		}
	}
	var chosen []quote
	covered := map[string]bool{}
	taken := map[int]int{}
	for len(chosen) < most {
		best, bestScore := -1, 0.0
		for i, q := range all {
			if taken[q.passage] >= mostPerPassage {
				continue
			}
			if score := q.score(wanted, covered, spread, len(all), found[q.passage], about, question); score > bestScore {
				best, bestScore = i, score
			}
		}
		if best < 0 {
			break
		}
		q := all[best]
		all = slices.Delete(all, best, best+1)
		chosen = append(chosen, q)
		taken[q.passage]++
		for k := range q.keys {
			covered[k] = true
		}
	}
	return chosen
}

var asksWhat = pattern.New(`(?i)^\W*(?:what(?:'s| is| are| does)|define|explain)\b|什么是|是什么`)

// score is 0 for a sentence that shares nothing with the question.
func (q quote) score(wanted []string, covered map[string]bool, spread map[string]int, total int, p passage, about []string, question string) float64 {
	score := 0.0
	for _, k := range wanted {
		if !q.keys[k] {
			continue
		}
		weight := 1 + math.Log(float64(total)/float64(spread[k]))
		if covered[k] {
			weight *= 0.3
		}
		score += weight
	}
	if score == 0 {
		return 0
	}
	heading := prose.Keys(p.source)
	for _, k := range wanted {
		if heading[k] {
			score += 0.4
		}
	}
	if asksWhat.MatchString(question) && defines(q.text, about) {
		score += 2
	}
	if !strings.ContainsAny(q.text[len(q.text)-1:], ".!?") && !strings.HasSuffix(q.text, "。") {
		score *= 0.8 // a fragment: a list item, or a line that leads up to something
	}
	if strings.Contains(q.text, " | ") {
		score *= 0.6 // a row says less without its table
	}
	const easy = 140 // characters that are read at a glance
	return score - 0.004*float64(max(0, utf8.RuneCountInString(q.text)-easy))
}

// defines reports that a sentence begins by saying what one of the words is.
func defines(sentence string, about []string) bool {
	lower := strings.ToLower(strings.TrimLeft(sentence, "*_`"))
	for _, article := range []string{"a ", "an ", "the "} {
		lower = strings.TrimPrefix(lower, article)
	}
	for _, w := range about {
		rest, ok := strings.CutPrefix(strings.TrimLeft(lower, "*_`"), strings.ToLower(w))
		rest = strings.TrimLeft(rest, "s*_`")
		if ok && (strings.HasPrefix(rest, " is ") || strings.HasPrefix(rest, " are ") || strings.HasPrefix(rest, " means ") || strings.HasPrefix(rest, "是") || strings.HasPrefix(rest, ": ")) {
			return true
		}
	}
	return false
}
