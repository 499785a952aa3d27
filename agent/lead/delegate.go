package lead

import (
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/tool"
)

// TaskTool is the name of the tool with which the model delegates.
const TaskTool = "task"

// bashTool is the name of the tool that runs commands of a shell.
const bashTool = "bash"

// What sub-agents may do where nobody says otherwise.
const (
	generalSteps = 150
	specialSteps = 60
	customSteps  = 50

	builtinTimeout = 30 * time.Minute
	customTimeout  = 15 * time.Minute

	usualConcurrent = 3
	usualTotal      = 6
)

// Subagent is a sub-agent that the agent can delegate to.
type Subagent struct {
	Name        string
	Description string
	Model       string // where it is not the lead's
	Tools       []string
	MaxSteps    int
	Timeout     time.Duration
}

// helper is a built-in sub-agent.
type helper struct {
	name, description, prompt string
	steps                     int
	// has says which of the lead's tools it is given.
	has func(tool.Spec) bool
	// needs is a tool without which it makes no sense.
	needs string
}

var helpers = []helper{
	{
		name: "general-purpose", steps: generalSteps,
		description: "for work of several steps that would fill this conversation with details",
		prompt:      "You are a capable helper. You were given one task by another agent, and no person can answer questions: decide for yourself, and say what you assumed.",
		has:         func(tool.Spec) bool { return true },
	},
	{
		name: "researcher", steps: specialSteps,
		description: "for finding things out: it searches and reads, and changes nothing",
		prompt:      "You are a researcher. Search, read and compare; say what you found, where, and how sure you are. You change nothing.",
		has:         harmless,
	},
	{
		name: "bash", steps: specialSteps, needs: bashTool,
		description: "for work in the shell: builds, tests, scripts, data",
		prompt:      "You work in a shell. Do the task step by step, look at what each command says before the next one, and report what you did and what came of it.",
		has: func(s tool.Spec) bool {
			return s.Name == bashTool || s.Group == filesGroup
		},
	},
}

const reportRule = "Your last message is all that the agent who gave you the task will read: make it complete and brief, with names of files and sources."

// delegation offers sub-agents behind one tool, and keeps the ledger.
func (a *assembly) delegation() (team *agent.Team, off string, err error) {
	if !on(a.settings.Subagents) {
		return nil, "subagent_enabled is not set", nil
	}
	if on(a.settings.Bootstrap) {
		return nil, "an agent is being made: is_bootstrap", nil
	}
	team = &agent.Team{
		Tool: TaskTool,
		Description: "Has a sub-agent do a piece of work on its own, and returns its report. Give it everything that it needs to know: it sees nothing of this " +
			"conversation. Pieces that do not depend on each other can be given in one answer; they are done at the same time. Do what is quick yourself. " +
			"The sub-agents are:",
		Ended:  ledger,
		Lend:   lend,
		Return: giveBack,
	}
	for _, h := range helpers {
		if h.needs != "" && !a.hasTool(h.needs) {
			a.leaveOut("sub-agent "+h.name, "there is no tool "+h.needs)
			continue
		}
		set, names := a.toolsFor(func(s tool.Spec) string {
			if !h.has(s) {
				return "not for " + h.name
			}
			return ""
		})
		sub := &assembly{parts: a.parts, settings: a.settings, unattended: a.unattended, sub: true, tools: set}
		team.Members = append(team.Members, agent.Sub{Name: h.name, Description: h.description, Timeout: builtinTimeout, Options: agent.Options{
			Tools: set, System: h.prompt + "\n\n" + reportRule, MaxSteps: h.steps, Middleware: sub.chain(), Thinking: a.choice.Thinking, Extra: a.choice.Extra,
		}})
		a.out.Subagents = append(a.out.Subagents, Subagent{Name: h.name, Description: h.description, Tools: names, MaxSteps: h.steps, Timeout: builtinTimeout})
	}
	for _, d := range a.parts.Custom {
		if err := a.customMember(team, d); err != nil {
			return nil, "", err
		}
	}
	team.Background = a.begin(team)
	a.offer(tool.Spec{Name: team.Tool, Group: "subagents", Description: team.Description})
	return team, "", nil
}

