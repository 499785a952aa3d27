package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/internal/eval"
)

type evalCmd struct {
	Research evalResearchCmd `cmd:"" help:"Put questions to the research, and score plans, coverage, citations, cost and time."`
}

type evalResearchCmd struct {
	Model     string   `help:"Ask this model." placeholder:"NAME"`
	Questions string   `help:"A file of questions, as JSON. Default: twenty about tributary's own documentation." type:"existingfile" placeholder:"FILE"`
	Only      []string `help:"Put only the questions with these ids." placeholder:"ID"`
	Docs      []string `help:"Search this folder, and not tributary's documentation; may be given several times." type:"existingdir" placeholder:"DIR"`
	Locale    string   `help:"The language of the reports." placeholder:"LANG"`
	MaxSteps  int      `help:"How many steps a round of research may have." placeholder:"N"`
	MaxRounds int      `help:"How many rounds there may be." placeholder:"N"`
	JSON      bool     `help:"Print the table as JSON." name:"json"`
	Quiet     bool     `help:"Print the table and nothing else." short:"q"`
}

// Run puts the questions in a folder of their own, which is gone afterwards: what is measured does not depend on what was asked
// before.
func (c evalResearchCmd) Run(e *env) (err error) {
	list := eval.Questions()
	if c.Questions != "" {
		raw, err := os.ReadFile(c.Questions)
		if err != nil {
			return err
		}
		if list, err = eval.Read(raw); err != nil {
			return fmt.Errorf("%s: %w", c.Questions, err)
		}
	}
	for _, id := range c.Only {
		if !slices.ContainsFunc(list, func(q eval.Question) bool { return q.ID == id }) {
			return fmt.Errorf("there is no question %q", id)
		}
	}
	if len(c.Only) > 0 {
		list = slices.DeleteFunc(list, func(q eval.Question) bool { return !slices.Contains(c.Only, q.ID) })
	}
	config := e.config
	if config.Data, err = os.MkdirTemp("", "tributary-eval"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(config.Data)) }()
	config.Docs = nil
	for _, dir := range c.Docs {
		config.Docs = append(config.Docs, absolute(dir))
	}
	rt, err := e.open(config, nil)
	if err != nil {
		return err
	}
	settings := researchCmd{Locale: c.Locale, Model: c.Model, MaxSteps: c.MaxSteps, MaxRounds: c.MaxRounds, AutoAccept: true}.settings()
	table := eval.All(e.ctx, rt.Runtime, list, settings, func(s eval.Score) {
		if c.Quiet {
			return
		}
		said := fmt.Sprintf("%.2f", s.Total())
		if s.Error != "" {
			said = strings.Join(strings.Fields(s.Error), " ")
		}
		fmt.Fprintf(e.stderr, "%s: %s\n", s.ID, said)
	})
	stopped := e.ctx.Err()
	now, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	cancel() // a run that was cut off is not waited for
	if err := rt.Close(now); err != nil {
		return err
	}
	if stopped != nil {
		return stopped
	}
	if c.JSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		return out.Encode(table)
	}
	return table.Write(e.stdout)
}
