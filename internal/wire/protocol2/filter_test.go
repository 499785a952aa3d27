package protocol2_test

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

func TestFilter(t *testing.T) {
	depth := func(n int) *int { return &n }
	all := []string{"values"}
	for _, c := range []struct {
		name   string
		filter protocol2.Filter
		event  protocol2.Event
		want   bool
	}{
		{"no channel", protocol2.Filter{}, protocol2.Event{Seq: 1, Channel: "values"}, false},
		{"its channel", protocol2.Filter{Channels: all}, protocol2.Event{Seq: 1, Channel: "values"}, true},
		{"another channel", protocol2.Filter{Channels: all}, protocol2.Event{Seq: 1, Channel: "updates"}, false},
		{"custom is for all names", protocol2.Filter{Channels: []string{"custom"}}, protocol2.Event{Seq: 1, Channel: "custom:a"}, true},
		{"a name is for itself", protocol2.Filter{Channels: []string{"custom:b"}}, protocol2.Event{Seq: 1, Channel: "custom:a"}, false},
		{"a name is not for the nameless", protocol2.Filter{Channels: []string{"custom:a"}}, protocol2.Event{Seq: 1, Channel: "custom"}, false},
		{"seen before", protocol2.Filter{Channels: all, Since: 5}, protocol2.Event{Seq: 5, Channel: "values"}, false},
		{"the next one", protocol2.Filter{Channels: all, Since: 5}, protocol2.Event{Seq: 6, Channel: "values"}, true},
		{"root prefix, any depth", protocol2.Filter{Channels: all, Namespaces: [][]string{{}}},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1", "b:2"}}, true},
		{"root prefix, depth 1", protocol2.Filter{Channels: all, Namespaces: [][]string{{}}, Depth: depth(1)},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1", "b:2"}}, false},
		{"root prefix, depth 0", protocol2.Filter{Channels: all, Namespaces: [][]string{{}}, Depth: depth(0)},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{}}, true},
		{"depth counts from the prefix", protocol2.Filter{Channels: all, Namespaces: [][]string{{"a:1"}}, Depth: depth(1)},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1", "b:2"}}, true},
		{"a node stands for its executions", protocol2.Filter{Channels: all, Namespaces: [][]string{{"a"}}},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1"}}, true},
		{"an execution stands for itself", protocol2.Filter{Channels: all, Namespaces: [][]string{{"a:2"}}},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1"}}, false},
		{"one of several", protocol2.Filter{Channels: all, Namespaces: [][]string{{"x"}, {"a"}}},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1"}}, true},
		{"a prefix that is longer", protocol2.Filter{Channels: all, Namespaces: [][]string{{"a", "b"}}},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"a:1"}}, false},
		{"not a prefix of the name", protocol2.Filter{Channels: all, Namespaces: [][]string{{"ag"}}},
			protocol2.Event{Seq: 1, Channel: "values", Namespace: []string{"agent:1"}}, false},
	} {
		if got := c.filter.Match(&c.event); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestFilterOfAClientIsChecked(t *testing.T) {
	negative := -1
	for _, f := range []protocol2.Filter{
		{}, {Channels: []string{"vlaues"}}, {Channels: []string{"custom:"}}, {Channels: []string{"values"}, Depth: &negative},
	} {
		if f.Validate() == nil {
			t.Errorf("%v was accepted", f)
		}
	}
	if err := (&protocol2.Filter{Channels: []string{"values", "input", "custom:x"}}).Validate(); err != nil {
		t.Error(err)
	}
}
