package middleware

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// DeferOptions are settings of [Defer].
type DeferOptions struct {
	// Tools are offered by the middleware itself, so they must not be among the agent's own.
	Tools []tool.Tool
	// Most is how many of them are simply offered; zero means 10. Where there are more, the model has to look for them.
	Most int
	// Found is how many one search returns; zero means 5.
	Found int
}

// Promoted are the tools that a thread's model has found. They belong to one list of tools: with another they count no more.
type Promoted struct {
	Catalog string   `json:"catalog_hash"`
	Names   []string `json:"names"`
}

// PromotedField holds them in the state.
var PromotedField = graph.Reduced("promoted", func(old, update Promoted) Promoted {
	if old.Catalog != update.Catalog {
		return update
	}
	sum := Promoted{Catalog: old.Catalog, Names: slices.Clone(old.Names)}
	for _, n := range update.Names {
		if !slices.Contains(sum.Names, n) {
			sum.Names = append(sum.Names, n)
		}
	}
	return sum
})

// Defer offers many tools without showing them all: the model is offered tool_search, and what it finds with it from then on. Tools
// that are found stand behind the others in the order in which they were found, so that the beginning of a request stays
// the same.
func Defer(o DeferOptions) agent.Middleware {
	if o.Most <= 0 {
		o.Most = 10
	}
	if o.Found <= 0 {
		o.Found = 5
	}
	m := agent.Middleware{
		Name: "deferred", Fields: []graph.AnyField{PromotedField},
		Tools: func(context.Context, *graph.Scope) ([]tool.Tool, error) { return o.Tools, nil },
	}
	if len(o.Tools) <= o.Most {
		return m
	}
	d := &deferred{DeferOptions: o, index: map[string]int{}}
	hash := sha256.New()
	for i, t := range o.Tools {
		spec := t.Spec()
		d.specs = append(d.specs, spec)
		d.index[spec.Name] = i
		fmt.Fprintf(hash, "%q %q %s\n", spec.Name, spec.Description, spec.Schema)
	}
	d.catalog = hex.EncodeToString(hash.Sum(nil)[:8])
	search := d.tool()
	m.Tools = func(context.Context, *graph.Scope) ([]tool.Tool, error) {
		return append([]tool.Tool{search}, o.Tools...), nil
	}
	m.Model = func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			c.Request.Tools = d.visible(c.Request.Tools, PromotedField.Get(c.Step.Scope))
			return next(ctx, c)
		}
	}
	return m
}

// searchTool finds tools that are not shown.
const searchTool = "tool_search"

type deferred struct {
	DeferOptions
	specs   []tool.Spec
	index   map[string]int
	catalog string
}

// visible leaves out what has not been found.
func (d *deferred) visible(offered []model.Tool, p Promoted) []model.Tool {
	out := make([]model.Tool, 0, max(len(offered)-len(d.specs), 0)+len(p.Names)) // others may have left some out
	found := make([]model.Tool, len(p.Names))
	for _, t := range offered {
		if _, hidden := d.index[t.Name]; !hidden {
			out = append(out, t)
		} else if i := slices.Index(p.Names, t.Name); i >= 0 && p.Catalog == d.catalog {
			found[i] = t
		}
	}
	return append(out, slices.DeleteFunc(found, func(t model.Tool) bool { return t.Name == "" })...)
}

type searchArguments struct {
	Query string `json:"query" jsonschema:"words about what the tool should do, or select:name,name for tools whose names you know"`
}

func (d *deferred) tool() tool.Tool {
	return tool.Repeatable(tool.FuncOfCall(searchTool, d.description(), func(_ context.Context, call tool.Call, in searchArguments) (string, error) {
		found := d.find(in.Query)
		if len(found) == 0 {
			return "No tool fits. Try other words, or do without.", nil
		}
		p := Promoted{Catalog: d.catalog}
		var b strings.Builder
		b.WriteString("You can call these from now on:\n")
		for _, s := range found {
			p.Names = append(p.Names, s.Name)
			fmt.Fprintf(&b, "\n%s: %s\n%s\n", s.Name, s.Description, s.Schema)
		}
		return b.String(), call.Scope.Update(PromotedField.Name(), p)
	}))
}

// description tells which tools there are, as far as that fits into a few lines.
func (d *deferred) description() string {
	var names []string
	size := 0
	for _, s := range d.specs {
		if size += len(s.Name) + 2; size > 1500 {
			names = append(names, "…")
			break
		}
		names = append(names, s.Name)
	}
	return fmt.Sprintf("Finds further tools, of which there are %d, and makes them available. Search before you say that you cannot do something. Their names: %s",
		len(d.specs), strings.Join(names, ", "))
}

// find returns the tools that fit best.
func (d *deferred) find(query string) []tool.Spec {
	query = strings.ToLower(strings.TrimSpace(query))
	if list, ok := strings.CutPrefix(query, "select:"); ok {
		var out []tool.Spec
		for name := range strings.SplitSeq(list, ",") {
			for _, s := range d.specs {
				if strings.EqualFold(s.Name, strings.TrimSpace(name)) && len(out) < 4*d.Found {
					out = append(out, s)
				}
			}
		}
		return out
	}
	words := slices.DeleteFunc(wordsOf(query), func(w string) bool { return len(w) < 3 && (w[0] < '0' || w[0] > '9') }) // of, to, in
	type hit struct {
		spec  tool.Spec
		score int
	}
	var hits []hit
	for _, s := range d.specs {
		name, text := wordsOf(strings.ToLower(s.Name)), wordsOf(strings.ToLower(s.Description))
		score := 0
		for _, w := range words {
			begins := func(other string) bool { return strings.HasPrefix(other, w) }
			if slices.ContainsFunc(name, begins) {
				score += 3
			}
			if slices.ContainsFunc(text, begins) {
				score++
			}
		}
		if score > 0 {
			hits = append(hits, hit{s, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var out []tool.Spec
	for _, h := range hits[:min(len(hits), d.Found)] {
		out = append(out, h.spec)
	}
	return out
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
