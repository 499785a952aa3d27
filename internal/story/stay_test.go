package story

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/chat"
	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
	teams "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// stride is how far apart the frames are after which a story is stopped. STAY_EVERY=1 tries every one of them.
func stride(t *testing.T) int {
	if s := os.Getenv("STAY_EVERY"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("STAY_EVERY=%q: want a number of frames", s)
		}
		return n
	}
	if testing.Short() {
		return 47
	}
	return 13
}

// slowly is a script that gives a person the time to stop it: the pace decides how close to a frame a stop is, and nothing else.
func slowly() scripted.Script { return scripted.Every(500 * time.Microsecond) }

func slow(first, then scripted.Script) *scripted.Model { return afterResult(first, then) }

// interruptible are stories that can be told again in another process, from wherever the first one was stopped.
var interruptible = map[string]func(w *World){
	"hello": func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(slowly().Words("Hello to you and to all the others in the room."))})
	},
	"reasoning": func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(slowly().Think("Let me see.", "Perhaps so.").Sign("sig").Words("Yes, that is how it is."))})
	},
	"tool": func(w *World) {
		w.agent(agent.Options{Tools: tools(library()), Model: slow(
			slowly().Words("I will look.").Call("", "search", `{"query":"otters"}`), slowly().Words("Otters hold hands [^1]. So they say."))})
	},
	"parallel tools": func(w *World) {
		wait := tool.Repeatable(tool.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(5 * time.Millisecond):
				return "waited", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}))
		w.agent(agent.Options{Tools: tools(library(), wait), Model: slow(
			slowly().Parallel(item.ToolCall{Name: "search", Arguments: `{"query":"elks"}`}, item.ToolCall{Name: "wait", Arguments: `{}`}),
			slowly().Words("Elks swim well."))})
	},
	"a tool that shows its work": func(w *World) {
		w.agent(agent.Options{Tools: tools(painting(2 * time.Millisecond)), Model: slow(slowly().Call("", "paint", `{}`), slowly().Words("Here is the sea."))})
	},
	"sub-agent": func(w *World) {
		helper := agent.Sub{Name: "helper", Description: "Helps.", Options: agent.Options{
			Tools: tools(library()), Model: slow(slowly().Call("", "search", `{"query":"x"}`), slowly().Words("It is otters [^1]."))}}
		w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: slow(slowly().Call("", "helper", `{"prompt":"Who?"}`), slowly().Words("Otters it is."))})
	},
	"a sub-agent of a sub-agent": func(w *World) {
		deep := agent.Sub{Name: "deep", Description: "Helps the helper.", Options: agent.Options{Model: scripted.Always(slowly().Words("It is elks, I think."))}}
		helper := agent.Sub{Name: "helper", Description: "Helps.", Options: agent.Options{
			Subs: []agent.Sub{deep}, Model: slow(slowly().Call("", "deep", `{"prompt":"Who?"}`), slowly().Words("Elks."))}}
		w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: slow(slowly().Call("", "helper", `{"prompt":"Who?"}`), slowly().Words("Elks it is."))})
	},
	"two sub-agents": func(w *World) {
		helper := agent.Sub{Name: "helper", Description: "Helps.", Options: agent.Options{Model: scripted.Always(slowly().Words("I have found nothing at all."))}}
		w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: slow(
			slowly().Parallel(item.ToolCall{Name: "helper", Arguments: `{"prompt":"a"}`}, item.ToolCall{Name: "helper", Arguments: `{"prompt":"b"}`}),
			slowly().Words("Nobody knows."))})
	},
	"sub-agent that fails": func(w *World) {
		helper := agent.Sub{Name: "helper", Description: "Helps.", Options: agent.Options{Model: scripted.Always(slowly().Words("I think that it is").Fail(errKey))}}
		w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: slow(slowly().Call("", "helper", `{"prompt":"Who?"}`), slowly().Words("I do not know."))})
	},
	"retry": func(w *World) {
		var calls atomic.Int32
		w.agent(agent.Options{Policy: agent.Policy{Backoff: 2 * time.Millisecond}, Model: scripted.New(func(model.Request) scripted.Script {
			switch calls.Add(1) {
			case 1:
				return slowly().Think("Hm.").Words("Half an answer that").Fail(errBusy)
			case 2:
				return scripted.Fail(errBusy)
			}
			return slowly().Words("A whole answer, at last.")
		})})
	},
	"fallback": func(w *World) {
		w.agent(agent.Options{
			Model:     scripted.Always(slowly().Words("The first one says that").Fail(errKey)),
			Fallbacks: []model.Model{scripted.Always(slowly().Words("The second one says it all."))},
		})
	},
	"error mid-stream": func(w *World) {
		w.agent(agent.Options{Model: scripted.Always(slowly().Words("The answer to everything is").Fail(errKey))})
	},
	"subgraph": func(w *World) {
		below := graph.New("below", messages).Node("speak", speaks("below", slowly().Words("Words from below the ground."))).Chain(graph.Start, "speak", graph.End)
		w.serve(graph.New("above", messages).
			Node("first", speaks("above", slowly().Words("Words from above."))).Subgraph("deep", below, graph.OnlyNew).
			Chain(graph.Start, "first", "deep", graph.End))
	},
}

