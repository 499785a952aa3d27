package middleware

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Skill is a piece of know-how that a model can read when it needs it.
type Skill struct {
	Name        string
	Description string
	Path        string // where a model reads it
	// Tools are those that may be used while the skill is, see [SkillTools]; nil: it does not say.
	Tools []string
	// Secrets are the names of what its scripts want to find in their environment. Who runs scripts decides whether they do.
	Secrets []string
}

// SkillOptions are settings of [Skills].
type SkillOptions struct {
	// List returns the skills that a run may use; it is asked once in a run.
	List func(context.Context, *agent.Step) ([]Skill, error)
	// Load returns the text of a skill that a person activates, or a model loads. Nil: neither can.
	Load func(context.Context, *agent.Step, Skill) (string, error)
	// Most is how many bytes of a skill's text are shown; zero means 20,000.
	Most int
	// Tool is the name of a tool with which models load skills; empty: they read the files by their paths.
	Tool string
}

// ActiveSkill is a skill that a message of the person activated, that the model has loaded, or both.
type ActiveSkill struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description"`
	// Message is the person's, and Text what is shown with it; both are empty if the model alone loaded the skill.
	Message string `json:"message"`
	Text    string `json:"text"`
	Loaded  bool   `json:"loaded,omitempty"`
}

const (
	mostSkills       = 8
	skillDescription = 500
)

// SkillContextField holds the latest of them in the state, each once.
var SkillContextField = graph.Reduced("skill_context", func(old, update []ActiveSkill) []ActiveSkill {
	sum := slices.Clone(old)
	for _, n := range update {
		at := slices.IndexFunc(sum, func(s ActiveSkill) bool { return s.Path == n.Path })
		switch {
		case at >= 0 && n.Message == "": // what was shown with a message stays
			sum[at].Loaded = true
			continue
		case at >= 0:
			n.Loaded = n.Loaded || sum[at].Loaded
			sum = slices.Delete(sum, at, at+1)
		}
		sum = append(sum, n)
	}
	return sum[max(len(sum)-mostSkills, 0):]
})

// Skills tells models which skills there are, in the system prompt, and shows them the text of one that the person activates by
// beginning a message with /name.
func Skills(o SkillOptions) agent.Middleware {
	if o.Most <= 0 {
		o.Most = 20_000
	}
	lists, views := newMemo[skillList](), newMemo[attached]()
	list := func(ctx context.Context, s *agent.Step) *skillList {
		l := lists.of(s.Scope)
		l.once.Do(func() { l.make(ctx, s, o) })
		return l
	}
	m := agent.Middleware{
		Name: "skills", Fields: []graph.AnyField{SkillContextField},
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				l := list(ctx, c.Step)
				if l.err != nil && c.Step.Number == 0 {
					if err := c.Step.Emit(ctx, event.Warned{Code: "skills_unavailable", Message: "the skills cannot be listed: " + l.err.Error()}); err != nil {
						return item.Message{}, err
					}
				}
				c.Request.System += l.prompt
				if active := SkillContextField.Get(c.Step.Scope); len(active) > 0 {
					var notes []Note
					for _, s := range active {
						if s.Message != "" {
							notes = append(notes, Note{s.Message, s.Text})
						}
					}
					c.Request.Messages = views.of(c.Step.Scope).shown(c.Request.Messages, notes, all)
				}
				return next(ctx, c)
			}
		},
	}
	if o.Load != nil && o.Tool != "" {
		m.Tools = func(ctx context.Context, s *graph.Scope) ([]tool.Tool, error) {
			step := &agent.Step{Scope: s}
			if l := list(ctx, step); len(l.skills) > 0 {
				return []tool.Tool{o.loader(step, l.skills)}, nil
			}
			return nil, nil
		}
	}
	if o.Load != nil {
		m.Before = agent.Hook{
			Due: func(s *agent.Step) bool {
				m, ok := asked(s.Messages)
				return ok && wanted(m) != "" && !slices.ContainsFunc(SkillContextField.Get(s.Scope), func(a ActiveSkill) bool { return a.Message == m.ID })
			},
			Do: func(ctx context.Context, s *agent.Step) (graph.Command, error) {
				return o.activate(ctx, s, list(ctx, s).skills)
			},
		}
	}
	return m
}

