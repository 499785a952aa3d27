package story

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

var hello = Story{
	Name: "hello",
	Tells: `A person says hello and the agent answers.

The shortest run there is: one node, one turn, one message. It pins that the pieces of the answer are cut inside
words and nowhere joined anew, that the message has the id of its turn in the journal, in the state and in every
dialect, and that usage is said once, at the end of the turn, and summed up once, at the end of the run.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(scripted.Say("Hello, dear reader!"))})
		w.ask("Hello!", run.Success)
	},
}

var conversation = Story{
	Name: "conversation",
	Tells: `A person says something, and then something else: two runs of one thread.

The second run stands on the state of the first: its steps count on, its first checkpoint is a child of the last one
before it, and its values hold the whole conversation while its stream tells of the new messages only.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Sequence(scripted.Words("A river."), scripted.Words("A sea."))})
		w.ask("Where do streams go?", run.Success)
		w.ask("And rivers?", run.Success)
	},
}

// place is the argument of the tools below.
type place struct {
	City string `json:"city"`
}

func tools(all ...tool.Tool) *tool.Set {
	set, err := tool.NewSet(all...)
	if err != nil {
		panic(err) // a mistake in a story
	}
	return set
}

// painting shows its result while it makes it, with a pause after each part.
func painting(pause time.Duration) tool.Tool {
	return tool.Repeatable(tool.FuncOfCall("paint", "Paints a picture.", func(ctx context.Context, c tool.Call, _ struct{}) (item.ToolResult, error) {
		c.Scope.Progress(tool.Progress{Message: "mixing colours", Done: 1, Total: 3})
		for _, line := range []string{"sky\n", "sea\n"} {
			c.Scope.Show(0, item.Block{Type: item.TextBlock, Text: line})
			time.Sleep(pause)
		}
		c.Scope.Progress(tool.Progress{Message: "painting", Done: 2, Total: 3})
		for _, sharp := range []string{"coarse", "fine"} {
			c.Scope.Show(1, item.Block{Type: item.ImageBlock, URL: "data:image/png;base64," + sharp, MIME: "image/png"})
			time.Sleep(pause)
		}
		return item.ToolResult{Content: item.Text("A picture of the sea was painted.")}, ctx.Err()
	}))
}

var toolStreams = Story{
	Name: "tool-streams",
	Tells: `A tool shows its result while it makes it: a log that grows, a picture that gets sharper.

What was shown is what people see of the result, and is not told again when the result is there; the model reads what the
tool returned. How far the tool has come is a member of the item until it has ended.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Tools: tools(painting(0)), Model: scripted.Sequence(scripted.Call("call_1", "paint", `{}`), scripted.Words("Here is the sea."))})
		w.ask("Paint the sea.", run.Success)
	},
}

var toolCall = Story{
	Name: "tool-call",
	Tells: `The agent says that it will look, calls a tool, and answers with what it found.

Text and a call come out of one turn, so they are two items and one message. The tool's intention is in the journal
before it runs and its outcome before anybody acts on it. Arguments arrive in pieces that are no JSON by themselves;
in LangGraph's chunks the call has index 1, since clients merge chunks by index and 0 is the text.
`,
	Happens: func(w *World) {
		weather := tool.Func("weather", "Tells the weather of a city.", func(_ context.Context, in place) (string, error) {
			return "21 degrees and clear in " + in.City, nil
		})
		w.agent(agent.Options{Tools: tools(weather), Model: scripted.Sequence(
			scripted.Words("Let me look.").Call("call_1", "weather", `{"city":"Paris"}`),
			scripted.Words("It is 21 degrees."),
		)})
		w.ask("How is the weather in Paris?", run.Success)
	},
}

var parallelTools = Story{
	Name: "parallel-tools",
	Tells: `The agent calls two tools at once; the second begins first, and finishes first.

Every call is an execution of its own of the node tools. The pieces of the calls are interleaved and must not be mixed
up. The results come into the journal as they finish, and into the conversation in the order of the calls.
`,
	Happens: func(w *World) {
		weather := tool.Func("weather", "Tells the weather of a city.", func(ctx context.Context, in place) (string, error) {
			return "clear in " + in.City, w.until(ctx, ended("tools", "noon"))
		})
		clock := tool.Func("clock", "Tells the time in a city.", func(_ context.Context, in place) (string, error) {
			return "noon in " + in.City, nil
		})
		w.agent(agent.Options{Tools: tools(weather, clock), Model: scripted.Sequence(
			scripted.Parallel(
				item.ToolCall{CallID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`},
				item.ToolCall{CallID: "call_2", Name: "clock", Arguments: `{"city":"Lima"}`},
			),
			scripted.Words("Clear, and noon."),
		)})
		w.ask("Weather in Oslo, time in Lima?", run.Success)
	},
	Fair: func(events []event.Envelope) bool { // which is how Go's scheduler mostly has it
		return begun(events, "call_2") < begun(events, "call_1") && begun(events, "call_1") < finished(events, "call_2")
	},
}