// However a run is stopped, and after whichever frame, what two tabs showed at its end is what a reload shows: over every wire, of
// the stream and of the thread's state. What a tab had shown when it was stopped is still there, unless something took
// its place.
func TestWhatTabsShowedIsWhatAReloadShows(t *testing.T) {
	for name, begin := range interruptible {
		for how, stop := range map[string]func(w *World, id string){"stop": stopRun, "restart": restart(begin), "stop after a restart": func(w *World, id string) {
			w.cancelStored(id)
			restart(begin)(w, id)
		}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				whole := tellStopped(t, begin, 0, nil)
				for at := 1; at < len(whole); at += stride(t) {
					events := tellStopped(t, begin, at, stop)
					if how == "restart" {
						unharmed(t, at, whole, events)
					}
				}
			})
		}
	}
}

// unharmed checks that a restart in between changed neither how the run ended nor how any of its sub-agents did: a hand-over is
// no end, at any depth.
func unharmed(t *testing.T, at int, whole, events []event.Envelope) {
	t.Helper()
	ends := func(events []event.Envelope) (out []event.Status) {
		for _, env := range events {
			switch e := env.Event.(type) {
			case event.TaskEnded:
				out = append(out, e.Status)
			case event.RunEnded:
				out = append(out, e.Status)
			}
		}
		return out
	}
	if got, want := ends(events), ends(whole); !slices.Equal(got, want) {
		t.Fatalf("restarted after %d: sub-agents and run ended %q, without a restart %q", at, got, want)
	}
}

func stopRun(w *World, id string) {
	if _, err := w.eng.Cancel(context.Background(), reader, id, run.StopRun); err != nil {
		w.t.Fatal(err)
	}
}

// restart stops the process in an orderly way, as SIGTERM does, and starts another.
func restart(begin func(*World)) func(*World, string) {
	return func(w *World, _ string) { begin(w) }
}

// cancelStored notes a person's wish where the process that executes the run does not hear of it.
func (w *World) cancelStored(id string) {
	if _, err := w.store.RequestCancel(context.Background(), reader, id, run.StopRun); err != nil {
		w.t.Fatal(err)
	}
}

