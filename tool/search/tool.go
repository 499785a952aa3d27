package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Group is the name under which the tool is switched on and off.
const Group = "documents"

type arguments struct {
	Query string `json:"query" jsonschema:"what to look for: a question or its words; leave out words that say nothing about the subject"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many passages to return, from 1 to 20; 6 if left out"`
}

// Tool is the index as a tool named "search".
//
// Its result has one block for each passage in both views, paired by a number of their own (Ref), which whoever
// keeps the run's references replaces. The single block that says that nothing was found has none: it is not
// worth citing.
func (ix *Index) Tool() tool.Tool {
	return ToolOf(func(context.Context) (*Index, error) { return ix, nil })
}

// ToolOf is the tool of an index that need not be open yet: each call asks for it, and waits with its caller. A call finds the documents in
// areas of its thread's folder too, and the pages that were kept there (see [Keep]); nobody else's calls do.
func ToolOf(index func(context.Context) (*Index, error), areas ...Area) tool.Tool {
	return searching{tool.FuncOfCall("search",
		"Searches the local documents, with the uploads of this conversation and the pages that were read in it, and returns the passages that answer best, with title, path and text. Quote them and cite each with its number. It says so when the documents do not answer.",
		func(ctx context.Context, call tool.Call, in arguments) (item.ToolResult, error) {
			if in.Limit == 0 {
				in.Limit = defaultLimit
			}
			in.Limit = min(max(in.Limit, 1), maxLimit)
			ix, err := index(ctx)
			if err != nil {
				return item.ToolResult{}, err
			}
			found, err := ix.Search(ctx, in.Query, in.Limit)
			if err != nil {
				return item.ToolResult{}, err
			}
			own, missing, known, err := searchThread(ctx, call, areas, in.Query, in.Limit)
			if err != nil {
				return item.ToolResult{}, err
			}
			if found = together(own, found, in.Limit); len(found) > 0 {
				return shown(found), nil
			}
			return ix.nothing(ctx, in.Query, func(word string) bool { return !known || slices.Contains(missing, word) })
		})}
}

// searching adds to the tool what people are asked by.
type searching struct{ tool.Tool }

func (s searching) Spec() tool.Spec {
	spec := s.Tool.Spec()
	spec.Group, spec.Risk, spec.Repeatable = Group, tool.Reads, true
	return spec
}

// nothing tells the model that the documents do not answer, and which words none of them has, the thread's own included.
func (ix *Index) nothing(ctx context.Context, query string, elsewhere func(word string) bool) (item.ToolResult, error) {
	missing, err := ix.Missing(ctx, query)
	if err != nil {
		return item.ToolResult{}, err
	}
	missing = slices.DeleteFunc(missing, func(word string) bool { return !elsewhere(word) })
	says := fmt.Sprintf("No passage of the documents matches %q.", query)
	if len(missing) > 0 {
		says += fmt.Sprintf(" No document has: %s.", strings.Join(missing, ", "))
	}
	return tool.Text(says + " Try other or fewer words, or say that the documents do not answer this."), nil
}

func shown(found []Passage) item.ToolResult {
	var res item.ToolResult
	for i, p := range found {
		b := item.Block{Type: item.TextBlock, Ref: i + 1, Text: p.Text, Name: p.Title + " — " + p.Location(), URL: p.Location(), Author: p.Author, Date: p.Date}
		res.Blocks = append(res.Blocks, b)
		// Providers are sent the text alone, so the model's view says in it where the passage stands.
		from := p.Location() + ", " + p.Position()
		if p.Author != "" {
			from += ", by " + p.Author
		}
		if p.Date != "" {
			from += ", " + p.Date
		}
		b.Text = fmt.Sprintf("Source: %s (%s)\n\n%s", p.Heading(), from, p.Text)
		res.Content = append(res.Content, b)
	}
	return res
}
