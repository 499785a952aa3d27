package story

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// but is the list of what stories leave out of the lead agent, without some.
func but(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(bare), func(n string) bool { return slices.Contains(names, n) })
}

// talker answers turns by their number, and writes the summaries of what was said.
func talker(r model.Request) scripted.Script {
	if strings.HasPrefix(r.System, "You keep the memory") {
		return says("Rivers were spoken of.")
	}
	return says("Yes.")
}

// speakAtLength has a thread grow until it is summarised, and then once more.
func speakAtLength(w *World, m model.Model, turns int, o lead.Options) {
	w.lead(m, `{}`, o)
	for i := range turns {
		w.ask(fmt.Sprint("Part ", i+1, ": ", strings.Repeat("rivers rise ", 4)), run.Success)
	}
}

var longThread = Story{
	Name: "long-thread-summarised",
	Tells: `A conversation becomes too long for its model, which is shown a summary in place of the older part.

The summary is made by a sub-agent, in a step of its own before the model is asked, and is kept in the state. The messages stay as people
wrote and read them: a summary changes what the model is shown, and nothing else.
`,
	Happens: func(w *World) {
		speakAtLength(w, scripted.New(talker), 4, lead.Options{Without: but("summary"), Summary: middleware.SummaryOptions{Trigger: 45, Keep: 16}})
	},
}

// looking is a tool that finds nothing.
func looking() tool.Tool {
	return tool.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "nothing", nil })
}

// restless calls a tool in every answer, as long as it may.
func restless(r model.Request) scripted.Script {
	if r.Choice == "none" {
		return says("There is nothing.")
	}
	n := 1
	for _, m := range r.Messages {
		if m.Role == item.Tool {
			n++
		}
	}
	return calling(fmt.Sprint("call_", n), "look", `{}`)
}

var loopIsStopped = Story{
	Name: "loop-stopped",
	Tells: `The model makes the same call again and again.

Here it is warned after the second time, and after the third no further call is made: it answers once more, without tools, and people are told why.
`,
	Happens: func(w *World) {
		w.lead(scripted.New(restless), `{}`, lead.Options{Without: bare, Loops: middleware.LoopOptions{Warn: 2, Stop: 3}}, looking())
		w.ask("Look.", run.Success)
	},
}

// aPicture is the beginning of one, which is enough to tell what it is.
const aPicture = "\x89PNG\r\n\x1a\n"

// upload puts a file into the thread's folder as a person does.
func (w *World) upload(name, content string) {
	w.t.Helper()
	root, err := w.folder(reader, thread)
	if err != nil {
		w.t.Fatal(err)
	}
	defer root.Close()
	if err := root.MkdirAll("uploads", 0o700); err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join("uploads", name)
	if err := root.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(root.Name(), path), begins, begins); err != nil {
		w.t.Fatal(err)
	}
}

// seeing says what it is shown: a picture, or the name of one, or neither.
func seeing(r model.Request) scripted.Script {
	pictures, named := 0, false
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b.Type == item.ImageBlock {
				pictures++
			}
			named = named || strings.Contains(b.Text, "/mnt/user-data/uploads/dot.png")
		}
	}
	last := r.Messages[len(r.Messages)-1]
	switch {
	case pictures == 1:
		return says("A dot.")
	case pictures == 0 && named && strings.Contains(last.Text(), "What is"):
		return calling("call_1", "view_image", `{"image_path":"/mnt/user-data/uploads/dot.png"}`)
	case pictures == 0 && named:
		return says("I saw it once.")
	}
	return says(fmt.Sprint("I see ", pictures, " pictures."))
}

var pictureSeenOnce = Story{
	Name: "picture-seen-once",
	Tells: `A person uploads a picture and asks what is on it.

The agent is told of the file with the message that brought it, and looks at it with a tool. The request after that has the picture; no
later one has it again. The state knows which pictures were seen, and holds none of their bytes.
`,
	Happens: func(w *World) {
		w.lead(scripted.New(seeing), `{}`, lead.Options{Without: but("uploads")}, files.Tools(files.Options{})...)
		w.upload("dot.png", aPicture)
		w.ask("What is on it?", run.Success)
		w.ask("Thanks.", run.Success)
	},
}

var emptyAnswer = Story{
	Name: "empty-answer-retried",
	Tells: `The model ends without a word, and is asked once more.

The first try is void. The thread has the second, and nobody had to ask again.
`,
	Happens: func(w *World) {
		w.lead(scripted.Sequence(scripted.Script{}.Usage(cost), says("Here I am.")), `{}`, lead.Options{Without: bare})
		w.ask("Are you there?", run.Success)
	},
}

