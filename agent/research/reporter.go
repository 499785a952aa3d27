package research

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/pattern"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// report writes the report.
func (w *work) report(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	c, all, lang := w.settings(s), sources.Get(s), w.language(s)
	remembered.Get(s)
	style := prompt("styles/"+c.Style, lang, promptData{Locale: lang})
	look, file, shown := lookup(all), w.draft(s), charts(results.Get(s))
	defer file.close()
	msg, err := w.askThrough(ctx, s, func(m model.Model) model.Model { return &checked{m, look, topic.Get(s), lang, shown, file} }, model.Request{
		System: prompt(NodeReporter, lang, promptData{Locale: lang, Style: style}), Messages: []item.Message{item.UserText("", w.reporting(s))}, Thinking: w.Thinking,
	}, agent.CallOptions{Citable: agent.Citable(s), Accept: func(msg item.Message) error {
		if strings.TrimSpace(msg.Text()) == "" {
			return errors.New("there is no report")
		}
		return nil
	}})
	if err != nil {
		return graph.Command{}, err
	}
	if err := file.whole(msg.Text()); err != nil {
		if err := s.Emit(ctx, unwritten(file.name, err)); err != nil {
			return graph.Command{}, err
		}
	}
	body := bodyOf(msg.Text(), lang)
	msg.Name = NodeReporter
	return graph.Update(
		messages.Add(msg), report.Set(msg.Text()), citations.Set(references(body, look)), doubts.Set(Check(strings.ReplaceAll(body, "]"+mark, "]"), topic.Get(s), look)),
	), nil
}

// lookup finds sources by their numbers.
func lookup(all map[string]Source) func(int) (Source, bool) {
	return func(n int) (Source, bool) {
		src, ok := all[strconv.Itoa(n)]
		return src, ok
	}
}

// reporting is what the reporter is told.
func (w *work) reporting(s *graph.Scope) string {
	p, res, all := plan.Get(s), results.Get(s), sources.Get(s)
	var numbers []int
	for _, r := range res {
		numbers = append(numbers, r.Sources...)
	}
	for n, src := range all {
		if _, ok := res[src.Step]; ok && len(res[src.Step].Sources) == 0 { // read, and not cited by the step itself
			number, _ := strconv.Atoi(n)
			numbers = append(numbers, number)
		}
	}
	if len(numbers) == 0 {
		numbers = background.Get(s)
	}
	var in strings.Builder
	tag(&in, "question", "", topic.Get(s))
	tag(&in, "title", "", cmp.Or(p.Title, topic.Get(s)))
	findings(&in, p, res)
	if len(numbers) > 0 {
		tag(&in, "passages", "", passages(all, numbers, w.room()))
	}
	var read []Source
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		if src, ok := all[strconv.Itoa(n)]; ok {
			read = append(read, src)
		}
	}
	for _, c := range conflicts(read) {
		tag(&in, "conflict", "", fmt.Sprintf("“%s” [^%d]\n“%s” [^%d]", c.a, c.one, c.b, c.other))
	}
	unknown(&in, topic.Get(s), res, all)
	for _, c := range charts(res) {
		tag(&in, "chart", fmt.Sprintf("title=%q", p.title(c.step)), c.file)
	}
	var b strings.Builder
	tag(&b, "report", "", in.String())
	return b.String()
}

// chart is a picture that a step made.
type chart struct{ step, file string }

// charts are the pictures of all steps.
func charts(res map[string]Result) []chart {
	var out []chart
	for _, id := range sortedKeys(res) {
		for _, f := range res[id].Files {
			switch strings.ToLower(path.Ext(f)) {
			case ".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp":
				out = append(out, chart{id, f})
			}
		}
	}
	return out
}

// checked is a model whose report is checked while it streams, and ended with the pictures that it does not show, with what
// the check found, and with the list of references. It grows in a file meanwhile.
type checked struct {
	model.Model
	look     func(int) (Source, bool)
	question string
	locale   string
	charts   []chart
	file     *draft
}

var (
	_ model.Describer = (*checked)(nil)
	_ agent.Pricer    = (*checked)(nil)
)

func (c *checked) Describe() model.Info {
	if d, ok := c.Model.(model.Describer); ok {
		return d.Describe()
	}
	return model.Info{}
}

func (c *checked) Cost(u item.Usage) int64 {
	if p, ok := c.Model.(agent.Pricer); ok {
		return p.Cost(u)
	}
	return 0
}

