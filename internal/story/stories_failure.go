package story

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

var errKey = &model.Error{Class: model.Auth, Provider: "scripted", Message: "the key was revoked"}

var errBusy = &model.Error{Class: model.Overloaded, Provider: "scripted", Message: "no room for now", After: 3 * time.Millisecond}

var errorMidStream = Story{
	Name: "error-mid-stream",
	Tells: `The provider fails in the middle of the answer, for good.

Nothing takes the place of what was streamed, so it stays: the item ends incomplete, and the message, marked so, is in the
state. The run ends with the provider's reason, once: as an error of the node and as that of the run, and as the last
frame of LangGraph's stream.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("The answer is").Fail(errKey))})
		w.ask("What is the answer?", run.Failed)
	},
}

var retryWithReset = Story{
	Name: "retry-with-reset",
	Tells: `The provider breaks off in the middle of the answer, and answers at the second try.

The first turn is void with all that it streamed, thoughts and text, when the second has something to show, and not before:
nobody looks at nothing in between. The second has an id of its own and names the one that it replaces; a client that
joins text by message id never mixes the two. What the broken call had cost by then counts. How long was waited is said.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{
			Policy: agent.Policy{Backoff: time.Millisecond},
			Model: scripted.Sequence(
				scripted.Think("Let me see.").Words("Half an").Usage(item.Usage{InputTokens: 4, OutputTokens: 5}).Fail(errBusy),
				scripted.Words("A whole answer."),
			),
		})
		w.ask("Tell me.", run.Success)
	},
}

var warning = Story{
	Name: "warning",
	Tells: `The model that was asked for cannot be had, and another one answers.

People are told what went otherwise than asked, before it does: a setting that was dropped, a model that was replaced.
A warning is neither an error nor part of the conversation.
`,
	Happens: func(w *World) {
		first := scripted.Always(scripted.Fail(errKey))
		first.Name = "first-choice"
		second := scripted.Always(scripted.Words("I will do."))
		second.Name = "second-choice"
		w.agent(agent.Options{
			Model: first, Fallbacks: []model.Model{second},
			Warnings: []event.Warned{{Code: "setting_ignored", Message: "temperature 7 is out of range and was left out"}},
		})
		w.ask("Anybody?", run.Success)
	},
}

var panicking = Story{
	Name: "panic",
	Tells: `A node panics.

The run fails and nothing else does. The step that came before is kept.
`,
	Happens: func(w *World) {
		w.serve(graph.New("clumsy", messages).
			Node("prepare", func(context.Context, *graph.Scope) (graph.Command, error) {
				return graph.Update(messages.Add(item.AssistantText("written-1", "ready"))), nil
			}).
			Node("stumble", func(context.Context, *graph.Scope) (graph.Command, error) { panic("a stone in the way") }).
			Chain(graph.Start, "prepare", "stumble", graph.End))
		w.ask("Go.", run.Failed)
	},
}

