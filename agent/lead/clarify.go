package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// ClarifyTool is the name of the tool with which the model asks the person.
const ClarifyTool = "ask_clarification"

// clarification offers the tool that asks a person. It is the innermost: whatever others refuse is not asked.
func clarification(a *assembly) (agent.Middleware, string) {
	if a.unattended {
		return agent.Middleware{}, "nobody is there to ask: non_interactive"
	}
	a.offer(clarifyTool{}.Spec())
	t := clarifyTool{guess: on(a.settings.NoClarification)}
	return agent.Middleware{
		Name:  "clarification",
		Tools: func(context.Context, *graph.Scope) ([]tool.Tool, error) { return []tool.Tool{t}, nil },
	}, ""
}

// clarifyTool asks a person and gives the model the answer. It does nothing before it asks, so a call may be repeated.
type clarifyTool struct {
	guess bool // nobody is asked: the model is to use its best guess
}

const clarifySchema = `{"type":"object","properties":{
"question":{"type":"string","minLength":1,"description":"what you need to know, in one question"},
"clarification_type":{"type":"string","enum":["missing_info","ambiguous_requirement","approach_choice","risk_confirmation","suggestion"],"description":"why you ask"},
"context":{"type":"string","description":"what the person should know to answer"},
"options":{"type":"array","maxItems":24,"items":{"type":"string","minLength":1,"maxLength":200},"description":"answers to choose from; another one can be given all the same"},
"fields":{"type":"array","maxItems":16,"description":"a form, in place of options","items":{"type":"object","properties":{
"name":{"type":"string","minLength":1,"maxLength":200},
"label":{"type":"string","maxLength":200},
"type":{"type":"string","enum":["text","textarea","number","select","multi_select","checkbox","date"]},
"required":{"type":"boolean"},
"options":{"type":"array","maxItems":24,"items":{"type":"string","minLength":1,"maxLength":200}}},
"required":["name","type"],"additionalProperties":false}}},
"required":["question"],"additionalProperties":false}`

func (clarifyTool) Spec() tool.Spec {
	return tool.Spec{
		Name: ClarifyTool,
		Description: "Asks the person, and waits for the answer. Use it before you begin if something that you need is missing, if the wish can be read in several " +
			"ways, if there is a choice that is not yours, or before something that cannot be undone. Do not ask what you can find out yourself.",
		Schema: json.RawMessage(clarifySchema), Repeatable: true, Group: "people",
	}
}

// question is what a front end is shown, in the form that DeerFlow's know.
type question struct {
	Version   int      `json:"version"`
	Kind      string   `json:"kind"`
	Source    string   `json:"source"`
	Request   string   `json:"request_id"`
	Type      string   `json:"clarification_type,omitempty"`
	Question  string   `json:"question"`
	InputMode string   `json:"input_mode"`
	Call      string   `json:"tool_call_id"`
	Context   string   `json:"context,omitempty"`
	Options   []option `json:"options,omitempty"`
	Fields    []field  `json:"fields,omitempty"`
	// Problem says what is wrong with the answer before this one.
	Problem string `json:"problem,omitempty"`
}

type option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Value string `json:"value"`
}

type field struct {
	Name     string   `json:"name"`
	Label    string   `json:"label,omitempty"`
	Type     string   `json:"type"`
	Required bool     `json:"required,omitempty"`
	Options  []string `json:"options,omitempty"`
}

// The ways in which a question is answered.
const (
	freeText = "free_text"
	choice   = "choice_with_other"
	form     = "form"
)

// maxQuestion is how long a question may be, as JSON.
const maxQuestion = 16_384

func (t clarifyTool) Call(_ context.Context, c tool.Call) (item.ToolResult, error) {
	var in struct {
		Question string   `json:"question"`
		Type     string   `json:"clarification_type"`
		Context  string   `json:"context"`
		Options  []string `json:"options"`
		Fields   []field  `json:"fields"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return item.ToolResult{}, err
	}
	if t.guess {
		return tool.Text("Nobody answers questions here. Go on with your best guess, and say in your answer what you assumed."), nil
	}
	q := question{
		Version: 1, Kind: "human_input_request", Source: ClarifyTool, Request: c.ID, Type: in.Type, Question: in.Question,
		InputMode: freeText, Call: c.ID, Context: in.Context,
	}
	var labels []string
	switch {
	case len(in.Options) > 0 && len(in.Fields) > 0:
		return item.ToolResult{}, errors.New("give options or fields, not both")
	case len(in.Fields) > 0:
		q.Version, q.InputMode, q.Fields = 2, form, in.Fields
		if err := checkForm(in.Fields); err != nil {
			return item.ToolResult{}, err
		}
	case len(in.Options) > 0:
		q.InputMode, labels = choice, in.Options
		for i, o := range in.Options {
			q.Options = append(q.Options, option{ID: fmt.Sprintf("option-%d", i+1), Label: o, Value: o})
		}
	}
	if raw, err := json.Marshal(q); err != nil || len(raw) > maxQuestion {
		return item.ToolResult{}, fmt.Errorf("the question is longer than %d bytes; ask for less at once", maxQuestion)
	}
	for {
		raw, err := c.Scope.Ask(tool.Question{Value: q, Kind: string(event.AskClarification), Options: labels})
		if err != nil {
			return item.ToolResult{}, err
		}
		text, problem := q.read(raw)
		if problem == "" {
			return tool.Text(text), nil
		}
		q.Problem = problem // the answer is asked for again, and the person is told why
	}
}
