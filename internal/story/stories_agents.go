package story

import (
	"context"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// howTo is a skill that says how an agent is made, in fewer words than the one that is built in.
var howTo = &middleware.SkillOptions{
	Tool: tributary.SkillTool,
	List: func(context.Context, *agent.Step) ([]middleware.Skill, error) {
		return []middleware.Skill{{Name: "bootstrap", Description: "Makes agents.", Path: "bootstrap/SKILL.md"}, {Name: "report", Description: "Writes.", Path: "report/SKILL.md"}}, nil
	},
	Load: func(context.Context, *agent.Step, middleware.Skill) (string, error) {
		return "Ask what it is for. Then make it.", nil
	},
}

var bootstrap = Story{
	Name: "bootstrap",
	Tells: `A person has an agent made, which answers the next question on the thread.

The first two runs have is_bootstrap set: they load the skill bootstrap, ask what the agent is for, and make it with setup_agent. The third
one names the agent, and has its soul.
`,
	Happens: func(w *World) {
		kept := tributary.AgentsIn(w.dir, nil)
		o := lead.Options{Without: bare, Agents: kept, Keeper: kept, Skills: howTo}
		w.lead(scripted.Sequence(
			calling("call_1", "load_skill", `{"name":"bootstrap"}`),
			calling("call_2", "ask_clarification", `{"question":"What is it to know?","clarification_type":"missing_info"}`),
			calling("call_3", "setup_agent", `{"soul":"You know rivers.","description":"Answers questions about rivers.","skills":[]}`),
			says("river is there."),
		), `{"is_bootstrap":true,"agent_name":"river"}`, o)
		w.ask("Make me an agent.", run.Interrupted)
		w.answer("Rivers.", run.Success)
		w.lead(scripted.New(func(r model.Request) scripted.Script {
			if !strings.Contains(r.System, "You know rivers.") {
				return says("I know nothing.")
			}
			return says("I know rivers.")
		}), `{"agent_name":"river"}`, o)
		w.ask("What do you know?", run.Success)
	},
}