// skillList is what a run knows of its skills.
type skillList struct {
	once   sync.Once
	skills []Skill
	prompt string
	err    error
}

func (l *skillList) make(ctx context.Context, s *agent.Step, o SkillOptions) {
	if o.List == nil {
		return
	}
	if l.skills, l.err = o.List(ctx, s); l.err != nil || len(l.skills) == 0 {
		return
	}
	var b strings.Builder
	how := "read its file"
	if o.Tool != "" {
		how = "load it with " + o.Tool
	}
	fmt.Fprintf(&b, "\n\nSkills are instructions for special tasks. When one fits the task, %s first and follow it:\n", how)
	for _, k := range l.skills {
		fmt.Fprintf(&b, "- %s: %s (%s)\n", neutral(k.Name), neutral(clip(k.Description, skillDescription)), neutral(k.Path))
	}
	l.prompt = strings.TrimRight(b.String(), "\n")
}

type loadArguments struct {
	Name string `json:"name" jsonschema:"the name of the skill, as it is listed"`
}

// loader is the tool with which a model loads a skill.
func (o SkillOptions) loader(s *agent.Step, skills []Skill) tool.Tool {
	return tool.Repeatable(tool.FuncOfCall(o.Tool, "Loads a skill: returns its instructions, and makes its files available.", func(ctx context.Context, call tool.Call, in loadArguments) (string, error) {
		at := slices.IndexFunc(skills, func(k Skill) bool { return strings.EqualFold(k.Name, strings.TrimPrefix(in.Name, "/")) })
		if at < 0 {
			return "", fmt.Errorf("there is no skill %q; the system prompt lists those that there are", clip(in.Name, 64))
		}
		k := skills[at]
		text, err := o.Load(ctx, s, k)
		if err != nil {
			return "", fmt.Errorf("the skill %s cannot be read: %w", k.Name, err)
		}
		loaded := ActiveSkill{Name: k.Name, Path: k.Path, Description: clip(k.Description, skillDescription), Loaded: true}
		return short(text, o.Most), call.Scope.Update(SkillContextField.Name(), []ActiveSkill{loaded})
	}))
}

// wanted is the name of the skill that a message begins with.
func wanted(m item.Message) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(m.Text()), "/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}

func (o SkillOptions) activate(ctx context.Context, s *agent.Step, skills []Skill) (graph.Command, error) {
	m, _ := asked(s.Messages)
	at := slices.IndexFunc(skills, func(k Skill) bool { return strings.EqualFold(k.Name, wanted(m)) })
	if at < 0 {
		return graph.Command{}, nil // a message that begins with a slash, and no more
	}
	k := skills[at]
	text, err := o.Load(ctx, s, k)
	switch {
	case ctx.Err() != nil:
		return graph.Command{}, context.Cause(ctx)
	case err != nil:
		return graph.Command{}, s.Emit(ctx, event.Warned{Code: "skill_unavailable", Message: fmt.Sprintf("the skill %s cannot be read: %v", k.Name, err)})
	}
	text = fmt.Sprintf("The person activated the skill %s (%s). Follow it for the task that the message names:\n\n%s", neutral(k.Name), neutral(k.Path), short(neutral(text), o.Most))
	if slices.ContainsFunc(SkillContextField.Get(s.Scope), func(a ActiveSkill) bool { return a.Path == k.Path && a.Text == text }) {
		return graph.Command{}, nil // it stands with an earlier message, and what was shown stays
	}
	active := ActiveSkill{Name: k.Name, Path: k.Path, Description: clip(k.Description, skillDescription), Message: m.ID, Text: text}
	return graph.Update(SkillContextField.Set([]ActiveSkill{active})), nil
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