var cancel = Story{
	Name: "cancel",
	Tells: `A person stops the run in the middle of the answer.

What was on the screen stays: the open turn ends incomplete, with what it had said, and its message is in the state, marked
so. The run ends cancelled, and LangGraph's stream just ends, without an error. The thread can be asked again: the
second run's model is shown what the first had said, and that it was cut off.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Sequence(
			scripted.Words("Once upon a").Stall(),
			scripted.Words("As you like."),
		)})
		id := w.start(w.saying("Tell me a story."))
		if err := w.until(context.Background(), said(" a")); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.eng.Cancel(context.Background(), reader, id, run.StopRun); err != nil {
			w.t.Fatal(err)
		}
		w.wait(id, run.Cancelled)
		w.ask("A shorter one.", run.Success)
	},
}

var crash = Story{
	Name: "crash",
	Tells: `The process dies twice; the third one finishes the run.

The first dies when a payment was made and its outcome recorded, but not yet the checkpoint after it: the second finds
the outcome and does not pay again. It dies in turn in the middle of the answer: the third answers
anew, and voids what was streamed when it has something to show in its place. Nothing that a reader saw is taken back, and the numbers of the events go on.
`,
	Happens: func(w *World) {
		var paid atomic.Int32
		pay := tool.Func("pay", "Pays a bill.", func(context.Context, struct{}) (string, error) {
			paid.Add(1)
			return "paid", nil
		})
		begin := func(answer scripted.Script) {
			w.agent(agent.Options{Tools: tools(pay), Model: afterResult(scripted.Call("call_1", "pay", `{}`), answer)})
		}
		begin(scripted.Stall())
		w.store.dieAt(func(line string) bool {
			return strings.Contains(line, `"kind":"node_ended"`) && strings.Contains(line, `"node":"tools"`)
		})
		id := w.start(w.saying("Pay the bill."))
		<-w.store.dead

		begin(scripted.Words("It is pa").Do(w.gate(said(" pa"))).Do(func(context.Context) error {
			w.store.die()
			return nil
		}).Words("id.").Stall())
		<-w.store.dead

		begin(scripted.Words("The bill is paid."))
		w.wait(id, run.Success)
		if n := paid.Load(); n != 1 {
			w.t.Fatalf("the bill was paid %d times", n)
		}
	},
}

var powerLoss = Story{
	Name: "power-loss",
	Tells: `The machine goes down in the middle of an answer, and starts again.

Tokens are not synced one by one, so readers may have seen some that nobody has any more. The attempt says so. Wires
whose ids are plain numbers leave some out, so that no number stands for two events: a reader that comes back with one that
went with the power is found out.
`,
	Happens: func(w *World) {
		w.boot = "first-boot"
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("It is").Do(w.gate(said(" is"))).Do(func(context.Context) error {
			w.store.die()
			return nil
		}).Words(" gone.").Stall())})
		id := w.start(w.saying("What is left?"))
		<-w.store.dead

		w.boot = "second-boot"
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("All that was promised."))})
		w.wait(id, run.Success)
	},
}

var unknownOutcome = Story{
	Name: "unknown-outcome",
	Tells: `The process dies while a payment is being made.

Nobody knows whether the money went out. The next process does not pay again: the call's result says that its outcome is
unknown, as an incomplete item that failed, and the model is told so.
`,
	Happens: func(w *World) {
		begin := func(pay func(ctx context.Context) (string, error)) {
			w.agent(agent.Options{
				Tools: tools(tool.Func("pay", "Pays a bill.", func(ctx context.Context, _ struct{}) (string, error) { return pay(ctx) })),
				Model: afterResult(scripted.Call("call_1", "pay", `{}`), scripted.Words("I must check.")),
			})
		}
		begin(func(ctx context.Context) (string, error) {
			w.store.die()
			<-ctx.Done()
			return "", ctx.Err()
		})
		id := w.start(w.saying("Pay the bill."))
		<-w.store.dead
		begin(func(context.Context) (string, error) {
			w.t.Error("paid again")
			return "paid", nil
		})
		w.wait(id, run.Success)
	},
}

var drain = Story{
	Name: "drain",
	Tells: `The server is stopped in an orderly way while a node waits for something, and started again.

The run does not end with the process: it is handed over, and the next one goes on with it. The node that had not ended
runs again, under the same execution; the one that had does not. People who watch see no error.
`,
	Happens: func(w *World) {
		begin := func(wait graph.NodeFunc) {
			w.serve(graph.New("relay", messages).
				Node("speak", speaks("speaker", scripted.Words("One moment."))).Node("wait", wait).
				Chain(graph.Start, "speak", "wait", graph.End))
		}
		begin(func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
			<-ctx.Done()
			return graph.Command{}, ctx.Err()
		})
		id := w.start(w.saying("Fetch the paper."))
		if err := w.until(context.Background(), func(env *event.Envelope) bool {
			_, ok := env.Event.(event.NodeStarted)
			return ok && env.Node == "wait"
		}); err != nil {
			w.t.Fatal(err)
		}
		begin(func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(messages.Add(item.AssistantText("written-1", "Here it is."))), nil
		})
		w.wait(id, run.Success)
	},
	Fair: func(events []event.Envelope) bool { // unless the first process claimed it once more on its way out
		return events[len(events)-1].Epoch == 2
	},
}

var timeout = Story{
	Name: "timeout",
	Tells: `A run takes longer than it may.

It ends with the status timeout and says why; what it was saying stays, as incomplete.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("Let me").Stall())})
		slow := w.saying("Think of something.")
		slow.Timeout = 150 * time.Millisecond
		w.wait(w.start(slow), run.TimedOut)
	},
	Fair: func(events []event.Envelope) bool { // unless the machine was slower than the model
		return slices.ContainsFunc(events, func(env event.Envelope) bool { return said(" me")(&env) })
	},
}