// begun is where a call's intention stands, finished where its result does.
func begun(events []event.Envelope, call string) int {
	return slices.IndexFunc(events, func(env event.Envelope) bool {
		e, ok := env.Event.(event.ItemStarted)
		return ok && e.Type == item.TypeToolResult && e.CallID == call
	})
}

func finished(events []event.Envelope, call string) int {
	return slices.IndexFunc(events, func(env event.Envelope) bool {
		e, ok := env.Event.(event.ItemEnded)
		r, isResult := e.Item.(item.ToolResult)
		return ok && isResult && r.CallID == call
	})
}

var reasoning = Story{
	Name: "reasoning",
	Tells: `The model thinks before it answers.

Its thoughts are an item of their own, with two summaries, and the provider's signature over them is kept: without it
the provider refuses the conversation at the next turn. Thoughts are no part of the answer's text.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Thinking: model.Thinking{On: true}, Model: scripted.Always(
			scripted.Think("Six times nine?", "Rather seven.").Sign("c2lnbmF0dXJl").Words("It is 42."),
		)})
		w.ask("What is the answer?", run.Success)
	},
}

var images = Story{
	Name: "images",
	Tells: `The model draws a picture, coarse at first.

Each coarse picture replaces the one before, and the block that ends has the final one. The text around it is a block
before and a block after the picture.
`,
	Happens: func(w *World) {
		picture := func(partial bool, url string) model.Part {
			return model.Image{Block: 1, Partial: partial, URL: url, MIME: "image/png"}
		}
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("Here it is:").
			Part(picture(true, "data:image/png;base64,AAAA"), picture(true, "data:image/png;base64,AAAB"), picture(false, "data:image/png;base64,AABB")).
			Words("A river."))})
		w.ask("Draw a river.", run.Success)
	},
}

var webCitations = Story{
	Name: "web-citations",
	Tells: `The provider searched the web itself, and marks what it found where.

An annotation comes after the text that it speaks of, counts code points and not bytes, and is on the block when the
block ends.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("Köln liegt am Rhein.").Part(model.Annotation{Block: 0, Annotation: item.Annotation{
			Type: item.URLCitation, Start: 14, End: 19, URL: "https://example.org/rhein", Title: "Der Rhein",
		}}))})
		w.ask("Wo liegt Köln?", run.Success)
	},
}

var newerVersion = Story{
	Name: "newer-version",
	Tells: `A newer version of the program wrote an event that this one does not know.

It was put into the file by hand, between two pieces of the answer. It is kept byte for byte, in the spelling in which
it came; it has its number, so that no position moves; no dialect tells of it, and none stumbles over it.
`,
	Happens: func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(scripted.Words("All is well."))})
		w.ask("How are you?", run.Success)
	},
	Edit: func(events []event.Envelope) []event.Envelope {
		at := slices.IndexFunc(events, func(env event.Envelope) bool { return said(" is")(&env) })
		strange := events[at]
		strange.Event = event.Unknown{Name: "mood_sensed", Data: json.RawMessage(`{"mood":"<calm>","certainty":0.50,"mood":"calm"}`)}
		events = slices.Insert(events, at, strange)
		for i := range events {
			events[i].Seq = uint64(i + 1)
		}
		return events
	},
}
