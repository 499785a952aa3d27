package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/tool"
)

type teamCmd struct {
	Question []string `arg:"" help:"What the team is to answer."`
	Experts  []string `help:"Who is in the team: names, each with what it looks at if you like, as in skeptic or \"lawyer: contracts\". The name of an agent of your own is that agent. Default: guide, skeptic, practitioner." placeholder:"NAME"`
	Invent   bool     `help:"Have the lead make up the experts for the question."`
	Mode     string   `help:"How they work: divide, discuss or debate." enum:"divide,discuss,debate" default:"divide"`
	Rounds   int      `help:"Rounds of a discussion or a debate." default:"2"`
	Judge    string   `help:"Who decides a debate, as an expert is named. Default: the lead." placeholder:"NAME"`
	Plan     bool     `help:"Have the lead make a plan of several phases."`
	Replan   bool     `help:"Have the lead look at the plan again after each phase."`
	Review   bool     `help:"Show the plan and ask before anything is done."`
	Thread   string   `help:"Go on with this conversation." placeholder:"ID"`
	Model    string   `help:"Ask this model." placeholder:"NAME"`
	JSON     bool     `help:"Print the frames of the team's wire, a line each, for programs. Lines of standard input are commands of that wire, or the answer to what is asked." name:"json"`
	Quiet    bool     `help:"Print the answer of the team and nothing else." short:"q"`
}

// Run shows the experts while they work, what each found, as soon as it is whole, and then the answer as it arrives.
func (c teamCmd) Run(e *env) error {
	settings := map[string]any{"team": c.settings()}
	if c.Model != "" {
		settings["model_name"] = c.Model
	}
	d, err := openDesk(e, nil)
	if err != nil {
		return err
	}
	s := newTeamScreen(e, d, c)
	id, err := d.start(e.ctx, inquiry{graph: tributary.TeamGraph, question: strings.Join(c.Question, " "), thread: c.Thread, settings: settings})
	if err == nil {
		err = s.attend(id)
	}
	return errors.Join(err, d.close())
}

func (c teamCmd) settings() tributary.TeamSettings {
	set := tributary.TeamSettings{Mode: team.Mode(c.Mode), Rounds: c.Rounds, Invent: c.Invent, LeadPlans: c.Plan, Replan: c.Replan, Review: c.Review}
	for _, said := range c.Experts {
		set.Experts = append(set.Experts, member(said))
	}
	if c.Judge != "" {
		judge := member(c.Judge)
		set.Judge = &judge
	}
	return set
}

// member reads a member of a team: its name and, after a colon, what it looks at.
func member(said string) team.Expert {
	name, role, _ := strings.Cut(said, ":")
	return team.Expert{Name: strings.TrimSpace(name), Role: strings.TrimSpace(role)}
}

// ownExperts finds members of teams among the agents of an owner's own.
func ownExperts(config Config, tools []tool.Tool, log *slog.Logger) func(ctx context.Context, owner, name string) (team.Expert, error) {
	kept := tributary.AgentsIn(config.Data, log)
	return func(ctx context.Context, owner, name string) (team.Expert, error) {
		a, err := kept.Agent(ctx, owner, strings.ToLower(name))
		if errors.Is(err, lead.ErrNoAgent) || errors.As(err, new(*tributary.InvalidError)) { // no agent can have such a name
			return team.Expert{}, tributary.ErrNotFound
		}
		if err != nil {
			return team.Expert{}, err
		}
		x := team.Expert{Name: a.Name, Role: a.Description, Instructions: a.Soul, Model: a.Model}
		if x.Role == "" {
			x.Role = a.Name
		}
		if a.Groups != nil {
			for _, t := range tools {
				if a.Has(t.Spec()) {
					x.Tools = append(x.Tools, t.Spec().Name)
				}
			}
			x.Toolless = len(x.Tools) == 0
		}
		return x, nil
	}
}

