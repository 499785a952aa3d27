package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
)

// agentsCmd shows the agents that are built in.
type agentsCmd struct {
	Show agentsShowCmd `cmd:"" help:"Print what the roles of an agent are told."`
}

type agentsShowCmd struct {
	Name     string `arg:"" help:"The agent's graph, as in research."`
	Language string `help:"Only in this language." enum:"en,zh," default:""`
}

// promptsOf are the agents whose prompts are files.
var promptsOf = map[string]func() []research.Prompt{tributary.ResearchGraph: research.Prompts, tributary.ResearchAlias: research.Prompts}

func (c agentsShowCmd) Run(e *env) error {
	prompts, ok := promptsOf[c.Name]
	if !ok {
		return fmt.Errorf("there is no agent %q with prompts of its own; those that have are %s", c.Name, strings.Join(slices.Sorted(maps.Keys(promptsOf)), ", "))
	}
	for _, p := range prompts() {
		if c.Language == "" || c.Language == p.Language {
			fmt.Fprintln(e.stdout, p)
		}
	}
	return nil
}
