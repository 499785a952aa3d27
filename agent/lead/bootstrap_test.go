package lead_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// keeper keeps agents in memory.
type keeper struct {
	mu   sync.Mutex
	kept map[string]lead.Definition
}

func (k *keeper) Valid(name string) error {
	if strings.HasPrefix(name, "user-") {
		return errors.New("user- is the platform's")
	}
	return nil
}

func (k *keeper) Create(_ context.Context, _ string, d lead.Definition) (lead.Definition, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, there := k.kept[d.Name]; there {
		return d, lead.ErrAgentExists
	}
	k.kept[d.Name] = d
	return d, nil
}

func (k *keeper) Update(_ context.Context, _, name string, change func(*lead.Definition) error) (lead.Definition, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, there := k.kept[name]
	if !there {
		return d, lead.ErrNoAgent
	}
	if err := change(&d); err != nil {
		return d, err
	}
	k.kept[name] = d
	return d, nil
}

func (k *keeper) Agent(_ context.Context, _, name string) (lead.Definition, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d, there := k.kept[name]; there {
		return d, nil
	}
	return lead.Definition{}, lead.ErrNoAgent
}

func (k *keeper) Agents(context.Context, string) ([]lead.Definition, error) { return nil, nil }

func TestARunThatMakesAnAgentCanDoNothingElse(t *testing.T) {
	k := &keeper{kept: map[string]lead.Definition{}}
	m := scripted.Sequence(
		scripted.Call("c1", "risky", `{"s":"x"}`),
		scripted.Call("c2", "setup_agent", `{"soul":"You know rivers.","description":"Rivers.","tool_groups":["world"]}`),
		scripted.Call("c3", "setup_agent", `{"soul":"You know rivers.","description":"Rivers.","tool_groups":["world"]}`),
		scripted.Call("c4", "setup_agent", `{"soul":"You know lakes.","description":"Lakes."}`),
		scripted.Call("c5", "setup_agent", `{"soul":"x","description":"x","tool_groups":["none"]}`),
		scripted.Say("done"))
	m.Record = true
	calls := 0
	w := newWorld(t, m, `{"is_bootstrap":true,"agent_name":"River","subagent_enabled":true}`, lead.Options{Agents: k, Keeper: k}, risky{name: "risky", group: "world", calls: &calls})
	w.say("Make me one.")
	var names []string
	for _, s := range m.Requests()[0].Tools {
		names = append(names, s.Name)
	}
	if strings.Join(names, " ") != "setup_agent ask_clarification" || calls != 0 {
		t.Errorf("it has %q and called the other tool %d times", names, calls)
	}
	d := k.kept["river"]
	if len(k.kept) != 1 || d.Soul != "You know rivers." || d.Description != "Rivers." || d.Skills != nil || len(d.Groups) != 1 {
		t.Errorf("kept is %+v", k.kept)
	}
	for call, want := range map[string]string{"c2": "The agent river is there", "c3": "The agent river is there", "c4": "already, which is another", "c5": "tool_groups"} {
		if got := w.result(call); !strings.Contains(got, want) {
			t.Errorf("%s: the model is told %q, want %q", call, got, want)
		}
	}
	for settings, want := range map[string]string{`{"is_bootstrap":true,"agent_name":"user-x"}`: "agent_name", `{"is_bootstrap":7}`: "is_bootstrap"} {
		var wish *model.WishError
		if _, err := w.factory.Graph(t.Context(), lead.Run{Configurable: []byte(settings)}, w.base); !errors.As(err, &wish) || wish.Setting != want {
			t.Errorf("%s: got %v", settings, err)
		}
	}
	f, err := lead.New(lead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wish *model.WishError
	if _, err := f.Graph(t.Context(), lead.Run{Configurable: []byte(`{"is_bootstrap":true}`)}, w.base); !errors.As(err, &wish) || wish.Setting != "is_bootstrap" {
		t.Errorf("where nobody keeps agents: got %v", err)
	}
}

func TestAnAgentMayChangeWhatItIsAndNotWhatItMayDo(t *testing.T) {
	k := &keeper{kept: map[string]lead.Definition{"river": {Name: "river", Soul: "You know rivers.", Model: "x", Groups: []string{"agents"}}, "bare": {Name: "bare", Groups: []string{}}}}
	m := scripted.Sequence(
		scripted.Call("c1", "update_agent", `{"soul":"You know lakes.","skills":[]}`),
		scripted.Call("c2", "update_agent", `{"tool_groups":["world"]}`),
		scripted.Call("c3", "update_agent", `{}`),
		scripted.Say("done"))
	w := newWorld(t, m, `{"agent_name":"river"}`, lead.Options{Agents: k, Keeper: k})
	w.say("Be of lakes.")
	d := k.kept["river"]
	if d.Soul != "You know lakes." || d.Skills == nil || d.Model != "x" || len(d.Groups) != 1 {
		t.Errorf("it is %+v", d)
	}
	for call, want := range map[string]string{"c1": "It is changed", "c2": "tool_groups", "c3": ""} {
		if got := w.result(call); !strings.Contains(got, want) || call != "c1" && strings.Contains(got, "It is changed") {
			t.Errorf("%s: the model is told %q", call, got)
		}
	}
	has := func(settings string, rules lead.Rules) bool {
		t.Helper()
		f, err := lead.New(lead.Options{Agents: k, Keeper: k, Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.Assemble(t.Context(), lead.Run{Configurable: []byte(settings)}, w.base)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range a.Tools {
			if tool.Name == "update_agent" && tool.Off == "" {
				return true
			}
		}
		return false
	}
	denied := lead.Rules{List: []lead.Rule{{Risk: tool.Writes, Do: lead.Deny}}}
	for settings, want := range map[string]bool{`{"agent_name":"river"}`: true, `{"agent_name":"bare"}`: false, `{}`: false, `{"agent_name":"river","non_interactive":true}`: false} {
		if got := has(settings, lead.Rules{}); got != want {
			t.Errorf("%s: it can change itself: %v, want %v", settings, got, want)
		}
	}
	if has(`{"agent_name":"river"}`, denied) {
		t.Error("it can change itself against a rule")
	}
}
