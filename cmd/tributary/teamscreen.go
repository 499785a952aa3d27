package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
)

// teamScreen shows a team. On a terminal every expert has living lines, side by side where there is room; elsewhere there is a line for
// whatever happens. That goes to standard error; what the experts found, and the answer, go to standard output. For programs it prints
// the frames of the team's wire, and nothing else.
type teamScreen struct {
	*printer
	living
	desk desk
	json bool

	run      string
	proj     *teamwire.Projector
	title    string
	experts  []*column
	plan     []event.PlanStep
	lead     bool // the lead answers
	ask      *teamwire.Frame
	end      teamwire.Frame
	typed    <-chan string // what a person types; nil while nobody reads it
	listens  bool          // people may speak
	early    string        // an answer of a program's that came before the question
	followed string        // the run that proj is of
}

// column is what is known of an expert.
type column struct {
	event.Member
	phase, doing, text, why string
	status                  event.Status // empty while it works
	begun                   bool
	sources                 map[int]bool
}

func newTeamScreen(e *env, d desk, c teamCmd) *teamScreen {
	s := &teamScreen{printer: newPrinter(e, c.Quiet || c.JSON, false, c.Thread), desk: d, json: c.JSON}
	s.out, s.live, s.width = e.stderr, isTerminal(e.stderr) && !c.JSON && !c.Quiet, columns(e.stderr)
	if s.listens = c.JSON || s.live && isTerminal(e.stdin); s.listens {
		s.lines()
	}
	return s
}

// show takes in an event.
func (s *teamScreen) show(env *event.Envelope) {
	if s.followed != env.Run {
		s.followed, s.proj = env.Run, teamwire.New()
	}
	s.thread = env.Thread
	switch e := env.Event.(type) { // what is cited is told in events that the team's wire leaves out
	case event.ItemEnded:
		if res, ok := e.Item.(item.ToolResult); ok {
			for _, b := range slices.Concat(res.Content, res.Blocks) {
				s.found(b.Ref, b.Name)
				if c := s.columnOf(env.Task); c != nil && b.Ref > 0 {
					c.sources[b.Ref] = true
				}
			}
		}
	case event.AnnotationAdded:
		s.cite(e.Annotation.Ref, e.Annotation.Title, e.Annotation.URL)
	}
	var raws []wire.Frame
	raws, err := s.proj.Project(raws, env)
	if err != nil {
		s.tell("! " + err.Error())
	}
	for _, raw := range raws {
		if s.json {
			fmt.Fprintf(s.env.stdout, "%s\n", raw.Data)
		}
		var f teamwire.Frame
		if json.Unmarshal(raw.Data, &f) == nil { // we wrote it
			s.take(f)
		}
	}
	s.redraw()
}

// columnOf is the expert that a task is of, or of somebody who works for it.
func (s *teamScreen) columnOf(task string) *column {
	_, expert, _ := strings.Cut(task, ".")
	return s.expert(expert)
}

func (s *teamScreen) expert(id string) *column {
	if i := slices.IndexFunc(s.experts, func(c *column) bool { return c.ID == id }); i >= 0 {
		return s.experts[i]
	}
	return nil
}

func (s *teamScreen) take(f teamwire.Frame) {
	c := s.expert(f.Expert)
	switch f.Type {
	case "team_formed":
		s.title, s.lead = printable(f.Title), false
		s.experts = nil
		for _, m := range f.Experts {
			s.experts = append(s.experts, &column{Member: m, sources: map[int]bool{}})
			s.line("· %s: %s", m.Name, m.Role)
		}
	case "plan_update":
		var was, is []string
		for _, p := range s.plan {
			was = append(was, p.Title+" "+p.Status)
		}
		s.plan = f.Steps
		for _, p := range f.Steps {
			is = append(is, p.Title+" "+p.Status)
		}
		if !slices.Equal(was, is) {
			s.line("□ %s", strings.Join(is, ", "))
		}
	case "expert_step":
		s.step(c, f)
	case "expert_result_chunk":
		if c != nil {
			c.text += printable(f.Delta)
			c.doing = ""
		}
	case "expert_result_chunk_reset":
		if c != nil {
			c.text = ""
		}
		if f.Cause != "step" && f.Cause != "spoken" {
			s.line("× %s begins anew (%s)", f.Expert, f.Cause)
		}
	case "expert_result":
		s.result(c, f)
	case "team_synthesis_chunk":
		s.answered(f.Delta)
	case "team_synthesis_chunk_reset":
		s.void(f.Cause)
	case "team_spoken":
		to := "all"
		if c != nil {
			to = c.Name
		}
		s.tell(fmt.Sprintf("» to %s: %s", to, oneLine(printable(f.Text))))
	case "team_review":
		s.ask = &f
	case "team_warning":
		s.tell("! " + f.Message)
	case "team_dissolved":
		s.end = f
	}
}

// step notes what an expert does.
func (s *teamScreen) step(c *column, f teamwire.Frame) {
	if c == nil {
		return
	}
	switch f.Kind {
	case "started":
		if f.Task == f.Phase+"."+f.Expert {
			c.phase, c.begun, c.text, c.doing, c.status, c.why = f.Phase, true, "", "", "", ""
		}
	case "tool_call":
		c.doing = printable(f.Name + ": " + about(f.Arguments))
		s.line("→ %s: %s", c.Name, c.doing)
	case "progress":
		c.doing = printable(f.Name + ": " + f.Message)
	}
}

