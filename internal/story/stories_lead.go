package story

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// oneModel is a model for every wish.
type oneModel struct{ model.Model }

func (o oneModel) Choose(context.Context, model.Wish) (model.Choice, error) {
	return model.Choice{Model: o.Model}, nil
}

// bare leaves out of the lead agent what the stories are not about: steps of their own that would be in every file.
var bare = []string{"uploads", "reminder", "summary", "usage"}

// lead starts a process that runs the lead agent, assembled with these settings.
func (w *World) lead(m model.Model, settings string, o lead.Options, all ...tool.Tool) {
	w.t.Helper()
	o.Now = func() time.Time { return begins }
	f, err := lead.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := f.Graph(context.Background(), lead.Run{ID: "run", Owner: reader.Owner, Configurable: json.RawMessage(settings)},
		lead.Base{Options: agent.Options{Name: "agent", Tools: tools(all...)}, Models: oneModel{m}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve(g)
}

// calls is an answer that makes calls, each in one piece: these stories are not about how arguments arrive.
func calls(list ...item.ToolCall) scripted.Script {
	var parts []model.Part
	for i, c := range list {
		parts = append(parts, model.ToolCall{Index: i, ID: c.CallID, Name: c.Name, Arguments: c.Arguments})
	}
	return scripted.Script{}.Part(parts...).Usage(cost)
}

// cost is what each of their model calls is said to use, whatever the prompt is.
var cost = item.Usage{InputTokens: 10, OutputTokens: 5}

func says(text string) scripted.Script { return scripted.Words(text).Usage(cost) }

func calling(id, name, args string) scripted.Script {
	return calls(item.ToolCall{CallID: id, Name: name, Arguments: args})
}

var planMode = Story{
	Name: "plan-mode",
	Tells: `The lead agent works by a list of todos that people see change.

Each call of write_todos brings the whole list. It is told as a plan when the call is made, and is in the state with the
call's result. After the first exchange the thread has a title.
`,
	Happens: func(w *World) {
		w.lead(scripted.Sequence(
			calling("call_1", "write_todos", `{"todos":[{"content":"look","status":"in_progress"},{"content":"tell","status":"pending"}]}`),
			calling("call_2", "write_todos", `{"todos":[{"content":"look","status":"completed"},{"content":"tell","status":"completed"}]}`),
			says("It is clear."),
		), `{"is_plan_mode":true}`, lead.Options{Without: bare})
		w.ask("How is the weather in Oslo, if you please?", run.Success)
	},
}

// payment is a tool that may not be called twice, with what it paid.
func payment(paid func(call string)) tool.Tool {
	return tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, in struct {
		Euros int `json:"euros"`
	}) (string, error) {
		if paid != nil {
			paid(c.ID)
		}
		raw, err := json.Marshal(in)
		return "paid " + string(raw), err
	})
}

var paymentsAreAsked = lead.Rules{List: []lead.Rule{{Tool: "pay", Do: lead.Ask}}}

var toolApproval = Story{
	Name: "tool-approval",
	Tells: `A person is asked before each payment: approves one, changes one, and rejects one.

Each question ends a run, and its answer begins the next, which goes on with the same call. What the model wrote stays on
record when somebody changes it; the model is told what was done in its place, or why nothing was.
`,
	Happens: func(w *World) {
		w.lead(scripted.Sequence(
			calling("call_1", "pay", `{"euros":1}`), calling("call_2", "pay", `{"euros":2}`), calling("call_3", "pay", `{"euros":3}`),
			says("Twenty-one in all."),
		), `{}`, lead.Options{Without: bare, Rules: paymentsAreAsked}, payment(nil))
		w.ask("Pay them.", run.Interrupted)
		w.answer("approve", run.Interrupted)
		w.answer(map[string]any{"decision": "edit", "arguments": map[string]any{"euros": 20}}, run.Interrupted)
		w.answer(map[string]any{"decision": "reject", "reason": "not this one"}, run.Success)
	},
}

