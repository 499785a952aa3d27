package offline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/internal/prose"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// Some requests are tasks of a larger work: a question between tags, with what was found before, and a form for the answer.
// The model does those of deep research (package agent/research), each as a program can: it hands over what it cannot answer,
// plans by the headings of what a first search found, and writes a report out of quotations.

const handoffTool = "handoff_to_planner"

// lastTold is the whole of what the user said last.
func lastTold(conv []item.Message) string {
	for _, m := range slices.Backward(conv) {
		if m.Role == item.User {
			return m.Text()
		}
	}
	return ""
}

// part is a stretch of a text between a pair of tags.
type part struct {
	title string // of its first tag
	step  string
	text  string
}

var attribute = pattern.New(`(step|title)=("(?:[^"\\]|\\.)*")`)

// parts finds what stands between tags of a name.
func parts(text, name string) []part {
	var out []part
	for {
		_, rest, ok := strings.Cut(text, "<"+name)
		if !ok {
			return out
		}
		head, rest, ok := strings.Cut(rest, ">")
		if !ok {
			return out
		}
		body, after, ok := strings.Cut(rest, "</"+name+">")
		if !ok {
			return out
		}
		if head == "" || head[0] == ' ' {
			p := part{text: strings.TrimSpace(body)}
			for _, m := range attribute.FindAllStringSubmatch(head, -1) {
				value, err := strconv.Unquote(m[2])
				if err != nil {
					continue
				}
				if m[1] == "title" {
					p.title = value
				} else {
					p.step = value
				}
			}
			out = append(out, p)
		}
		text = after
	}
}

func onePart(text, name string) (string, bool) {
	found := parts(text, name)
	if len(found) == 0 {
		return "", false
	}
	return found[0].text, true
}

// handsOver reports that the request offers to give the question to others.
func handsOver(req model.Request) bool {
	return req.Choice != "none" && slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == handoffTool })
}

func handOver(question string) reply {
	return reply{
		thought: "This must be looked up, so I hand it over.", tool: handoffTool,
		args: encodeJSON(map[string]string{"research_topic": question, "locale": localeOf(question)}),
	}
}

func localeOf(text string) string {
	if prose.Chinese(text) {
		return "zh-CN"
	}
	return "en-US"
}

const mostSearches = 3 // for one task

var noDocument = pattern.New(`No document has: ([^.]+)\.`)

// searchAgain searches once more in a task: if nothing was found, with fewer words. If something was, and the task is the whole question,
// without the word that tells least and then without the next: a passage may say the same without it.
func searchAgain(req model.Request, question string) (reply, bool) {
	conv := req.Messages
	told := lastTold(conv)
	if _, task := onePart(told, "question"); !task {
		return reply{}, false
	}
	t, ok := toolFor(req)
	searches := 0
	for _, m := range conv {
		searches += len(m.ToolCalls)
	}
	if !ok || t.Name != searchTool || conv[len(conv)-1].Failed || searches >= mostSearches {
		return reply{}, false
	}
	about := fewerWords(conv, question, searches)
	if found := readIn(conv); len(found) > 0 {
		if topic, _ := onePart(told, "topic"); strings.TrimSpace(question) != strings.TrimSpace(topic) {
			return reply{}, false
		}
		about = withoutLightest(found, question, searches)
	}
	if len(about) == 0 {
		return reply{}, false
	}
	return call(t, question, about), true
}

// fewerWords are those of a question without the ones that no document has, and then the first half of the others.
func fewerWords(conv []item.Message, question string, searches int) []string {
	all := prose.Content(question)
	about := slices.Clone(all)
	for _, m := range conv {
		if m.Role != item.Tool {
			continue
		}
		said := noDocument.FindStringSubmatch(m.Text())
		if said == nil {
			continue
		}
		gone := prose.Keys(said[1])
		about = slices.DeleteFunc(about, func(w string) bool { return overlap(prose.Keys(w), gone) == 1 })
	}
	if searches > 1 || len(about) == len(all) {
		about = about[:(len(about)+1)/2]
	}
	return about
}

// withoutLightest are the words of a question but for the nth lightest; none if there are too few.
func withoutLightest(found []passage, question string, n int) []string {
	about := slices.DeleteFunc(prose.Content(question), func(w string) bool { return minorWords[prose.Stem(w)] })
	if len(about) < 3 || prose.Chinese(question) {
		return nil
	}
	var keys []string
	for _, w := range about {
		keys = append(keys, prose.Stem(w))
	}
	lines, _ := linesOf(found, keys)
	a := newAim(slices.Concat(lines...), keys, len(keys))
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(a.weight[x], a.weight[y]) })
	return slices.Delete(about, order[n-1], order[n-1]+1)
}

// readIn are the passages that tools have brought in a conversation since the user spoke, each once.
func readIn(conv []item.Message) []passage {
	var out []passage
	for _, m := range slices.Backward(conv) {
		if m.Role == item.User {
			break
		}
		if m.Role != item.Tool {
			continue
		}
		found, _ := passages(m.Content)
		out = slices.Concat(found, out)
	}
	return distinct(out)
}

// distinct are passages, each number once.
func distinct(found []passage) []passage {
	seen := map[int]bool{}
	return slices.DeleteFunc(found, func(p passage) bool {
		known := p.ref > 0 && seen[p.ref]
		seen[p.ref] = true
		return known
	})
}

// isPlan tells the form of a plan from others: it has steps, and these have a type.
func isPlan(schema json.RawMessage) bool {
	var s shape
	if json.Unmarshal(schema, &s) != nil || s.Properties["steps"] == nil || s.Properties["steps"].Items == nil {
		return false
	}
	return s.Properties["steps"].Items.Properties["step_type"] != nil
}

