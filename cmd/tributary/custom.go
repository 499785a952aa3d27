package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/custom"
)

type agentsListCmd struct{}

// Run lists the custom agents.
func (agentsListCmd) Run(e *env) error {
	all, err := custom.New(e.config.Data).List(tributary.DefaultOwner)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(e.stdout, "There are no custom agents. tributary agents create makes one.")
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMODEL\tTOOLS\tSKILLS\tDESCRIPTION")
	for _, a := range all {
		if a.Problem != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\tcannot be used: %s\n", a.Name, a.Problem)
			continue
		}
		model := a.Model
		if model == "" {
			model = "the default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Name, model, someOf(a.Groups), someOf(a.Skills), firstSentence(a.Description))
	}
	return w.Flush()
}

// someOf says which of a list an agent has.
func someOf(names []string) string {
	switch {
	case names == nil:
		return "all"
	case len(names) == 0:
		return "none"
	}
	return strings.Join(names, " ")
}

type agentsCreateCmd struct {
	Name        string   `arg:"" help:"Its name: letters, digits and dashes."`
	Description string   `help:"What it is good for." placeholder:"TEXT"`
	Model       string   `help:"The model that answers; without it the default." placeholder:"NAME"`
	Temperature *float64 `help:"Of its model calls, from 0 to 2." placeholder:"NUMBER"`
	MaxTokens   int      `help:"How long an answer of its model may be." placeholder:"NUMBER"`
	Thinking    *bool    `help:"Whether its model thinks." negatable:""`
	Effort      string   `help:"How much it thinks: low, medium or high." placeholder:"WORD"`
	Groups      []string `help:"Groups of tools that it has, as in web,files:read. Without it all; none if it is empty." placeholder:"GROUP" name:"tools"`
	Skills      []string `help:"Skills that it has. Without it all; none if it is empty." placeholder:"NAME"`
	Soul        string   `help:"File with its character and knowledge, in Markdown." type:"existingfile" placeholder:"FILE"`
}

// Run makes an agent.
func (c agentsCreateCmd) Run(e *env) error {
	a := custom.Agent{
		Name: c.Name, Description: c.Description, Model: c.Model, Settings: custom.Settings{Temperature: c.Temperature, MaxTokens: c.MaxTokens},
		Thinking: c.Thinking, Effort: c.Effort, Groups: given(c.Groups), Skills: given(c.Skills),
	}
	if c.Soul != "" {
		soul, err := os.ReadFile(c.Soul)
		if err != nil {
			return remedied{err, "give a file that you may read with --soul"}
		}
		a.Soul = string(soul)
	}
	a, err := custom.New(e.config.Data).Create(tributary.DefaultOwner, a)
	if err != nil {
		return fmt.Errorf("create agent %q: %w", c.Name, err)
	}
	fmt.Fprintf(e.stdout, "%s can be used at once: name it in a run's configuration as agent_name, or let agents delegate to it.\n", a.Name)
	return nil
}

// given is a list of the command line: --skills= is an empty one.
func given(names []string) []string {
	if len(names) == 1 && names[0] == "" {
		return []string{}
	}
	return names
}

type agentsDeleteCmd struct {
	Name string `arg:"" help:"Its name, as agents list shows it."`
}

// Run deletes an agent.
func (c agentsDeleteCmd) Run(e *env) error {
	err := custom.New(e.config.Data).Delete(tributary.DefaultOwner, c.Name)
	if errors.Is(err, custom.ErrNone) {
		return remedied{fmt.Errorf("there is no agent %q", c.Name), "tributary agents list shows those that there are"}
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "%s is deleted.\n", c.Name)
	}
	return err
}
