package lead_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestAnAgentHasTheSkillsThatItNames(t *testing.T) {
	opt := lead.Options{
		Agents: agents{{Name: "all"}, {Name: "some", Skills: []string{"report", "unheard-of"}}, {Name: "none", Skills: []string{}}},
		Skills: &middleware.SkillOptions{
			Tool: "load_skill",
			List: func(context.Context, *agent.Step) ([]middleware.Skill, error) {
				return []middleware.Skill{{Name: "report", Description: "Writes.", Path: "r"}, {Name: "research", Description: "Looks.", Path: "s"}}, nil
			},
			Load: func(_ context.Context, _ *agent.Step, k middleware.Skill) (string, error) {
				return "the text of " + k.Name, nil
			},
		},
	}
	for name, want := range map[string][2]bool{"": {true, true}, "all": {true, true}, "some": {true, false}, "none": {false, false}} {
		m := scripted.Sequence(scripted.Call("c1", "load_skill", `{"name":"report"}`), scripted.Call("c2", "load_skill", `{"name":"research"}`), scripted.Say("ok"))
		m.Record = true
		settings, err := json.Marshal(map[string]string{"agent_name": name})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, m, string(settings), opt)
		w.say("go")
		for i, skill := range []string{"report", "research"} {
			listed := strings.Contains(m.Requests()[0].System, "- "+skill+": ")
			loaded := strings.Contains(w.result([]string{"c1", "c2"}[i]), "the text of "+skill)
			if listed != want[i] || loaded != want[i] {
				t.Errorf("agent %q, skill %s: listed %v, loaded %v; want %v", name, skill, listed, loaded, want[i])
			}
		}
	}
}