var budgetRunsOut = Story{
	Name: "budget-runs-out",
	Tells: `An answer may take twenty-five tokens, and the model wants to go on.

Each model call uses fifteen. Near the end of the budget the model is told so, and people are warned; when it is used up, the call that
the model wants is not made, and it answers once more without tools.
`,
	Happens: func(w *World) {
		w.lead(scripted.New(restless), `{}`, lead.Options{Without: bare, Budget: 25}, looking())
		w.ask("Look.", run.Success)
	},
}

// leads starts a process that assembles the lead agent for each run, as the server does.
func (w *World) leads(m model.Model, settings string, o lead.Options, all ...tool.Tool) {
	w.t.Helper()
	o.Now = func() time.Time { return begins }
	f, err := lead.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.close() // before the change: a process that was killed may be building a run still
	w.build = func(ctx context.Context, r run.Run) (*graph.Graph, error) {
		configurable, inner, err := r.Request.Settings()
		if err != nil {
			return nil, err
		}
		if len(configurable) <= len(`{}`) {
			configurable = json.RawMessage(settings)
		}
		return f.Graph(ctx, lead.Run{ID: r.ID, Owner: r.Owner, Thread: r.Thread, Configurable: configurable, Context: inner},
			lead.Base{Options: agent.Options{Name: "agent", Tools: tools(all...)}, Models: oneModel{m}, Background: w.desk})
	}
	g, err := w.build(context.Background(), run.Run{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve(g)
}

// woken waits for a run of the thread that nobody of the story started, and for its end.
func (w *World) woken(want run.Status) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		runs, err := w.store.ThreadRuns(ctx, reader, thread, "", 10, 0)
		if err != nil {
			w.t.Fatalf("nothing woke the thread: %v", err)
		}
		if len(runs) > len(w.told) {
			w.told = append(w.told, told{runs[0].ID, runs[0].Request, w.graph})
			if w.begun != nil {
				w.begun(runs[0].ID)
			}
			w.wait(runs[0].ID, want)
			return
		}
		<-tick.C
	}
}

// saidFirst is the first message of a request, without what the program added.
func saidFirst(r model.Request) (text string) {
	for _, b := range r.Messages[0].Content {
		if !strings.HasPrefix(b.Text, "<system-reminder>") {
			text += b.Text
		}
	}
	return text
}

// patient is a model that has a sub-agent work in the background, which waits until it may end.
func patient(may <-chan struct{}) func(r model.Request) scripted.Script {
	return func(r model.Request) scripted.Script {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case saidFirst(r) == "rivers":
			return scripted.Wait(may).Words("Rivers rise.").Usage(cost)
		case last.Role == item.Tool:
			return says("Somebody looks.")
		case strings.Contains(last.Text(), "Rivers rise."):
			return says("They rise.")
		}
		return calls(item.ToolCall{CallID: "call_1", Name: "task", Arguments: `{"description":"rivers","prompt":"rivers","subagent_type":"general-purpose","background":true}`})
	}
}

var backgroundTask = Story{
	Name: "background-task",
	Tells: `A sub-agent works on while its caller's run has ended, and wakes the thread when it is done.

The call returns at once. The work is a run of a thread of its own, which is not in this file. Its end begins the second run here, with a
message of the program that front ends hide; the state says how the task stands.
`,
	Happens: func(w *World) {
		may := make(chan struct{})
		w.leads(scripted.New(patient(may)), `{"subagent_enabled":true}`, lead.Options{Without: bare})
		w.ask("What do rivers do?", run.Success)
		close(may)
		w.woken(run.Success)
	},
}

var goalPursued = Story{
	Name: "goal-pursued",
	Tells: `The thread has a goal, and the agent goes on by itself until it is reached.

After each answer a sub-agent judges. The first judgement says what is missing: the agent is asked again, without a word of the person. The
second says that the goal is reached.
`,
	Happens: func(w *World) {
		w.lead(scripted.New(func(r model.Request) scripted.Script {
			said := 0
			for _, m := range r.Messages {
				if m.Role == item.Assistant {
					said++
				}
			}
			switch {
			case strings.HasPrefix(r.System, "You judge") && strings.Contains(r.Messages[0].Text(), "Assistant: Two."):
				return says(`{"blocker":"none","reason":"both are named"}`)
			case strings.HasPrefix(r.System, "You judge"):
				return says(`{"blocker":"goal_not_met_yet","reason":"one is missing"}`)
			case said == 0:
				return says("One.")
			}
			return says("Two.")
		}), `{}`, lead.Options{Without: bare})
		w.wait(w.start(run.Request{Input: w.json(map[string]any{
			"messages": []item.Message{item.UserText("human-1", "Name rivers.")}, "goal": middleware.Goal{Objective: "Two rivers are named."},
		})}), run.Success)
	},
}