var failingTools = Story{
	Name: "tool-fails",
	Tells: `A tool refuses, another one panics, a third does not exist; the model reads why, and answers.

Each call has a result all the same, marked as failed, and the run goes on. Arguments that do not fit the schema never
reach the tool.
`,
	Happens: func(w *World) {
		weather := tool.Func("weather", "Tells the weather of a city.", func(_ context.Context, in place) (string, error) {
			if in.City == "Atlantis" {
				return "", errors.New("there is no city of that name; try another")
			}
			panic("no thermometer")
		})
		w.agent(agent.Options{Tools: tools(weather), Model: scripted.Sequence(
			scripted.Call("call_1", "weather", `{"city":"Atlantis"}`),
			scripted.Call("call_2", "weather", `{"city":"Paris"}`),
			scripted.Call("call_3", "weather", `{"town":7}`),
			scripted.Call("call_4", "whether", `{}`),
			scripted.Words("I give up."),
		)})
		w.ask("How is the weather?", run.Success)
	},
}

var crashInSubAgent = Story{
	Name: "crash-in-sub-agent",
	Tells: `The process dies while a sub-agent is answering; the next one goes on inside of the sub-agent.

The child task is not begun again: it goes on from its own checkpoint, with the passages that it had found and their
numbers, and only the answer that was cut off is given anew. Its usage is that of all its turns, before and after.
`,
	Happens: func(w *World) {
		begin := func(answer scripted.Script) {
			helper := agent.Sub{Name: "helper", Description: "Looks things up.", Options: agent.Options{
				Tools: tools(library()), Model: afterResult(scripted.Call("", "search", `{"query":"otters"}`), answer),
			}}
			w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: afterResult(
				scripted.Call("call_1", "helper", `{"prompt":"Who holds hands?"}`), scripted.Words("Otters [^1]."),
			)})
		}
		begin(scripted.Words("It is ot").Do(w.gate(said(" ot"))).Do(func(context.Context) error {
			w.store.die()
			return nil
		}).Words("ters.").Stall())
		id := w.start(w.saying("Who holds hands?"))
		<-w.store.dead
		begin(scripted.Words("Otters do [^1]."))
		w.wait(id, run.Success)
	},
}

var drainInSubAgent = Story{
	Name: "drain-in-sub-agent",
	Tells: `The server is stopped in an orderly way while a sub-agent is answering, and started again.

A hand-over is no end, at any depth: the sub-agent does not end with the process, and its caller never reads that it failed.
The next process goes on inside of it. What it had said is replaced by what it says then.
`,
	Happens: func(w *World) {
		begin := func(answer scripted.Script) {
			helper := agent.Sub{Name: "helper", Description: "Looks things up.", Options: agent.Options{Model: scripted.Always(answer)}}
			w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: afterResult(
				scripted.Call("call_1", "helper", `{"prompt":"Who swims?"}`), scripted.Words("Otters do."),
			)})
		}
		begin(scripted.Words("It is ot").Stall())
		id := w.start(w.saying("Who swims?"))
		if err := w.until(context.Background(), said(" ot")); err != nil {
			w.t.Fatal(err)
		}
		begin(scripted.Words("Otters."))
		w.wait(id, run.Success)
	},
	Fair: func(events []event.Envelope) bool { return events[len(events)-1].Epoch == 2 }, // as in drain
}

var cancelAfterCrash = Story{
	Name: "cancel-after-crash",
	Tells: `The process dies in the middle of an answer, and before another one goes on with the run, a person stops it.

No node runs any more, so nobody but the end of the run can see to it that what was shown stays: the open turn ends
incomplete, and its message is in the state.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(scripted.Think("Let me see.").Words("It was a dark").Do(w.gate(said(" dark"))).Do(func(context.Context) error {
			w.store.die()
			return nil
		}).Words("and stormy night.").Stall())})
		id := w.start(w.saying("Tell me a story."))
		<-w.store.dead
		if _, err := w.store.RequestCancel(context.Background(), reader, id, run.StopRun); err != nil {
			w.t.Fatal(err)
		}
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("You will never read this."))})
		w.wait(id, run.Cancelled)
	},
}

// afterResult is a model that says one thing at first, and another once it has the result of a tool.
func afterResult(first, then scripted.Script) *scripted.Model {
	return scripted.New(func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return then
		}
		return first
	})
}