// about is what a call is about, in a few words.
func about(arguments string) string {
	var args map[string]any
	_ = json.Unmarshal([]byte(arguments), &args)
	for _, key := range []string{"query", "url", "path", "q"} {
		if text, ok := args[key].(string); ok {
			return oneLine(text)
		}
	}
	return oneLine(arguments)
}

// result prints what an expert found, or why it found nothing.
func (s *teamScreen) result(c *column, f teamwire.Frame) {
	if c == nil {
		return
	}
	c.status = f.Status
	if f.Status != event.Success {
		c.why = string(f.Status)
		if f.Error != nil {
			c.why = printable(f.Error.Message)
		}
	}
	if s.quiet {
		return
	}
	s.clear()
	s.newline()
	about := c.Role
	if len(s.plan) > 1 {
		about += ", " + s.titleOf(f.Phase)
	}
	fmt.Fprintf(s.env.stdout, "## %s (%s)\n\n", c.Name, about)
	if f.Content != nil && *f.Content != "" {
		fmt.Fprintf(s.env.stdout, "%s\n\n", strings.TrimSpace(*f.Content))
	}
	if f.Status != event.Success {
		fmt.Fprintf(s.env.stdout, "(no answer: %s)\n\n", c.why)
	}
}

func (s *teamScreen) titleOf(phase string) string {
	if i := slices.IndexFunc(s.plan, func(p event.PlanStep) bool { return p.ID == phase }); i >= 0 && s.plan[i].Title != "" {
		return s.plan[i].Title
	}
	return phase
}

// answered prints a piece of the answer. From the first on nothing is drawn any more.
func (s *teamScreen) answered(delta string) {
	s.lead = true
	if s.json {
		return
	}
	s.clear()
	if !s.begun && !s.quiet {
		s.newline()
		fmt.Fprint(s.env.stdout, "## The team\n\n")
	}
	s.text("msg_", delta)
}

// line says what happens, where nothing is drawn.
func (s *teamScreen) line(format string, args ...any) {
	if !s.live {
		s.note(format, args...)
	}
}

// tell says what everybody must see, above what is drawn.
func (s *teamScreen) tell(text string) {
	s.clear()
	s.note("%s", text)
}

// rest ends drawing; what is drawn stays.
func (s *teamScreen) rest() {
	s.newline()
	s.drawn = 0
}

// tick moves what turns.
func (s *teamScreen) tick() {
	s.spin++
	s.redraw()
}

// order is a command of the team's wire, as programs give them.
type order struct{ Type, Expert, Phase, Text string }

// obey takes a line of a program's. What is no command is the answer to a question that comes.
func (s *teamScreen) obey(line string) {
	var o order
	var err error
	switch _ = json.Unmarshal([]byte(line), &o); o.Type { // other JSON has no type
	case "speak":
		err = s.desk.speak(s.env.ctx, s.run, tributary.Words{To: o.Expert, Text: o.Text})
	case "cancel_expert":
		err = s.desk.dismiss(s.env.ctx, s.run, o.Phase, o.Expert)
	default:
		s.early = line
		return
	}
	reply := map[string]string{"type": "accepted", "command": o.Type}
	if err != nil {
		reply = map[string]string{"type": "refused", "command": o.Type, "message": err.Error()}
	}
	raw, _ := json.Marshal(reply) // strings can be encoded
	fmt.Fprintf(s.env.stdout, "%s\n", raw)
}

// hear takes a line that was typed: words for all, "@name words" for one, "/stop name" stops one.
func (s *teamScreen) hear(line string) {
	if s.json {
		s.obey(line)
		return
	}
	s.entered()
	if line == "" {
		s.redraw()
		return
	}
	ctx := s.env.ctx
	var err error
	switch first, rest, _ := strings.Cut(line, " "); {
	case first == "/stop":
		c := s.named(rest)
		if c == nil || c.status != "" || !c.begun {
			err = fmt.Errorf("nobody called %q works now", rest)
			break
		}
		err = s.desk.dismiss(ctx, s.run, c.phase, c.ID)
	case strings.HasPrefix(first, "@"):
		c := s.named(first[1:])
		if c == nil {
			err = fmt.Errorf("there is no expert %q", first[1:])
			break
		}
		err = s.desk.speak(ctx, s.run, tributary.Words{To: c.ID, Text: rest})
	default:
		err = s.desk.speak(ctx, s.run, tributary.Words{Text: line})
	}
	if err != nil {
		s.tell("! " + err.Error())
	}
	s.redraw()
}

// named is the expert whose name or id begins with what was said.
func (s *teamScreen) named(said string) *column {
	said = strings.ToLower(strings.TrimRight(strings.TrimSpace(said), ":,"))
	for _, c := range s.experts {
		if said != "" && (strings.HasPrefix(c.ID, said) || strings.HasPrefix(strings.ToLower(c.Name), said)) {
			return c
		}
	}
	return nil
}
