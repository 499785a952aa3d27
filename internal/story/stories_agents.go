package story

import (
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

var bootstrap = Story{
	Name: "bootstrap",
	Tells: `A person has an agent made, which answers the next question on the thread.

The first two runs have is_bootstrap set: they ask what the agent is for, and make it with setup_agent. The third one names the agent, and
has its soul.
`,
	Happens: func(w *World) {
		kept := tributary.AgentsIn(w.dir, nil)
		o := lead.Options{Without: append([]string{"title"}, bare...), Agents: kept, Keeper: kept}
		w.lead(scripted.Sequence(
			calling("call_1", "ask_clarification", `{"question":"What is it to know?","clarification_type":"missing_info"}`),
			calling("call_2", "setup_agent", `{"soul":"You know rivers.","description":"Answers questions about rivers.","skills":[]}`),
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
