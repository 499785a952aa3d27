package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/internal/trial"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/registry"
)

type modelsCmd struct {
	List  modelsListCmd  `cmd:"" default:"withargs" help:"List the models, and say why one cannot be used."`
	Check modelsCheckCmd `cmd:"" help:"Make the smallest real calls of a model, which cost a little, and say what works."`
}

type modelsListCmd struct {
	JSON bool `help:"Print a line of JSON for each model." name:"json"`
}

// modelLine is a model as programs are told of it.
type modelLine struct {
	Name      string   `json:"name"`
	Provider  string   `json:"provider"`
	Model     string   `json:"model"`
	Thinking  bool     `json:"thinking"`
	Vision    bool     `json:"vision"`
	Window    int      `json:"context_window,omitempty"`
	Default   bool     `json:"default"`
	Usable    bool     `json:"usable"`
	Problem   string   `json:"problem,omitempty"`
	Elsewhere string   `json:"base_url_from,omitempty"`
	Fallbacks []string `json:"fallbacks,omitempty"`
}

// Run lists the models in the order in which they are chosen from.
func (c modelsListCmd) Run(e *env) error {
	reg, err := e.config.models()
	if err != nil {
		return err
	}
	usual, _, _ := reg.Resolve("", "") // none, if no model can be used
	out := json.NewEncoder(e.stdout)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(w, "NAME\tPROVIDER\tMODEL\tTHINKING\tVISION\tSTATE")
	}
	for _, m := range reg.Models() {
		if c.JSON {
			if err := out.Encode(modelLine{
				m.Name, m.Provider, m.Info.Model, m.Thinking, m.Vision, m.ContextWindow, m.Name == usual.Name, m.Usable(), m.Problem, m.Elsewhere, m.Fallbacks,
			}); err != nil {
				return err
			}
			continue
		}
		state := "ready"
		switch {
		case !m.Usable():
			state = "not usable: " + m.Problem
		case m.Name == usual.Name:
			state = "the default, ready"
		}
		if m.Elsewhere != "" {
			state += ", at the address in " + m.Elsewhere
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Provider, m.Info.Model, yes(m.Thinking), yes(m.Vision), state)
	}
	return w.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}

type modelsCheckCmd struct {
	Name    string   `arg:"" optional:"" help:"Which model; without it, the default."`
	Without []string `help:"Checks to leave out, as in 'too long'. ${checks}." placeholder:"CHECK"`
	JSON    bool     `help:"Print a line of JSON for each check." name:"json"`
}

// Run makes the checks and prints each result as it comes. It fails if one of them does.
func (c modelsCheckCmd) Run(e *env) error {
	for _, name := range c.Without {
		if !slices.Contains(trial.Names(), name) {
			return fmt.Errorf("there is no check %q; there are: %s", name, strings.Join(trial.Names(), ", "))
		}
	}
	reg, err := e.config.models()
	if err != nil {
		return err
	}
	entry, _, err := reg.Resolve(c.Name, "")
	if err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprintf(e.stderr, "%s: %s of %s\n", entry.Name, entry.Info.Model, entry.Provider)
		fmt.Fprintf(e.stdout, "%-24s %-8s %7s %7s %7s %9s  %s\n", "CHECK", "RESULT", "TIME", "IN", "OUT", "COST", "WHAT WAS SEEN")
	}
	if entry.Provider == "offline" {
		fmt.Fprintln(e.stderr, "This is the built-in program, which can do little; tributary models says what is missing for the others.")
	}
	made, failed := 0, 0
	var sum item.Usage
	print := func(r trial.Result) {
		made++
		if r.State == trial.Fails {
			failed++
		}
		sum.InputTokens += r.Usage.InputTokens
		sum.OutputTokens += r.Usage.OutputTokens
		sum.CostMicros += r.Usage.CostMicros
		c.print(e, entry, r)
	}
	trial.Run(e.ctx, trial.Subject{Model: entry.Model(), Info: entry.Info}, func(name string) bool { return slices.Contains(c.Without, name) }, print)
	if e.ctx.Err() != nil {
		return errStopped
	}
	if left := len(trial.Names()) - made; left > 0 && !c.JSON {
		fmt.Fprintf(e.stderr, "%s not made: no call can succeed before that is mended\n", plural(left, "check"))
	}
	if !c.JSON {
		fmt.Fprintf(e.stdout, "%-24s %-8s %7s %7d %7d %9s\n", "all", "", "", sum.InputTokens, sum.OutputTokens, cost(entry, sum))
	}
	if failed > 0 {
		return fmt.Errorf("model %s: %s", entry.Name, plural(failed, "check")+" failed")
	}
	return nil
}

func (c modelsCheckCmd) print(e *env, entry registry.Entry, r trial.Result) {
	if c.JSON {
		line := struct {
			Model string `json:"model"`
			trial.Result
			Millis int64 `json:"ms"`
		}{entry.Name, r, r.Took.Milliseconds()}
		if raw, err := json.Marshal(line); err == nil {
			fmt.Fprintf(e.stdout, "%s\n", raw)
		}
		return
	}
	took, in, out, price := "-", "-", "-", "-"
	if r.State != trial.Skipped {
		took = r.Took.Round(10 * time.Millisecond).String()
		in, out, price = fmt.Sprint(r.Usage.InputTokens), fmt.Sprint(r.Usage.OutputTokens), cost(entry, r.Usage)
	}
	fmt.Fprintf(e.stdout, "%-24s %-8s %7s %7s %7s %9s  %s\n", r.Name, r.State, took, in, out, price, oneLine(r.Note))
}

// cost is what calls cost, if that is known.
func cost(entry registry.Entry, u item.Usage) string {
	if u.CostMicros == 0 && entry.Price == (registry.Price{}) {
		return "-"
	}
	return fmt.Sprintf("%.6f", float64(u.CostMicros)/1e6)
}

// choosable are the models of a registry as clients are told of them.
func choosable(r *registry.Registry, usual string) []httpapi.Model {
	list := []httpapi.Model{}
	for _, e := range r.Models() {
		list = append(list, httpapi.Model{
			Name: e.Name, Provider: e.Provider, Model: e.Info.Model, Thinking: e.Thinking, ReasoningEffort: e.ReasoningEffort, Vision: e.Vision,
			Default: e.Name == usual, Usable: e.Usable(),
		})
	}
	return list
}