var clarificationAfterRestart = Story{
	Name: "clarification-after-restart",
	Tells: `The agent asks which colour is meant; the answer comes when another process serves the thread.

The question has the form that DeerFlow's front ends know. The second run goes on with the very call that asked.
`,
	Happens: func(w *World) {
		serve := func(m model.Model) { w.lead(m, `{}`, lead.Options{Without: bare}) }
		serve(scripted.Always(calling("call_1", "ask_clarification", `{"question":"Which colour?","clarification_type":"missing_info","options":["red","blue"]}`)))
		w.ask("Paint the door.", run.Interrupted)
		serve(scripted.Always(says("Blue it is.")))
		w.answer(map[string]any{"option_id": "option-2"}, run.Success)
	},
}

// delegated is a call of the tool task.
func delegated(id, prompt string) item.ToolCall {
	return item.ToolCall{CallID: id, Name: "task", Arguments: `{"description":"` + prompt + `","prompt":"` + prompt + `","subagent_type":"general-purpose"}`}
}

var subAgentsOneCancelled = Story{
	Name: "sub-agents-one-cancelled",
	Tells: `Three sub-agents work at the same time; a person stops the second one alone.

Each is a child task behind one tool, task. The one that is stopped ends cancelled, with what it had said; its caller is told and goes on
with the others. The ledger in the state says how each of them ended.
`,
	Happens: func(w *World) {
		// The first one speaks, then the second begins and is stopped, then the third works, then the first one goes on.
		order := agent.Middleware{Name: "order", Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				gates := map[string]func(*event.Envelope) bool{"call_1": inNumber(3), "call_2": said("Rivers"), "call_3": ended("tools", "call_2")}
				if err := w.until(ctx, gates[c.Call.CallID]); err != nil {
					return agent.Outcome{}, err
				}
				return next(ctx, c)
			}
		}}
		w.lead(scripted.New(func(r model.Request) scripted.Script {
			switch r.Messages[0].Text() {
			case "rivers":
				return scripted.Words("Rivers").Do(w.gate(ended("tools", "call_3"))).Words(" rise.").Usage(cost)
			case "seas":
				return scripted.Words("Seas").Do(func(ctx context.Context) error {
					if err := w.until(ctx, said("Seas")); err != nil {
						return err
					}
					if _, err := w.eng.CancelTask(ctx, reader, w.told[0].id, "call_2"); err != nil {
						return err
					}
					<-ctx.Done()
					return context.Cause(ctx)
				})
			case "lakes":
				return says("Lakes stay.")
			}
			if r.Messages[len(r.Messages)-1].Role == item.Tool {
				return says("They rise and stay.")
			}
			return calls(delegated("call_1", "rivers"), delegated("call_2", "seas"), delegated("call_3", "lakes"))
		}), `{"subagent_enabled":true}`, lead.Options{Without: bare, Middleware: []agent.Middleware{order}})
		w.ask("What does water do?", run.Success)
	},
	Fair: func(events []event.Envelope) bool {
		return begun(events, "call_3") < begun(events, "call_1") && begun(events, "call_1") < begun(events, "call_2")
	},
}

// inNumber tells that so many tool calls were begun.
func inNumber(n int) func(*event.Envelope) bool {
	return func(env *event.Envelope) bool {
		if e, ok := env.Event.(event.ItemStarted); ok && e.Type == item.TypeToolResult {
			n--
		}
		return n == 0
	}
}

var fileAsArtifact = Story{
	Name: "file-as-artifact",
	Tells: `The agent writes a file and presents it.

The file is in the thread's folder. That it was presented is in the state, with the result of the call that did so; clients find it
under artifacts, by the name that the model knows it by.
`,
	Happens: func(w *World) {
		w.lead(scripted.Sequence(
			calling("call_1", "write_file", `{"path":"/mnt/user-data/outputs/report.md","content":"# Water\n"}`),
			calling("call_2", "present_files", `{"filepaths":["/mnt/user-data/outputs/report.md"]}`),
			says("There it is."),
		), `{}`, lead.Options{Without: bare}, files.Tools(files.Options{})...)
		w.ask("Write a report.", run.Success)
	},
}
