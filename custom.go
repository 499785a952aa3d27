package tributary

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/internal/custom"
)

// CustomAgents are the custom agents of a data folder, by owner: two files each, which people may also write by hand. The lead agent
// runs them (lead.Options has a place for these), and a runtime that has it lists each as an assistant of its owner's. An empty
// owner is the local user.
type CustomAgents struct {
	kept *custom.Agents
	log  *slog.Logger
}

var (
	_ lead.Agents = (*CustomAgents)(nil)
	_ lead.Keeper = (*CustomAgents)(nil)
)

// AgentsIn are the custom agents in a data folder, which need not belong to this process. log is told of those whose files somebody
// broke; it may be nil.
func AgentsIn(dir string, log *slog.Logger) *CustomAgents {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &CustomAgents{custom.New(dir), log}
}

// CustomAgents returns the custom agents in the runtime's folder.
func (r *Runtime) CustomAgents() *CustomAgents { return &CustomAgents{r.db.Agents, r.log} }

// Agent finds one; lead.ErrNoAgent if there is none.
func (c *CustomAgents) Agent(_ context.Context, owner, name string) (lead.Definition, error) {
	a, err := c.kept.Get(identity(owner).Owner, name)
	return definitionOf(a), known(err)
}

// Agents lists those that can be used, by name: one that somebody broke by hand must not stop every run.
func (c *CustomAgents) Agents(_ context.Context, owner string) ([]lead.Definition, error) {
	all, err := c.kept.List(identity(owner).Owner)
	if err != nil {
		return nil, err
	}
	var out []lead.Definition
	for _, a := range all {
		if a.Problem != "" {
			c.log.Warn("a custom agent cannot be used; mend its files or delete it", "err", a.Problem)
			continue
		}
		out = append(out, definitionOf(a))
	}
	return out, nil
}

// Valid says what is wrong with a name for an agent; an [*InvalidError].
func (c *CustomAgents) Valid(name string) error {
	_, err := custom.NameOf(name)
	return known(err)
}

// Create makes an agent and returns it as it is kept; lead.ErrAgentExists if its name is taken. What is wrong with it is an [*InvalidError].
// Its MaxSteps and Timeout are not kept.
func (c *CustomAgents) Create(_ context.Context, owner string, d lead.Definition) (lead.Definition, error) {
	a, err := c.kept.Create(identity(owner).Owner, agentOf(d))
	return definitionOf(a), known(err)
}

// Update changes an agent and returns it as it is then; lead.ErrNoAgent if there is none. An error of change is returned as it is.
func (c *CustomAgents) Update(_ context.Context, owner, name string, change func(*lead.Definition) error) (lead.Definition, error) {
	a, err := c.kept.Update(identity(owner).Owner, name, func(a *custom.Agent) error {
		d := definitionOf(*a)
		err := change(&d)
		*a = agentOf(d)
		return err
	})
	return definitionOf(a), known(err)
}

// Delete deletes an agent, whatever is in its folder; lead.ErrNoAgent if there is none.
func (c *CustomAgents) Delete(_ context.Context, owner, name string) error {
	return known(c.kept.Delete(identity(owner).Owner, name))
}

// known says in the words of this package and of package lead what is wrong.
func known(err error) error {
	var invalid *custom.InvalidError
	switch {
	case errors.As(err, &invalid):
		return &as{err, &InvalidError{invalid.Field, invalid.Problem}}
	case errors.Is(err, custom.ErrNone):
		return lead.ErrNoAgent
	case errors.Is(err, custom.ErrExists):
		return lead.ErrAgentExists
	}
	return err
}

func definitionOf(a custom.Agent) lead.Definition {
	return lead.Definition{
		Name: a.Name, Description: a.Description, Soul: a.Soul, Model: a.Model, Groups: a.Groups, Skills: a.Skills,
		Thinking: a.Thinking, Effort: a.Effort, Temp: a.Settings.Temperature, MaxTokens: a.Settings.MaxTokens, Changed: a.Changed,
	}
}

func agentOf(d lead.Definition) custom.Agent {
	return custom.Agent{
		Name: d.Name, Description: d.Description, Soul: d.Soul, Model: d.Model, Groups: d.Groups, Skills: d.Skills,
		Thinking: d.Thinking, Effort: d.Effort, Settings: custom.Settings{Temperature: d.Temp, MaxTokens: d.MaxTokens},
	}
}