// customMember makes a custom agent a sub-agent.
func (a *assembly) customMember(team *agent.Team, d Definition) error {
	if a.parts.Definition != nil && a.parts.Definition.Name == d.Name {
		return nil // it is this one
	}
	for i := range team.Members { // by number: a member is a large value, and there may be hundreds
		if team.Members[i].Name == d.Name {
			return nil // a built-in one has its name
		}
	}
	sub := agent.Sub{Name: d.Name, Description: d.Description, Timeout: d.Timeout, Make: func() (agent.Options, error) {
		o, _, err := a.customOptions(d)
		return o, err
	}}
	if sub.Timeout <= 0 {
		sub.Timeout = customTimeout
	}
	team.Members = append(team.Members, sub)
	if !a.parts.Listing { // of a hundred agents a run calls a few: what nobody looks at is made when it is called
		a.out.Subagents = append(a.out.Subagents, Subagent{Name: d.Name, Description: d.Description, Timeout: sub.Timeout})
		return nil
	}
	o, name, err := a.customOptions(d)
	if err != nil {
		return err
	}
	var names []string
	for _, spec := range o.Tools.Specs() {
		names = append(names, spec.Name)
	}
	a.out.Subagents = append(a.out.Subagents, Subagent{Name: d.Name, Description: d.Description, Model: name, Tools: names, MaxSteps: o.MaxSteps, Timeout: sub.Timeout})
	return nil
}

// customOptions are those of a custom agent as a sub-agent, with the name of its model.
func (a *assembly) customOptions(d Definition) (agent.Options, string, error) {
	sub := &assembly{parts: a.parts, unattended: a.unattended, sub: true}
	sub.parts.Definition = &d
	if err := sub.choose(); err != nil {
		return agent.Options{}, "", fmt.Errorf("sub-agent %q: %w", d.Name, err)
	}
	sub.tools, _ = a.toolsFor(d.allows)
	o := agent.Options{
		Model: sub.choice.Model, Fallbacks: sub.choice.Fallbacks, Tools: sub.tools, System: join(role(&d), d.Soul, reportRule), MaxSteps: d.MaxSteps,
		Middleware: sub.chain(), Thinking: sub.choice.Thinking, Extra: sub.choice.Extra, Warnings: sub.warnings(),
	}
	if o.MaxSteps <= 0 {
		o.MaxSteps = customSteps
	}
	return o, sub.out.Model.Name, nil
}

// toolsFor are those of the agent's own tools that a sub-agent is given.
func (a *assembly) toolsFor(why func(tool.Spec) string) (*tool.Set, []string) {
	set := a.tools.Only(func(s tool.Spec) bool { return why(s) == "" })
	var names []string
	for _, spec := range set.Specs() {
		names = append(names, spec.Name)
	}
	return set, names
}

// ledger is what is written of a sub-agent's work when it has ended.
func ledger(d agent.Delegation) []graph.Write {
	return []graph.Write{Delegations.Set([]Delegation{{ID: d.ID, Agent: d.Agent, Description: d.Title, Status: d.Status, Result: clip(d.Text, resultRunes)}})}
}

// lend is what a sub-agent knows of the thread: what a person approved for it.
func lend(s *graph.Scope) []graph.Write {
	if approved := Approved.Get(s); len(approved) > 0 {
		return []graph.Write{Approved.Add(approved...)}
	}
	return nil
}

// giveBack is what the thread keeps of a sub-agent's state: the files that it presented, and what a person approved.
func giveBack(r graph.Result) ([]graph.Write, error) {
	var out []graph.Write
	files, err := graph.Decode(r, Artifacts.Field)
	if err == nil && len(files) > 0 {
		out = append(out, Artifacts.Add(files...))
	}
	if err != nil {
		return nil, err
	}
	approved, err := graph.Decode(r, Approved.Field)
	if err == nil && len(approved) > 0 {
		out = append(out, Approved.Add(approved...))
	}
	return out, err
}
