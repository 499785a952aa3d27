// Package toolsearch offers an agent more tools than a model can be shown at once. Up to a number all are shown. Beyond it
// none is: the model has one more tool, tool_search, and those that it finds are shown from then on.
//
// # Laws
//
//   - What was found stays shown for the rest of the thread, in the order in which it was found, so that the beginning of
//     a request stays the same and can be cached.
//   - A tool that is not shown can be called all the same, by a model that knows its name.
//   - Searching asks nobody and changes nothing else.
package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

const (
	// Name is what the tool is called.
	Name = "tool_search"
	// Field is where the state has the names of the tools that were found.
	Field = "found_tools"
	// Most is how many tools are shown at once, where nothing else is said.
	Most = 40

	usual = 5  // results of a search
	limit = 20 // at most
)

// Middleware offers tools, which are asked for once in a run. Most is how many a model is shown at once; zero means [Most].
func Middleware(name string, most int, tools func(context.Context, *graph.Scope) ([]tool.Tool, error)) agent.Middleware {
	if most <= 0 {
		most = Most
	}
	found := graph.Union[string](Field)
	hidden := graph.NewLocal(func(*graph.Scope) *shelf { return &shelf{} })
	return agent.Middleware{
		Name: name, Fields: []graph.AnyField{found},
		Tools: func(ctx context.Context, s *graph.Scope) ([]tool.Tool, error) {
			list, err := tools(ctx, s)
			if err != nil || len(list) <= most {
				return list, err
			}
			sh := hidden.Get(s)
			sh.fill(list)
			return append(slices.Clip(list), search(sh)), nil
		},
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				if sh := hidden.Get(c.Step.Scope); len(sh.specs) > 0 {
					c.Request.Tools = sh.shown(c.Request.Tools, found.Get(c.Step.Scope))
				}
				return next(ctx, c)
			}
		},
	}
}

// shelf is what is not shown. It is filled before a model is first called, and not changed then.
type shelf struct{ specs map[string]tool.Spec }

func (sh *shelf) fill(list []tool.Tool) {
	sh.specs = map[string]tool.Spec{}
	for _, t := range list {
		sh.specs[t.Spec().Name] = t.Spec()
	}
}

// shown is what a model is shown of its tools: those that are not on the shelf, and then those that were found.
func (sh *shelf) shown(all []model.Tool, found []string) []model.Tool {
	var shown []model.Tool
	byName := map[string]model.Tool{}
	for _, t := range all {
		if _, hidden := sh.specs[t.Name]; hidden {
			byName[t.Name] = t
		} else {
			shown = append(shown, t)
		}
	}
	for _, name := range found {
		if t, ok := byName[name]; ok {
			shown = append(shown, t)
		}
	}
	return shown
}

type query struct {
	Query string `json:"query" jsonschema:"words that say what the tool should do, or the name of a tool"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many tools to find; 5 if left out"`
}

func search(sh *shelf) tool.Tool {
	about := fmt.Sprintf("Finds tools. You have %d more tools than those that you see, %s. Search for what you need; the tools that are found can be called from your next step on.",
		len(sh.specs), sh.groups())
	return tool.Repeatable(tool.FuncOfCall(Name, about, func(_ context.Context, call tool.Call, q query) (string, error) {
		hits := sh.find(q.Query, min(cmp.Or(max(q.Limit, 0), usual), limit))
		if len(hits) == 0 {
			return "No tool fits. Try other words, or do without.", nil
		}
		var b strings.Builder
		var names []string
		for _, spec := range hits {
			names = append(names, spec.Name)
			fmt.Fprintf(&b, "%s: %s\n", spec.Name, spec.Description)
		}
		return b.String(), call.Scope.Update(Field, names)
	}))
}

// groups names where the tools are from, by the first part of their names.
func (sh *shelf) groups() string {
	count := map[string]int{}
	for name := range sh.specs {
		server, _, _ := strings.Cut(name, "__")
		count[server]++
	}
	var list []string
	for server, n := range count {
		list = append(list, fmt.Sprintf("%d of %s", n, server))
	}
	slices.Sort(list)
	if len(list) > limit {
		list = append(list[:limit], "and others")
	}
	return strings.Join(list, ", ")
}

// find ranks the tools by the words of a query: a name counts more than a description, a whole word more than a part.
func (sh *shelf) find(text string, most int) []tool.Spec {
	type hit struct {
		spec  tool.Spec
		score int
	}
	var hits []hit
	words := wordsOf(text)
	for _, spec := range sh.specs {
		name, about := wordsOf(spec.Name), wordsOf(spec.Description)
		score := 0
		if strings.EqualFold(strings.TrimSpace(text), spec.Name) {
			score = 1000
		}
		for _, w := range words {
			score += 8*matches(name, w) + 2*matches(about, w)
		}
		if score > 0 {
			hits = append(hits, hit{spec, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(b.score-a.score, strings.Compare(a.spec.Name, b.spec.Name)) })
	var specs []tool.Spec
	for _, h := range hits[:min(len(hits), most)] {
		specs = append(specs, h.spec)
	}
	return specs
}

// matches is 2 if a word is among others, 1 if it is a part of one or the other way round, as in plurals.
func matches(words []string, w string) int {
	best := 0
	for _, x := range words {
		switch {
		case x == w:
			return 2
		case len(w) > 2 && len(x) > 2 && (strings.HasPrefix(x, w) || strings.HasPrefix(w, x)):
			best = 1
		}
	}
	return best
}

func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	return slices.Compact(words)
}
