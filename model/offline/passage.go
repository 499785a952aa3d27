package offline

import (
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/item"
)

// passage is something a tool found that can be quoted.
type passage struct {
	ref    int    // its number in the reference pool; 0 if it has none
	source string // where it stands, as the tool says
	text   string
}

const (
	itemOpen   = "<referencable-item>"
	itemClose  = "</referencable-item>"
	sourceMark = "Source: "
)

// passages reads a tool result as models see it: groups between the marks of the reference pool, numbered
// blocks, and blocks that name their source. Everything else is loose text.
func passages(blocks []item.Block) (found []passage, loose string) {
	var open *passage
	var rest []string
	for _, b := range blocks {
		if b.Type != item.TextBlock {
			continue
		}
		if open == nil && !strings.Contains(b.Text, itemOpen) && (b.Ref > 0 || strings.HasPrefix(b.Text, sourceMark)) {
			found = append(found, passage{ref: b.Ref, text: b.Text})
			continue
		}
		for line := range strings.SplitSeq(b.Text, "\n") {
			switch trimmed := strings.TrimSpace(line); {
			case trimmed == itemOpen:
				open = &passage{}
			case trimmed == itemClose && open != nil:
				found = append(found, *open)
				open = nil
			case open == nil:
				rest = append(rest, line)
			case open.ref == 0 && open.text == "" && strings.HasPrefix(trimmed, "ID:"):
				open.ref, _ = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(trimmed, "ID:")))
			default:
				open.text += line + "\n"
			}
		}
	}
	if open != nil {
		found = append(found, *open)
	}
	for i := range found {
		found[i] = found[i].sourced()
	}
	return found, strings.TrimSpace(strings.Join(rest, "\n"))
}

// sourced takes the first line off that says where the passage stands.
func (p passage) sourced() passage {
	p.text = strings.TrimSpace(p.text)
	if rest, ok := strings.CutPrefix(p.text, sourceMark); ok {
		p.source, p.text, _ = strings.Cut(rest, "\n")
		p.text = strings.TrimSpace(p.text)
	}
	return p
}