// tellStopped tells a story, stops it after an event, and compares. It returns what the run's journal says.
func tellStopped(t *testing.T, begin func(*World), at int, stop func(*World, string)) []event.Envelope {
	w := &World{t: t, dir: t.TempDir(), hasty: true}
	defer w.close()
	begin(w)
	id := w.start(w.saying("Tell me."))
	tab := w.watch(id, nil, at)
	before := len(tab)
	if stop != nil && before == at {
		stop(w, id)
		tab = w.watch(id, tab, 0)
	}
	rec := w.record()
	events := rec.Runs[0].Events
	if a, b := asJSON(t, tab), asJSON(t, events); a != b {
		t.Fatalf("stopped after %d: a tab saw\n%s\nand a reload\n%s", at, a, b)
	}
	states := w.texts(events)
	kept := slices.Collect(maps.Values(states))
	for _, d := range []Dialect{
		LangGraph("langgraph", true, "messages-tuple", "custom"), Protocol2("protocol2", Channels...),
		{Name: "chat", New: func(*Recording, string) wire.Projector { return chat.New() }},
		{Name: "team", New: func(*Recording, string) wire.Projector { return teams.New() }},
	} {
		frames, err := d.Project(rec, rec.Runs[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range [][][]wire.Frame{frames[:before], frames} {
			shows := onScreen(t, d.Name, slices.Concat(part...))
			if d.Name == "team" { // it names who speaks, and not the message; and it shows the last text of each
				for who, text := range shows {
					is := func(whole string) bool { return whole == text || i == 0 && strings.HasPrefix(whole, text) }
					if !slices.ContainsFunc(kept, is) && (i == 1 || !superseded(events[before:], "")) {
						t.Fatalf("stopped after %d, %s: a tab showed %q of %q, and no message of the thread is that\n%s", at, d.Name, text, who, asJSON(t, events))
					}
				}
				continue
			}
			for msg, text := range shows {
				if now := states[msg]; i == 1 && now != text {
					t.Fatalf("stopped after %d, %s: tabs show %q of %s, a reload %q\n%s", at, d.Name, text, msg, now, asJSON(t, events))
				}
			}
			if i == 0 { // what was there when it was stopped
				stay(t, d.Name, at, shows, onScreen(t, d.Name, slices.Concat(frames...)), events[before:])
			}
		}
	}
	w.compareTasks(rec, at, states)
	return events
}

// watch reads a run from where a tab is, to its end or until it has seen some number of events.
func (w *World) watch(id string, tab []event.Envelope, until int) []event.Envelope {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var from journal.Position
	if n := len(tab); n > 0 {
		from = journal.Position{Epoch: tab[n-1].Epoch, Seq: tab[n-1].Seq}
	}
	for env, err := range w.log.Follow(ctx, id, from) {
		if err != nil {
			w.t.Fatalf("after %d events: %v", len(tab), err)
		}
		if tab = append(tab, env); len(tab) == until {
			break
		}
	}
	return tab
}

// texts are the answers in the thread, by id, at every depth.
func (w *World) texts(events []event.Envelope) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, ns := range spaces(events) {
		snap, err := w.store.Load(context.Background(), thread, ns, "")
		if err != nil {
			w.t.Fatalf("state of %q: %v", ns, err)
		}
		var list []item.Message
		if err := json.Unmarshal(snap.Values["messages"], &list); err != nil {
			w.t.Fatalf("state of %q: %v", ns, err)
		}
		for _, m := range list {
			if m.Role == item.Assistant {
				out[m.ID] = m.Text()
			}
		}
	}
	return out
}

// onScreen is what a client shows: the pieces of each message joined, without those that were superseded. On the team's wire it
// is what each speaker says.
func onScreen(t *testing.T, dialect string, frames []wire.Frame) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range frames {
		name, _, _ := strings.Cut(f.Name, "|")
		var id, text, gone string
		switch {
		case dialect == "langgraph" && name == "messages":
			var chunk []struct{ ID, Content, Type string }
			if err := json.Unmarshal(f.Data, &chunk); err == nil && chunk[0].Type == "ai" { // other messages have other contents
				id, text = chunk[0].ID, chunk[0].Content
			}
		case dialect == "langgraph" && name == "custom":
			var e struct{ Type, ID string }
			if json.Unmarshal(f.Data, &e) == nil && e.Type == "message_superseded" {
				gone = e.ID
			}
		case dialect == "chat" && name == "message_chunk":
			var e struct {
				ID, Content string
				Finish      string `json:"finish_reason"`
			}
			_ = json.Unmarshal(f.Data, &e) // what is no chunk shows nothing
			if id, text = e.ID, e.Content; e.Finish == "void" {
				gone = e.ID
			}
		case dialect == "team":
			var e struct{ Type, Expert, Phase, Delta string }
			_ = json.Unmarshal(f.Data, &e)
			if id = e.Expert + " " + e.Phase; strings.HasSuffix(e.Type, "_chunk") {
				text = e.Delta
			} else if strings.HasSuffix(e.Type, "_reset") {
				gone = id
			}
		case dialect == "protocol2":
			var e struct {
				Params struct {
					Data struct {
						Run     string `json:"run_id"`
						Delta   struct{ Type, Text string }
						Payload struct{ Type, ID string }
					}
				}
			}
			_ = json.Unmarshal(f.Data, &e) // of other channels there is nothing to show
			if d := e.Params.Data; d.Delta.Type == "text-delta" {
				id, text = d.Run, d.Delta.Text
			} else if d.Payload.Type == "message_superseded" {
				gone = d.Payload.ID
			}
		}
		if text != "" {
			out[id] += text
		}
		delete(out, gone)
	}
	return out
}