type planned struct {
	Locale  string        `json:"locale"`
	Enough  bool          `json:"has_enough_context"`
	Thought string        `json:"thought"`
	Title   string        `json:"title"`
	Steps   []plannedStep `json:"steps"`
}

type plannedStep struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Type        string `json:"step_type"`
	NeedSearch  bool   `json:"need_search"`
}

// mostSteps is how many steps a plan has at most, whatever is allowed.
const mostSteps = 6

// makePlan plans the search. In the first round the steps are the question itself and the headings under which a first search
// found something; in later ones, the words of the question that nothing found so far has.
func makePlan(told, question string) planned {
	zh := prose.Chinese(question)
	p := planned{Locale: localeOf(question), Title: question, Steps: []plannedStep{}}
	step := func(title, description string) {
		p.Steps = append(p.Steps, plannedStep{title, description, "research", true})
	}
	findings, failures := parts(told, "finding"), parts(told, "failed")
	if len(findings)+len(failures) > 0 {
		missing := uncovered(question, findings)
		tried := slices.ContainsFunc(slices.Concat(findings, failures), func(f part) bool { return f.title == listed(missing, zh) })
		if p.Enough = len(missing) == 0 || tried; !p.Enough {
			p.Thought = pick(zh, "还没有找到："+listed(missing, zh), "Nothing was found yet about "+listed(missing, zh)+".")
			step(listed(missing, zh), strings.Join(missing, " "))
		}
		return p
	}
	p.Thought = pick(zh, "没有使用语言模型：计划由问题本身和初步搜索到的标题组成。", "No language model is used: the plan is made of the question and of the headings that a first search found.")
	step(question, "")
	asked := asksOf(question)
	if len(asked) > 1 {
		for _, q := range asked {
			if len(p.Steps) < mostSteps {
				step(q.text, strings.Join(slices.Concat(q.about, q.context), " "))
			}
		}
	}
	background, _ := onePart(told, "background")
	found, _ := passages(item.Text(background))
	about := strings.Join(prose.Content(question), " ")
	var seen []map[string]bool
	wish, _ := onePart(told, "feedback")
	more, less := wishes(wish)
	if len(more) > 0 {
		p.Thought = pick(zh, "没有使用语言模型：在问题之外，还会查找您所说的词语。", "No language model is used: what you said is looked for by its words, beside the question.")
		step(firstLine(wish), strings.Join(more, " ")+" "+about)
	}
	for _, f := range headed(found, asked) {
		heading := headingOf(f.source)
		ks := prose.Keys(heading)
		if overlap(ks, less) > 0 || heading == "" || len(p.Steps) == mostSteps || slices.ContainsFunc(seen, func(s map[string]bool) bool { return overlap(ks, s) > 0.5 }) {
			continue
		}
		seen = append(seen, ks)
		step(heading, innermost(heading)+" "+about)
	}
	return p
}

// unwanted begins what a person does not want in a plan.
var unwanted = pattern.New(`(?i)^\W*(?:(?:please|but)\s+)*(?:without|not|nothing|no|less|drop|remove|skip|delete|leave out|forget)\b|^(?:请)?(?:不要|去掉|删除|删掉|没有|少)`)

// wishes reads what a person said of a plan: the words that are to be looked for too, or those whose steps are not wanted. It is all that a
// program can make of it.
func wishes(text string) (more []string, less map[string]bool) {
	if cut := unwanted.FindString(text); cut != "" {
		return nil, prose.Keys(strings.Join(prose.Content(text[len(cut):]), " "))
	}
	return prose.Content(text), nil
}

// firstLine is the beginning of a text as the title of a step.
func firstLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}

// headed are the passages that answer something of a question, the best first: it is worth looking for more under their headings.
func headed(found []passage, asked []asking) []passage {
	var out []passage
	for _, q := range asked {
		for _, a := range answering(found, q) {
			if p := found[a.passage]; !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// uncovered are the words of a question that no finding has, not even under another form.
func uncovered(question string, findings []part) []string {
	all := map[string]bool{}
	for _, f := range findings {
		// What stands around quotations repeats the question, to say what was found and what was not.
		for _, m := range quotation.FindAllStringSubmatch(f.text, -1) {
			for k := range prose.Keys(m[1]) {
				all[k] = true
			}
		}
	}
	return slices.DeleteFunc(prose.Content(question), func(w string) bool {
		if minorWords[prose.Stem(w)] {
			return true // nobody is helped by what else has it
		}
		for k := range prose.Keys(w) {
			if !all[k] {
				return false
			}
		}
		return true
	})
}

var quotation = pattern.New(`“([^“”]+)”`)

var place = pattern.New(`\s*\([^()]*\)$`)

// headingOf is where a passage stands, without its file and line: "Guide › Install".
func headingOf(source string) string { return strings.TrimSpace(place.ReplaceAllString(source, "")) }

func innermost(heading string) string {
	if i := strings.LastIndex(heading, " › "); i >= 0 {
		return heading[i+len(" › "):]
	}
	return heading
}

func listed(words []string, zh bool) string {
	if zh {
		return hanList(words)
	}
	return list(words)
}

func pick(zh bool, chinese, english string) string {
	if zh {
		return chinese
	}
	return english
}

// overlap is the part of the smaller set that the other has too.
func overlap(a, b map[string]bool) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return 0
	}
	n := 0
	for k := range a {
		if b[k] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
