package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/search"
)

type agentsCmd struct {
	Show   agentsShowCmd   `cmd:"" help:"Show how an agent would be assembled for a run with some settings."`
	List   agentsListCmd   `cmd:"" help:"List the custom agents."`
	Create agentsCreateCmd `cmd:"" help:"Make a custom agent."`
	Delete agentsDeleteCmd `cmd:"" help:"Delete a custom agent."`
}

type agentsShowCmd struct {
	Name     string            `arg:"" optional:"" default:"agent" help:"The agent: agent, or the name of a custom one."`
	Language string            `help:"Of an agent whose prompts are files: only in this language." enum:"en,zh," default:""`
	Set      map[string]string `help:"A setting of the run, as in --set is_plan_mode=true. May be given several times." placeholder:"KEY=VALUE" mapsep:"none"`
}

// promptsOf are the agents whose prompts are files.
var promptsOf = map[string]func() []research.Prompt{tributary.ResearchGraph: research.Prompts, tributary.ResearchAlias: research.Prompts}

// Run prints what would be assembled, without starting anything.
func (c agentsShowCmd) Run(e *env) error {
	if prompts, ok := promptsOf[c.Name]; ok {
		for _, p := range prompts() {
			if c.Language == "" || c.Language == p.Language {
				fmt.Fprintln(e.stdout, p)
			}
		}
		return nil
	}
	reg, err := e.config.models()
	if err != nil {
		return err
	}
	all, err := e.hands(e.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer all.Close()
	factory, err := e.config.factory(all, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	tools := []tool.Tool{search.ToolOf(nil)}
	for _, k := range all {
		tools = append(tools, k.tools...)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		return err
	}
	run, err := c.run()
	if err != nil {
		return err
	}
	a, err := factory.Assemble(e.ctx, run, lead.Base{
		Options: agent.Options{Tools: set, System: e.config.System, MaxSteps: e.config.MaxSteps}, Models: reg,
	})
	var wish *model.WishError
	if errors.As(err, &wish) {
		return remedied{fmt.Errorf("agent %q: %w", c.Name, err), "known settings are " + strings.Join(lead.Keys(), ", ")}
	}
	if err != nil {
		return err
	}
	return printAgent(e.stdout, a)
}

// run is a run with the settings of the command line. A value is JSON, or else a text.
func (c agentsShowCmd) run() (lead.Run, error) {
	values := map[string]json.RawMessage{}
	for k, v := range c.Set {
		if !slices.Contains(lead.Keys(), k) {
			return lead.Run{}, remedied{fmt.Errorf("there is no setting %q", k), "known are " + strings.Join(lead.Keys(), ", ")}
		}
		values[k] = json.RawMessage(v)
		if !json.Valid(values[k]) {
			values[k], _ = json.Marshal(v) // a text always encodes
		}
	}
	if c.Name != tributary.DefaultGraph && c.Name != tributary.LeadGraph {
		values["agent_name"], _ = json.Marshal(c.Name)
	}
	raw, err := json.Marshal(values)
	return lead.Run{Owner: tributary.DefaultOwner, Configurable: raw}, err
}

func printAgent(out io.Writer, a lead.Assembled) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	title := a.Name
	if title == "" {
		title = "the lead agent"
	}
	fmt.Fprintf(w, "agent\t%s\n", title)
	fmt.Fprintf(w, "model\t%s: %s\n", a.Model.Name, a.Model.Why)
	thinking := "no"
	if a.Model.Thinking.On {
		thinking = strings.TrimSpace("yes " + a.Model.Thinking.Effort)
	}
	fmt.Fprintf(w, "thinking\t%s\n", thinking)
	fmt.Fprintf(w, "limits\t%d model calls an answer; sub-agents: %d at once, %d in a run\n", a.MaxSteps, a.Limits.Concurrent, a.Limits.Count)
	for _, warning := range a.Warnings {
		fmt.Fprintf(w, "warning\t%s: %s\n", warning.Code, warning.Message)
	}
	if a.Refused != nil {
		fmt.Fprintf(w, "refused\ta new run with these settings is refused: %v\n", a.Refused)
	}
	fmt.Fprintln(w, "\nTOOL\tGROUP\tCAN\tRULE\tTOKENS\t")
	total := 0
	for _, t := range a.Tools {
		off := ""
		if t.Off != "" {
			off = "off: " + t.Off
		} else {
			total += t.Tokens
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", t.Name, t.Group, t.Can, t.Asks, t.Tokens, off)
	}
	for _, m := range a.Missing {
		fmt.Fprintf(w, "-\t%s\t\t\t\toff: %s\n", m.Name, m.Why)
	}
	if len(a.Subagents) > 0 {
		fmt.Fprintln(w, "\nSUB-AGENT\tMODEL\tSTEPS\tTIME\tTOOLS")
	}
	for _, s := range a.Subagents {
		name := s.Model
		if name == "" {
			name = "the lead's"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%v\t%s\n", s.Name, name, s.MaxSteps, s.Timeout, strings.Join(s.Tools, " "))
	}
	fmt.Fprintln(w, "\nMIDDLEWARE, THE OUTERMOST FIRST")
	n := 0
	for _, m := range a.Middleware {
		if m.Off != "" {
			fmt.Fprintf(w, " -\t%s\toff: %s\n", m.Name, m.Off)
			continue
		}
		n++
		fmt.Fprintf(w, "%2d\t%s\t\n", n, m.Name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	prompt := 0
	for _, s := range a.Prompt {
		prompt += s.Tokens
	}
	fmt.Fprintf(out, "\nPROMPT, %d tokens; with the tools' descriptions %d\n", prompt, prompt+total)
	for _, s := range a.Prompt {
		fmt.Fprintf(out, "\n[%s, %d tokens]\n%s\n", s.Name, s.Tokens, s.Text)
	}
	return nil
}
