package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

func shelfOf(specs ...string) *shelf {
	var list []tool.Tool
	for i := 0; i+1 < len(specs); i += 2 {
		list = append(list, tool.Func(specs[i], specs[i+1], func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	sh := &shelf{}
	sh.fill(list)
	return sh
}

func TestTheToolThatFitsBestIsFoundFirst(t *testing.T) {
	sh := shelfOf(
		"github__create_issue", "Opens an issue in a repository.",
		"github__list_issues", "Lists the issues of a repository.",
		"mail__send", "Sends a message to somebody.",
		"calendar__create_event", "Creates an event; others are sent an invitation.",
	)
	for query, want := range map[string]string{
		"create issue": "github__create_issue", "list of all issues": "github__list_issues", "send a mail": "mail__send",
		"MAIL__SEND": "mail__send", "invitations": "calendar__create_event",
	} {
		got := sh.find(query, 3)
		if len(got) == 0 || got[0].Name != want {
			t.Errorf("%q finds %v, want %s", query, got, want)
		}
	}
	if got := sh.find("bake bread", 5); len(got) > 0 {
		t.Errorf("what nobody does is done by %v", got)
	}
}

// What was found is shown behind the rest, in the order in which it was found; what was not is not shown.
func TestShownIsTheRestAndWhatWasFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "hidden")
		sh := &shelf{specs: map[string]tool.Spec{}}
		all := []model.Tool{{Name: "bash"}}
		for i := range n {
			name := fmt.Sprintf("s__%d", i)
			sh.specs[name] = tool.Spec{Name: name}
			all = append(all, model.Tool{Name: name})
		}
		all = append(all, model.Tool{Name: Name})
		found := rapid.SliceOfDistinct(rapid.SampledFrom(append(all, model.Tool{Name: "s__gone"})), func(t model.Tool) string { return t.Name }).Draw(t, "found")
		var names, want, got []string
		want = []string{"bash", Name}
		for _, f := range found {
			names = append(names, f.Name)
			if strings.HasPrefix(f.Name, "s__") && f.Name != "s__gone" {
				want = append(want, f.Name)
			}
		}
		for _, s := range sh.shown(all, names) {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("shown are %v, want %v", got, want)
		}
	})
}

func TestAQueryMayBeAnything(t *testing.T) {
	sh := shelfOf("a__b", "Does c.")
	rapid.Check(t, func(t *rapid.T) {
		if got := sh.find(rapid.String().Draw(t, "query"), 1); len(got) > 1 {
			t.Errorf("found %v", got)
		}
	})
}