// stay checks that what was on the screen is still there at the end, or that something took its place.
func stay(t *testing.T, dialect string, at int, before, after map[string]string, since []event.Envelope) {
	t.Helper()
	for id, text := range before {
		if strings.HasPrefix(after[id], text) {
			continue
		}
		if !superseded(since, id) {
			t.Fatalf("stopped after %d, %s: a tab showed %q of %s, and at the end %q", at, dialect, text, id, after[id])
		}
	}
}

// superseded reports that a turn was voided, any if id is empty, and that another had something to show in its place.
func superseded(since []event.Envelope, id string) bool {
	void := slices.IndexFunc(since, func(env event.Envelope) bool {
		v, ok := env.Event.(event.TurnVoided)
		return ok && (v.Turn == id || id == "")
	})
	return void >= 0 && slices.ContainsFunc(since[void:], func(env event.Envelope) bool { s, ok := env.Event.(event.ItemStarted); return ok && s.Turn != "" })
}

// compareTasks holds the native wire to the same: the object that a tab has put together, the one that a reload gets, and what
// the thread says.
func (w *World) compareTasks(rec *Recording, at int, states map[string]string) {
	w.t.Helper()
	d := Dialects()[0]
	frames, err := d.Project(rec, rec.Runs[0])
	if err != nil {
		w.t.Fatal(err)
	}
	var tab tasktest.Fold
	for _, f := range slices.Concat(frames...) {
		if err := tab.Apply(f.Data); err != nil {
			w.t.Fatal(err)
		}
	}
	shows, _ := tab.Task(tab.Root())
	reload, err := tasktest.Canonical(final(rec.Runs[0]))
	if err != nil {
		w.t.Fatal(err)
	}
	if string(shows) != string(reload) {
		w.t.Fatalf("stopped after %d: a tab shows\n%s\nand a reload\n%s", at, shows, reload)
	}
	var object any
	if err := json.Unmarshal(reload, &object); err != nil {
		w.t.Fatal(err)
	}
	for id, text := range answersIn(object, map[string]string{}) {
		if states[id] != text {
			w.t.Fatalf("stopped after %d: the task shows %q of %s, the thread has %q", at, text, id, states[id])
		}
	}
}

// answersIn finds the texts of the messages in a task's object, at every depth.
func answersIn(v any, out map[string]string) map[string]string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			answersIn(e, out)
		}
	case map[string]any:
		if v["type"] == "message" {
			var text strings.Builder
			blocks, _ := v["block_list"].([]any)
			for _, b := range blocks {
				s, _ := b.(map[string]any)["text"].(string)
				text.WriteString(s)
			}
			if text.Len() > 0 {
				out[fmt.Sprint(v["id"])] = text.String()
			}
		}
		for _, e := range v {
			answersIn(e, out)
		}
	}
	return out
}

func asJSON(t *testing.T, events []event.Envelope) string {
	t.Helper()
	var b strings.Builder
	for _, env := range events {
		line, err := json.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
