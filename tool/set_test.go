package tool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

func named(name string) tool.Tool {
	return tool.Func(name, "Says its name.", func(context.Context, struct{}) (string, error) { return name, nil })
}

func TestASetKeepsItsOrder(t *testing.T) {
	base, err := tool.NewSet(named("zeta"), named("alpha"))
	if err != nil {
		t.Fatal(err)
	}
	longer, err := base.With(named("mid"))
	if err != nil {
		t.Fatal(err)
	}
	names := func(s *tool.Set) (out []string) {
		for tl := range s.All() {
			out = append(out, tl.Spec().Name)
		}
		return out
	}
	if got := names(longer); !slices.Equal(got, []string{"zeta", "alpha", "mid"}) || longer.Len() != 3 || len(longer.Specs()) != 3 {
		t.Errorf("tools %v", got)
	}
	if got := names(base); !slices.Equal(got, []string{"zeta", "alpha"}) {
		t.Errorf("With changed the set it was asked of: %v", got)
	}
	if _, ok := base.Lookup("mid"); ok {
		t.Error("the shorter set knows the longer one's tool")
	}
}

func TestASetRefuses(t *testing.T) {
	for name, tools := range map[string][]tool.Tool{
		"two tools of this name":          {named("a"), named("a")},
		"letters, digits":                 {named("a.b")},
		"1 to 64":                         {named(strings.Repeat("a", 65))},
		"schema of the arguments":         {raw{schema: `{"type":3}`}},
		`tool "": a name has 1 to 64`:     {named("")},
		`tool "名前": a name has 1 to 64 l`: {named("名前")},
	} {
		if _, err := tool.NewSet(tools...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
}

func TestASetInvokesByName(t *testing.T) {
	set, err := tool.NewSet(named("a"), named("b"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := set.Invoke(t.Context(), "b", tool.Call{ID: "c1", Arguments: json.RawMessage(`{}`)})
	if err != nil || item.JoinText(res.Content) != "b" || res.CallID != "c1" {
		t.Errorf("got %+v, %v", res, err)
	}
	res, err = set.Invoke(t.Context(), "d", tool.Call{ID: "c2"})
	if err != nil || !res.Error || res.Name != "d" || res.CallID != "c2" || !strings.Contains(item.JoinText(res.Content), "the tools are a, b") {
		t.Errorf("unknown tool: %+v, %v", res, err)
	}
	res, _ = new(tool.Set).Invoke(t.Context(), "d", tool.Call{})
	if !res.Error || !strings.Contains(item.JoinText(res.Content), "answer without tools") {
		t.Errorf("empty set: %+v", res)
	}
}

func TestAPartOfASetHasItsToolsInTheirOrder(t *testing.T) {
	all, err := tool.NewSet(named("a"), named("b"), named("c"))
	if err != nil {
		t.Fatal(err)
	}
	part := all.Only(func(s tool.Spec) bool { return s.Name != "b" })
	res, err := part.Invoke(t.Context(), "c", tool.Call{})
	if _, gone := part.Lookup("b"); gone || part.Len() != 2 || all.Len() != 3 || err != nil || res.Content[0].Text != "c" {
		t.Errorf("got %d of %d tools, %+v, %v", part.Len(), all.Len(), res, err)
	}
}
