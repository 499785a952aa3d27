package research

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// What roles are told is text between tags, so that a model can tell the question from what was found, and neither from
// what it is asked to do. Text of others cannot close a tag of ours: see inert.

// tag writes a section.
func tag(b *strings.Builder, name, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	for _, part := range []string{"<", name, attributes, ">\n", inert(name, text), "\n</", name, ">\n\n"} {
		b.WriteString(part)
	}
}

// inert takes the sting out of a text that would end its section.
func inert(name, text string) string {
	text = strings.TrimSpace(text)
	if end := "</" + name; strings.Contains(text, end) {
		text = strings.ReplaceAll(text, end, "< /"+name)
	}
	return text
}

// findings writes what came of the steps.
func findings(b *strings.Builder, p Plan, res map[string]Result) {
	size := 0
	for _, step := range p.Steps {
		if r, ok := res[step.ID]; ok {
			size += len(r.Text) + len(r.Error) + 2*len(step.Title) + 64
		}
	}
	b.Grow(size) // at once: it may be all that was found so far
	for _, step := range p.Steps {
		r, ok := res[step.ID]
		if !ok {
			continue
		}
		about := fmt.Sprintf("step=%q title=%q", step.ID, step.Title)
		switch {
		case r.Text != "":
			tag(b, "finding", about, r.Text)
		default:
			tag(b, "failed", about, r.Error)
		}
	}
}

// passages writes sources with the tags that tell the model their numbers, each once, within some number of bytes: what is
// too long is cut at its end, all alike.
func passages(all map[string]Source, numbers []int, room int) string {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	each := room / max(len(numbers), 1)
	var b strings.Builder
	for _, n := range numbers {
		src, ok := all[fmt.Sprint(n)]
		if !ok {
			continue
		}
		for _, block := range src.Content {
			if block.Type == item.TextBlock {
				b.WriteString(cut(block.Text, each) + "\n")
			}
		}
	}
	return b.String()
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// room is how many bytes of findings and passages a model is shown at most: half of its window, at three bytes a token.
func (w *work) room() int {
	window := 128_000
	if d, ok := w.Model.(model.Describer); ok && d.Describe().ContextWindow > 0 {
		window = d.Describe().ContextWindow
	}
	return window * 3 / 2
}
