package lead

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// TodosTool is the name of the tool with which the model keeps its plan.
const TodosTool = "write_todos"

// statuses are a todo's, and what they are called in events.
var statuses = map[string]string{"pending": "pending", "in_progress": "running", "completed": "done"}

const todosSchema = `{"type":"object","properties":{"todos":{"type":"array","maxItems":100,"description":"the whole list; it replaces the one before","items":{"type":"object","properties":{
"content":{"type":"string","minLength":1,"description":"what is to be done"},
"status":{"type":"string","enum":["pending","in_progress","completed"]}},
"required":["content","status"],"additionalProperties":false}}},"required":["todos"],"additionalProperties":false}`

// todos is plan mode: a list that the model keeps, and that people see change. See durable for what becomes of it when its calls
// are out of the model's sight.
func todos(a *assembly) (agent.Middleware, string) {
	if !on(a.settings.Plan) {
		return agent.Middleware{}, "is_plan_mode is not set"
	}
	a.offer(todosTool{}.Spec())
	return agent.Middleware{
		Name: "todos", Fields: []graph.AnyField{Todos},
		Tools: func(context.Context, *graph.Scope) ([]tool.Tool, error) { return []tool.Tool{todosTool{}}, nil },
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				out, err := next(ctx, c)
				if err != nil || c.Call.Name != TodosTool || out.Result.Error {
					return out, err
				}
				list, err := readTodos(json.RawMessage(c.Call.Arguments))
				if err != nil {
					return out, nil // then the tool had repaired them; the state shows the list
				}
				return out, c.Step.Emit(ctx, planOf(list))
			}
		},
	}, ""
}

type todosTool struct{}

// Spec says that calls may be repeated: each brings the whole list.
func (todosTool) Spec() tool.Spec {
	return tool.Spec{
		Name: TodosTool, Group: "plan", Repeatable: true, Schema: json.RawMessage(todosSchema),
		Description: "Writes the list of what is to be done, whole, in place of the one before. Use it for work of three steps or more: first write the plan, " +
			"then mark one todo as in_progress when you begin it and as completed as soon as it is done.",
	}
}

func readTodos(raw json.RawMessage) ([]Todo, error) {
	var in struct {
		Todos []Todo `json:"todos"`
	}
	err := json.Unmarshal(raw, &in)
	return in.Todos, err
}

func (todosTool) Call(_ context.Context, c tool.Call) (item.ToolResult, error) {
	list, err := readTodos(c.Arguments)
	if err != nil {
		return item.ToolResult{}, err
	}
	if list == nil {
		list = []Todo{}
	}
	if err := c.Scope.Update(Todos.Name(), list); err != nil {
		return item.ToolResult{}, err
	}
	return tool.Text(fmt.Sprintf("The list has %d todos, %d of them open.", len(list), open(list))), nil
}

func open(list []Todo) (n int) {
	for _, t := range list {
		if t.Status != "completed" {
			n++
		}
	}
	return n
}

// planOf is the list as people are told of it.
func planOf(list []Todo) event.PlanUpdated {
	p := event.PlanUpdated{Plan: "todos", Steps: []event.PlanStep{}}
	for i, t := range list {
		p.Steps = append(p.Steps, event.PlanStep{ID: fmt.Sprint(i + 1), Title: t.Content, Status: statuses[t.Status], Kind: "todo"})
	}
	return p
}