// attend shows a team to its end, over all questions that it asks.
func (s *teamScreen) attend(id string) error {
	defer s.rest()
	typed := s.typed
	for {
		s.run, s.ask = id, nil
		end, err := watch(s.env.ctx, s.desk, id, s, typed)
		if s.env.ctx.Err() != nil {
			s.rest()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(s.env.ctx), 10*time.Second)
			defer cancel()
			return errors.Join(errStopped, s.desk.cancel(ctx, id))
		}
		if err != nil {
			return err
		}
		if s.ask == nil || end.Status != event.Interrupted {
			break
		}
		answer, err := s.answer()
		if err != nil {
			return err
		}
		if id, err = s.desk.answer(s.env.ctx, id, s.ask.Interrupt, answer); err != nil {
			return err
		}
	}
	s.rest()
	if s.end.Error != nil {
		return s.end.Error
	}
	if s.end.Outcome == event.Cancelled {
		return errStopped
	}
	if s.end.Usage != nil && !s.json {
		s.summary(s.end.Usage.InputTokens, s.end.Usage.OutputTokens)
	}
	return nil
}

// answer reads what the user says about the plan, or to whatever else is asked.
func (s *teamScreen) answer() (any, error) {
	s.rest()
	if !s.json {
		fmt.Fprint(s.env.stderr, s.question())
	}
	line, ok := s.early, s.early != ""
	if s.early = ""; !ok {
		line, ok = <-s.lines()
	}
	if !ok {
		return nil, errors.New("nobody has answered what the team asks; the thread waits, go on with it over the server")
	}
	if s.json && json.Valid([]byte(line)) { // a program answers as the graph is answered
		return json.RawMessage(line), nil
	}
	return line, nil
}

// question is what the team asks, for people.
func (s *teamScreen) question() string {
	if s.ask.Ask != string(event.AskPlanReview) {
		return fmt.Sprintf("%s\n> ", s.ask.Data)
	}
	var b strings.Builder
	b.WriteString("\nThe plan:\n")
	for i, p := range s.plan {
		fmt.Fprintf(&b, "  %d. %s (%s)", i+1, p.Title, strings.ReplaceAll(p.Member, ",", ", "))
		if len(p.DependsOn) > 0 {
			fmt.Fprintf(&b, ", after %s", strings.Join(p.DependsOn, ", "))
		}
		if p.Detail != "" {
			fmt.Fprintf(&b, "\n     %s", oneLine(p.Detail))
		}
		b.WriteString("\n")
	}
	b.WriteString("Is it good? accept, reject, or say what the experts should heed: ")
	return b.String()
}

// lines are what is typed. They are read when somebody wants one, and on a terminal, or by a program, from the beginning.
func (s *teamScreen) lines() <-chan string {
	if s.typed == nil {
		lines := make(chan string)
		go func() { // ends with the input, or with the process: nothing else ends a read from a terminal
			defer close(lines)
			for in := bufio.NewScanner(s.env.stdin); in.Scan(); {
				select {
				case lines <- strings.TrimSpace(in.Text()):
				case <-s.env.ctx.Done():
					return
				}
			}
		}()
		s.typed = lines
	}
	return s.typed
}

type sayCmd struct {
	Words []string `arg:"" help:"What to say."`
	To    string   `help:"To this expert alone. Default: to all." placeholder:"EXPERT"`
	Run_  string   `help:"To the team of this run. Default: the newest." name:"run" placeholder:"ID"`
}

// Run says something to a team that works in the server. To one that works in another terminal one speaks there.
func (c sayCmd) Run(e *env) error {
	r, ok := running(e.config.Data)
	if !ok {
		return fmt.Errorf("no server has %s open; to a team of tributary team one speaks where it works: type the words there", e.config.Data)
	}
	id := c.Run_
	if id == "" {
		var err error
		if id, err = newestTeam(e); err != nil {
			return err
		}
	}
	return r.order(e.ctx, id, map[string]any{"type": "speak", "expert": c.To, "text": strings.Join(c.Words, " ")})
}

func newestTeam(e *env) (string, error) {
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer db.Close()
	runs, _, err := db.SearchRuns(e.ctx, run.Identity{Owner: tributary.DefaultOwner}, run.RunQuery{Limit: 100})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(runs, func(r run.Run) bool { return r.Request.Graph == tributary.TeamGraph })
	if i < 0 {
		return "", fmt.Errorf("%s: there is no team yet; begin one with tributary team", e.config.Data)
	}
	return runs[i].ID, nil
}
