package research

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// searcher is a tool that takes words and brings passages.
type searcher struct {
	set   *tool.Set // has it alone
	name  string
	query string // the argument for the words
	limit string // the argument for the number of results; empty if there is none
}

// searcher finds the tool to search with: the web's where it may be used and is there, else that of the documents.
func (w *work) searcher(web bool) (searcher, bool) {
	names := []string{"search"}
	if web {
		names = []string{"web_search", "search"}
	}
	for _, name := range names {
		t, ok := w.Tools.Lookup(name)
		if !ok {
			continue
		}
		set, err := tool.NewSet(t)
		if s := arguments(t.Spec()); err == nil && s.query != "" {
			s.set = set
			return s, true
		}
	}
	return searcher{}, false
}

// arguments tells from a tool's schema what the words and the number of results are called; query is empty if it does not search.
func arguments(spec tool.Spec) searcher {
	var shape struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	s := searcher{name: spec.Name}
	if json.Unmarshal(spec.Schema, &shape) != nil {
		return s
	}
	for _, name := range []string{"query", "q", "keywords"} {
		if _, ok := shape.Properties[name]; ok {
			s.query = name
			break
		}
	}
	for _, name := range []string{"limit", "max_results", "count", "num_results"} {
		if _, ok := shape.Properties[name]; ok {
			s.limit = name
			break
		}
	}
	return s
}

// once is a model that is a program: it has the tool called with what the user said, and ends.
type once struct {
	search searcher
	limit  int
}

var _ model.Describer = (*once)(nil)

func (o *once) Describe() model.Info { return model.Info{Provider: "tributary", Model: "program"} }

func (o *once) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == item.Tool {
			said := "Searched."
			if last.Failed {
				said = "The search failed."
			}
			_ = yield(model.Text{Text: said}, nil) && yield(model.Finish{Reason: item.FinishStop}, nil)
			return
		}
		args := map[string]any{o.search.query: last.Text()}
		if o.search.limit != "" {
			args[o.search.limit] = o.limit
		}
		raw, err := json.Marshal(args)
		if err != nil {
			yield(nil, err)
			return
		}
		_ = yield(model.ToolCall{Name: o.search.name, Arguments: string(raw)}, nil) && yield(model.Finish{Reason: item.FinishToolCalls}, nil)
	}
}

// mayUse reports whether a role may use a tool.
func mayUse(role string, spec tool.Spec, web bool) bool {
	hands := spec.Group == "sandbox" || spec.Group == "files"
	switch role {
	case NodeCoder:
		return hands
	case NodeResearcher:
		return !hands && !spec.Risk.Has(tool.Writes) && !spec.Risk.Has(tool.Executes) && (web || spec.Group != "web")
	}
	return false
}

// toolsOf are those of the set that a role may use.
func toolsOf(all *tool.Set, role string, web bool) (*tool.Set, error) {
	return tool.NewSet(slices.Collect(func(yield func(tool.Tool) bool) {
		for t := range all.All() {
			if mayUse(role, t.Spec(), web) && !yield(t) {
				return
			}
		}
	})...)
}