func (c *checked) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		c.file.again()
		reader := newReader(c.question, c.look)
		last := 0
		var body strings.Builder
		for part, err := range c.Model.Stream(ctx, req) {
			switch p := part.(type) {
			case model.Text:
				last, p.Text = p.Block, reader.feed(p.Text)
				if body.WriteString(p.Text); p.Text == "" {
					continue
				}
				c.file.add(p.Text)
				part = p
			case model.Finish:
				rest := reader.end()
				body.WriteString(rest)
				if strings.TrimSpace(body.String()) != "" {
					pictures := unshown(body.String(), c.charts)
					rest += pictures + appendix(body.String()+pictures, reader.doubts, c.look, c.locale)
				}
				if rest == "" {
					break
				}
				if c.file.add(rest); !yield(model.Text{Block: last, Text: rest}, nil) {
					return
				}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// The headings of what a program adds to a report.
var (
	checkHeading      = map[bool]string{false: "## Citations that were not confirmed", true: "## 未能核实的引用"}
	referencesHeading = map[bool]string{false: "## References", true: "## 参考资料"}
)

// unshown are the pictures that a report does not show, as it would.
func unshown(body string, all []chart) string {
	var b strings.Builder
	for _, c := range all {
		if !strings.Contains(body, "]("+c.file+")") {
			name := strings.TrimSuffix(path.Base(c.file), path.Ext(c.file))
			fmt.Fprintf(&b, "\n![%s](%s)\n", plainLine(name), c.file)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return strings.Repeat("\n", max(0, 1-trailing(body))) + b.String()
}

// bodyOf is a report without what a program added.
func bodyOf(text, locale string) string {
	zh := chinese(locale)
	for _, heading := range []string{checkHeading[zh], referencesHeading[zh]} {
		if i := strings.LastIndex(text, "\n"+heading+"\n"); i >= 0 {
			text = text[:i]
		}
	}
	return strings.TrimSpace(text)
}

// appendix is what follows a report: what the check found, and the references.
func appendix(body string, found []Doubt, look func(int) (Source, bool), locale string) string {
	zh := chinese(locale)
	var b strings.Builder
	b.WriteString(strings.Repeat("\n", max(0, 1-trailing(body))))
	if len(found) > 0 {
		b.WriteString("\n" + checkHeading[zh] + "\n\n")
		for _, d := range found {
			fmt.Fprintf(&b, "- %s: “%s” (%s)\n", bracketless(d.Numbers, zh), firstWords(strings.Trim(d.Claim, "“”"), 160), d.Reason.in(zh, d.Detail))
		}
	}
	b.WriteString("\n" + referencesHeading[zh] + "\n\n")
	refs := references(body, look)
	if len(refs) == 0 {
		b.WriteString(map[bool]string{false: "The report cites no source.\n", true: "本报告没有引用来源。\n"}[zh])
	}
	for i, r := range refs {
		b.WriteString(r.footnote(refs[:i], zh))
	}
	return b.String()
}

// trailing counts the line breaks at the end of a text.
func trailing(text string) int { return len(text) - len(strings.TrimRight(text, "\n")) }

// bracketless names citations without citing them once more.
func bracketless(numbers []int, zh bool) string {
	var list []string
	for _, n := range numbers {
		list = append(list, strconv.Itoa(n))
	}
	if zh {
		return "编号 " + strings.Join(list, "、")
	}
	return "number " + strings.Join(list, ", ")
}

// footnote is the definition of a reference, as Markdown has it. Of a text that stands in two places the second says so.
func (r Reference) footnote(before []Reference, zh bool) string {
	for _, b := range before {
		if b.Quote == r.Quote && b.Quote != "" {
			return fmt.Sprintf(map[bool]string{false: "[^%d]: The same text as number %d, at %s.\n", true: "[^%d]: 与编号 %d 内容相同，位于 %s。\n"}[zh], r.Number, b.Number, r.Address)
		}
	}
	line := fmt.Sprintf("[^%d]: %s", r.Number, plainLine(r.Title))
	if r.Author != "" {
		line += map[bool]string{false: ", by ", true: "，作者："}[zh] + plainLine(r.Author)
	}
	if r.Site != "" {
		line += ", " + r.Site
	}
	if r.Date != "" {
		line += ", " + plainLine(r.Date)
	}
	if r.Address != "" {
		line += ", <" + strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20").Replace(r.Address) + ">"
	}
	read := map[bool]string{false: "read ", true: "查阅于 "}[zh] + r.Read.Format(time.DateOnly)
	return line + ", " + read + ". “" + plainLine(firstWords(r.Quote, 160)) + "”\n"
}

var markup = pattern.New("[\\[\\]`*_|<>\\\\]")

// plainLine is a text of others on a line of ours, where it must not be Markdown.
func plainLine(text string) string {
	return markup.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
}

var marker = pattern.New(`\[\^([0-9]{1,9})\]`)

// references are the sources that a text cites, in the order in which it first does.
func references(body string, look func(int) (Source, bool)) []Reference {
	var out []Reference
	seen := map[int]bool{}
	for _, m := range marker.FindAllStringSubmatch(body, -1) {
		n, _ := strconv.Atoi(m[1]) // nine digits are a number
		if src, ok := look(n); ok && !seen[n] {
			seen[n] = true
			out = append(out, src.reference())
		}
	}
	return out
}
