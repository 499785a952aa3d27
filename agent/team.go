package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Team are sub-agents behind one tool: the call names the one that it wants.
type Team struct {
	Tool        string // its name; "task" if empty
	Description string // tells the model when to call it; who the members are follows it
	Members     []Sub

	// Ended, where set, says what is written into the caller's state when a member's work has ended, however it did. It is
	// recorded with the result of the call. Work that waits for a person has not ended.
	Ended func(Delegation) []graph.Write
	// Lend is what a member's state begins with, beside its prompt, and Return what of it is written into the caller's when it
	// has answered. Both may be nil.
	Lend   func(*graph.Scope) []graph.Write
	Return func(graph.Result) ([]graph.Write, error)
	// Background, where set, begins a member's work outside of the run, for calls that ask for that: they return at once, with what it
	// says and writes. Status and Text of the delegation are empty. After a crash it is asked again under the same id, and must
	// begin nothing twice.
	Background func(ctx context.Context, s *graph.Scope, d Delegation, prompt string) (text string, writes []graph.Write, err error)
}

// Delegation is a piece of work that a member of a team did.
type Delegation struct {
	ID     string // of the call and the task
	Agent  string
	Title  string
	Status event.Status
	Text   string // what the caller's model reads: the answer, or why there is none
}

// note has the end of a member's work written down.
func (t *Team) note(x *execution, id string, w work, res item.ToolResult, err error) {
	if t.Ended == nil || errors.As(err, new(*graph.Interruption)) {
		return
	}
	d := Delegation{ID: id, Agent: w.member.Name, Title: w.title, Status: event.Success}
	if err == nil {
		for _, b := range res.Content {
			d.Text += b.Text
		}
	} else {
		d.Status, d.Text = event.Failed, err.Error()
		switch graph.ErrorOf(err).Code {
		case graph.CodeTimeout:
			d.Status = event.TimedOut
		case graph.CodeCancelled:
			d.Status = event.Cancelled
		}
	}
	x.writes = append(x.writes, t.Ended(d)...)
}

// newTeamTool makes the tool of a team.
func newTeamTool(team Team, parent Options, depth int) (*subTool, error) {
	if team.Tool == "" {
		team.Tool = "task"
	}
	t := &subTool{limits: parent.Limits, members: map[string]*member{}, team: &team}
	var names []string
	var text strings.Builder // there may be hundreds of members
	text.WriteString(team.Description)
	for _, sub := range team.Members {
		if sub.Name == "" || t.members[sub.Name] != nil {
			return nil, fmt.Errorf("team %q: a member needs a name of its own, not %q", team.Tool, sub.Name)
		}
		names = append(names, sub.Name)
		text.WriteString("\n- " + sub.Name + ": " + sub.Description)
		t.members[sub.Name] = newMember(sub, &parent, depth)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("team %q has no members", team.Tool)
	}
	schema, err := teamSchema(names, team.Background != nil)
	t.spec = tool.Spec{Name: team.Tool, Description: text.String(), Schema: schema, Repeatable: true}
	return t, err
}

func teamSchema(names []string, background bool) (json.RawMessage, error) {
	type property struct {
		Type        string   `json:"type"`
		MinLength   int      `json:"minLength,omitempty"`
		Enum        []string `json:"enum,omitempty"`
		Description string   `json:"description"`
	}
	type properties struct {
		Description property  `json:"description"`
		Prompt      property  `json:"prompt"`
		Type        property  `json:"subagent_type"`
		Background  *property `json:"background,omitempty"`
	}
	var later *property
	if background {
		later = &property{Type: "boolean", Description: "true: it works on its own while you go on or end; you are told when it has ended. For work that takes long and that nobody has to wait for"}
	}
	return json.Marshal(struct {
		Type       string     `json:"type"`
		Properties properties `json:"properties"`
		Required   []string   `json:"required"`
		Additional bool       `json:"additionalProperties"`
	}{"object", properties{
		property{Type: "string", Description: "the task in three to five words, for the people who watch"},
		property{Type: "string", MinLength: 1, Description: "the whole task; the sub-agent sees nothing else of this conversation"},
		property{Type: "string", Enum: names, Description: "who is to do it"},
		later,
	}, []string{"description", "prompt", "subagent_type"}, false})
}
