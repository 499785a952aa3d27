package tool

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/item"
)

// Set is a list of tools with different names, in the order in which they were given; models are shown them in
// that order, so that a request's beginning stays the same and can be cached. A Set does not change once
// made, and is safe for concurrent use. The zero Set is empty.
type Set struct {
	entries []entry
	index   map[string]int
}

type entry struct {
	tool Tool
	spec Spec
	args *arguments
}

// NewSet makes a set. It is an error if two tools have the same name, if a name is one that providers refuse,
// or if a schema is not valid.
func NewSet(tools ...Tool) (*Set, error) { return new(Set).With(tools...) }

// With returns a set that has further tools at its end.
func (s *Set) With(tools ...Tool) (*Set, error) {
	out := &Set{entries: slices.Clone(s.entries), index: make(map[string]int, len(s.entries)+len(tools))}
	for i, e := range out.entries {
		out.index[e.spec.Name] = i
	}
	for _, t := range tools {
		spec := t.Spec()
		if !validName(spec.Name) {
			return nil, fmt.Errorf("tool %q: a name has 1 to 64 letters, digits, _ or -", spec.Name)
		}
		if _, taken := out.index[spec.Name]; taken {
			return nil, fmt.Errorf("tool %q: there are two tools of this name; rename one", spec.Name)
		}
		args, err := argumentsOf(t)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", spec.Name, err)
		}
		out.index[spec.Name] = len(out.entries)
		out.entries = append(out.entries, entry{t, spec, args})
	}
	return out, nil
}

// Only returns the set of those tools that keep wants, in the same order. Schemas are not read anew.
func (s *Set) Only(keep func(Spec) bool) *Set {
	out := &Set{index: map[string]int{}}
	for _, e := range s.entries {
		if keep(e.spec) {
			out.index[e.spec.Name] = len(out.entries)
			out.entries = append(out.entries, e)
		}
	}
	return out
}

// validName holds names to what every provider accepts.
func validName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

// Len is the number of tools.
func (s *Set) Len() int { return len(s.entries) }

// All gives the tools in order.
func (s *Set) All() iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		for _, e := range s.entries {
			if !yield(e.tool) {
				return
			}
		}
	}
}

// Specs describes the tools in order.
func (s *Set) Specs() []Spec {
	specs := make([]Spec, len(s.entries))
	for i, e := range s.entries {
		specs[i] = e.spec
	}
	return specs
}

// Lookup finds a tool by name.
func (s *Set) Lookup(name string) (Tool, bool) {
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.entries[i].tool, true
}

// Invoke calls the tool of that name; see the function [Invoke]. For a name that is not in the set the result
// is a failed one that names the tools there are.
func (s *Set) Invoke(ctx context.Context, name string, call Call) (item.ToolResult, error) {
	i, ok := s.index[name]
	if !ok {
		return finished(name, call, failure(s.unknown(name))), nil
	}
	return invoke(ctx, s.entries[i].tool, s.entries[i].args, call)
}

func (s *Set) unknown(name string) error {
	if len(s.entries) == 0 {
		return fmt.Errorf("there is no tool %q, nor any other; answer without tools", name)
	}
	names := make([]string, len(s.entries))
	for i, e := range s.entries {
		names[i] = e.spec.Name
	}
	return fmt.Errorf("there is no tool %q; the tools are %s", name, strings.Join(names, ", "))
}
