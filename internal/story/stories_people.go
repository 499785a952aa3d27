package story

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

var (
	messages = graph.Messages("messages")
	votes    = graph.List[string]("votes")
	topic    = graph.LastValue[string]("topic")
)

var interruptAndResume = Story{
	Name: "interrupt-and-resume",
	Tells: `The agent wants to delete files, asks a person first, and is told yes.

The first run ends interrupted, with the call open and the question in its journal; the second brings the answer and
finishes the call. The model is not asked twice for what it had said already, and the tool's own work is done once.
`,
	Happens: func(w *World) {
		remove := tool.FuncOfCall("remove", "Deletes files, after asking.", func(_ context.Context, c tool.Call, in struct {
			Files int `json:"files"`
		}) (string, error) {
			answer, err := tool.Ask[string](c.Scope, tool.Question{
				Value: map[string]any{"question": "Delete them?", "files": in.Files}, Kind: string(event.AskToolApproval), Options: []string{"yes", "no"},
			})
			if err != nil {
				return "", err
			}
			return "the person said " + answer, nil
		})
		w.agent(agent.Options{Tools: tools(remove), Model: scripted.Sequence(
			scripted.Call("call_1", "remove", `{"files":3}`), scripted.Words("They are gone."),
		)})
		w.ask("Tidy up.", run.Interrupted)
		w.answer("yes", run.Success)
	},
}

var parallelInterrupts = Story{
	Name: "parallel-interrupts",
	Tells: `Two nodes ask at once; a person answers one of them, and later the other.

Three runs. Both questions are told when the first one stops. An answer is meant for the question whose id it names;
the node that has its answer is not run again while the other still waits, and its result, when the last run takes it
up, is marked as kept.
`,
	Happens: func(w *World) {
		// The right node asks after the left one has asked, or has been answered; or at once, if the left one is done.
		asks := func(side string, gate func(context.Context) error) graph.NodeFunc {
			return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				if err := gate(ctx); err != nil {
					return graph.Command{}, err
				}
				answer, err := graph.Ask[string](s, map[string]string{"ask": side + "?"})
				return graph.Update(votes.Add(side + ": " + answer)), err
			}
		}
		g := graph.New("vote", votes).
			Node("left", asks("left", func(context.Context) error { return nil })).
			Node("right", asks("right", w.gate(ended("left", "")))).
			Node("count", func(context.Context, *graph.Scope) (graph.Command, error) {
				return graph.Update(votes.Add("counted")), nil
			}).
			Edge(graph.Start, "left").Edge(graph.Start, "right").
			Join([]string{"left", "right"}, "count").Edge("count", graph.End)
		w.serve(g)
		w.wait(w.start(run.Request{Input: w.json(map[string]any{"votes": []string{}})}), run.Interrupted)
		ids := w.questions()
		w.answer(map[string]string{ids[0]: "aye"}, run.Interrupted)
		w.answer(map[string]string{ids[1]: "no"}, run.Success)
	},
}

// questions are the ids of what the first run asked.
func (w *World) questions() []string {
	var ids []string
	for _, env := range w.events(w.told[0].id) {
		if e, ok := env.Event.(event.InterruptRaised); ok {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

var queued = Story{
	Name: "queued",
	Tells: `A person says something more while the first answer is still being written.

The second run waits for its turn, and says so at once: its journal begins with that, before anybody executes it.
`,
	Happens: func(w *World) {
		said := make(chan struct{})
		w.serve(graph.New("letter", messages).Node("write", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			<-said
			n := len(messages.Get(s))
			return graph.Update(messages.Add(item.AssistantText(fmt.Sprint("written-", n), "Noted."))), nil
		}).Chain(graph.Start, "write", graph.End))
		first := w.start(w.saying("Write this down."))
		second := w.start(w.saying("And this."))
		close(said)
		w.wait(first, run.Success)
		w.wait(second, run.Success)
	},
}

var breakpoint = Story{
	Name: "breakpoint",
	Tells: `A graph stops before one of its nodes, and a run without input goes on from there.

A breakpoint asks nothing: the first run ends interrupted without a question, and LangGraph's values end with an empty
list of interrupts. The second run begins with the state that it found.
`,
	Happens: func(w *World) {
		writes := func(text string) graph.NodeFunc {
			return func(context.Context, *graph.Scope) (graph.Command, error) {
				return graph.Update(messages.Add(item.AssistantText("written-"+text, text))), nil
			}
		}
		w.serve(graph.New("letter", messages).Node("draft", writes("draft")).Node("send", writes("sent")).
			Chain(graph.Start, "draft", "send", graph.End).InterruptBefore("send"))
		w.ask("Write to them.", run.Interrupted)
		w.wait(w.start(run.Request{}), run.Success)
	},
}

var whatTheModelSaw = Story{
	Name: "what-the-model-saw",
	Tells: `A middleware shows the model less than the thread has, and something that the thread does not have.

The thread keeps every message. The journal tells of each turn what its model was shown: how many messages, which were
left out, which were added, which tools were offered, and the digest under which the request itself is kept. No
wire tells of it; whoever wants to know asks for the request.
`,
	Happens: func(w *World) {
		w.requests = true
		forget := agent.Middleware{Name: "forget", Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				msgs := c.Request.Messages
				c.Request.Messages = append([]item.Message{item.UserText("summary", "They like trees.")}, msgs[len(msgs)-1:]...)
				return next(ctx, c)
			}
		}}
		look := tool.Func("look", "Looks at a tree.", func(context.Context, struct{}) (string, error) { return "tall", nil })
		w.agent(agent.Options{Tools: tools(look), Middleware: []agent.Middleware{forget}, Model: scripted.Sequence(
			scripted.Words("I like them too."), scripted.Words("Oaks."),
		)})
		w.ask("I like trees.", run.Success)
		w.ask("Which?", run.Success)
	},
}
