package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
)

type teamCmd struct {
	Question []string `arg:"" help:"What the team is to answer."`
	Experts  []string `help:"Who is in the team: names, each with what it looks at if you like, as in skeptic or \"lawyer: contracts\". Default: guide, skeptic, practitioner." placeholder:"NAME"`
	Invent   bool     `help:"Have the lead make up the experts for the question."`
	Mode     string   `help:"How they work: divide, discuss or debate." enum:"divide,discuss,debate" default:"divide"`
	Rounds   int      `help:"Rounds of a discussion or a debate." default:"2"`
	Plan     bool     `help:"Have the lead make a plan of several phases."`
	Review   bool     `help:"Show the plan and ask before anything is done."`
	Thread   string   `help:"Go on with this conversation." placeholder:"ID"`
	Model    string   `help:"Ask this model." placeholder:"NAME"`
	Quiet    bool     `help:"Print the answer of the team and nothing else." short:"q"`
}

// Run prints what each expert found, as soon as it is whole, and then the answer as it arrives.
func (c teamCmd) Run(e *env) error {
	settings, err := json.Marshal(map[string]any{"team": c.settings(), "model_name": c.Model})
	if c.Model == "" {
		settings, err = json.Marshal(map[string]any{"team": c.settings()})
	}
	if err != nil {
		return err
	}
	rt, err := e.open(e.config, nil)
	if err != nil {
		return err
	}
	s := &teamScreen{printer: &printer{env: e, quiet: c.Quiet, thread: c.Thread}}
	err = s.play(rt, tributary.Request{
		Assistant: tributary.TeamGraph, Thread: c.Thread, Text: strings.Join(c.Question, " "), Configurable: settings, StopWithReader: true,
	})
	return errors.Join(err, rt.Close(context.WithoutCancel(e.ctx)))
}

func (c teamCmd) settings() tributary.TeamSettings {
	set := tributary.TeamSettings{Mode: team.Mode(c.Mode), Rounds: c.Rounds, Invent: c.Invent, LeadPlans: c.Plan, Review: c.Review}
	known := team.Standing()
	for _, said := range c.Experts {
		name, role, _ := strings.Cut(said, ":")
		x := team.Expert{Name: strings.TrimSpace(name), Role: strings.TrimSpace(role)}
		i := slices.IndexFunc(known, func(k team.Expert) bool { return strings.EqualFold(k.Name, x.Name) })
		switch {
		case x.Role == "" && i >= 0:
			x = known[i]
		case x.Role == "":
			x.Role = x.Name
		}
		set.Experts = append(set.Experts, x)
	}
	return set
}

// teamScreen shows a team on a terminal: what the experts do on standard error, what they found and the answer on standard output.
type teamScreen struct {
	*printer
	experts map[string]event.Member
	ask     *teamwire.Frame // a question that waits for an answer
	end     teamwire.Frame
}

// play runs a team to its end, over all questions that it asks.
func (s *teamScreen) play(rt *runtime, req tributary.Request) error {
	for {
		s.ask = nil
		if err := s.follow(rt, req); err != nil {
			return err
		}
		if s.ask == nil || s.end.Outcome != event.Interrupted {
			break
		}
		answer, err := s.answer()
		if err != nil {
			return err
		}
		req = tributary.Request{Thread: s.thread, Answers: []tributary.Answer{{Interrupt: s.ask.Interrupt, Value: answer}}, StopWithReader: true}
	}
	if s.end.Error != nil {
		return s.end.Error
	}
	if s.end.Outcome == event.Cancelled {
		return errStopped
	}
	s.summary(s.end.Usage.InputTokens, s.end.Usage.OutputTokens)
	return nil
}

func (s *teamScreen) follow(rt *runtime, req tributary.Request) error {
	defer s.newline()
	proj := teamwire.New()
	ctx := s.env.ctx
	for env, err := range rt.Stream(ctx, req) {
		if err != nil {
			if ctx.Err() != nil {
				return errStopped
			}
			return err
		}
		s.thread = env.Thread
		switch e := env.Event.(type) { // what is cited is told in events that the team's wire leaves out
		case event.ItemEnded:
			if res, ok := e.Item.(item.ToolResult); ok {
				for _, b := range slices.Concat(res.Content, res.Blocks) {
					s.found(b.Ref, b.Name)
				}
			}
		case event.AnnotationAdded:
			s.cite(e.Annotation.Ref)
		}
		var frames []wire.Frame
		if frames, err = proj.Project(frames, &env); err != nil {
			return err
		}
		for _, raw := range frames {
			var f teamwire.Frame
			if err := json.Unmarshal(raw.Data, &f); err != nil {
				return err
			}
			s.show(f)
		}
	}
	return nil
}

func (s *teamScreen) show(f teamwire.Frame) {
	switch f.Type {
	case "team_formed":
		s.experts = map[string]event.Member{}
		for _, m := range f.Experts {
			s.experts[m.ID] = m
			s.note("· %s: %s", m.Name, m.Role)
		}
	case "plan_update":
		var steps []string
		for _, p := range f.Steps {
			steps = append(steps, p.Title+" "+p.Status)
		}
		s.note("□ %s", strings.Join(steps, ", "))
	case "expert_step":
		if f.Kind == "tool_call" {
			s.note("→ %s: %s %s", f.Expert, f.Name, f.Arguments)
		}
	case "expert_result_chunk_reset":
		if f.Cause != "step" {
			s.note("× %s begins anew (%s)", f.Expert, f.Cause)
		}
	case "expert_result":
		s.result(f)
	case "team_synthesis_chunk":
		if !s.begun && !s.quiet {
			s.newline()
			fmt.Fprint(s.env.stdout, "## The team\n\n")
		}
		s.text("msg_", f.Delta)
	case "team_synthesis_chunk_reset":
		s.void(f.Cause)
	case "team_review":
		s.ask = &f
	case "team_warning":
		s.warn(f.Message)
	case "team_dissolved":
		s.end = f
	}
}

// result prints what an expert found, or why it found nothing.
func (s *teamScreen) result(f teamwire.Frame) {
	if s.quiet {
		return
	}
	s.newline()
	m := s.experts[f.Expert]
	fmt.Fprintf(s.env.stdout, "## %s (%s)\n\n", m.Name, m.Role)
	if *f.Content != "" {
		fmt.Fprintf(s.env.stdout, "%s\n\n", strings.TrimSpace(*f.Content))
	}
	if f.Status != event.Success {
		why := string(f.Status)
		if f.Error != nil {
			why = f.Error.Message
		}
		fmt.Fprintf(s.env.stdout, "(no answer: %s)\n\n", why)
	}
}

// answer reads what the user says about the plan.
func (s *teamScreen) answer() (json.RawMessage, error) {
	fmt.Fprintf(s.env.stderr, "%s\nIs this plan good? accept, reject, or say what the experts should heed: ", s.ask.Data)
	in := bufio.NewScanner(s.env.stdin)
	if !in.Scan() {
		return nil, errors.New("nobody has answered whether the plan is good; the thread waits, go on with it over the server")
	}
	return json.Marshal(strings.TrimSpace(in.Text()))
}
