package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// caller is a graph whose only node calls a model.
func caller(m model.Model, req model.Request, opts agent.CallOptions) *graph.Graph {
	return callerTo(m, req, opts, new(item.Message))
}

// callerTo is a caller that also shows what the call returned.
func callerTo(m model.Model, req model.Request, opts agent.CallOptions, returned *item.Message) *graph.Graph {
	messages := graph.Messages("messages")
	return graph.New("caller", messages).Node("call", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		msg, err := agent.Call(ctx, s, m, req, opts)
		*returned = msg
		return graph.Update(messages.Add(msg)), err
	}).Edge(graph.Start, "call")
}

func call(t *testing.T, m model.Model, req model.Request, opts agent.CallOptions) (*world, item.Message, error) {
	t.Helper()
	w := newWorld()
	var returned item.Message
	res, err := w.attempt(t.Context(), callerTo(m, req, opts, &returned), map[string]any{})
	w.lawful(t)
	if err != nil {
		return w, returned, err
	}
	return w, conversation(t, res)[0], nil
}

func broken(class model.Class, after time.Duration) *model.Error {
	return &model.Error{Class: class, Provider: "acme", Status: 500, Message: "no luck today", After: after}
}

func TestEveryKindOfPartIsWritten(t *testing.T) {
	script := scripted.Think("first", "second").Sign("sig").Say("See ").
		Part(model.Annotation{Block: 0, Annotation: item.Annotation{Type: item.URLCitation, URL: "https://x", Start: 0, End: 3}}).
		Part(model.Reasoning{Item: 7, Encrypted: "secret", ID: "rs_1"}).
		Part(model.Image{Block: 5, Partial: true, URL: "data:a"}, model.Image{Block: 5, Partial: true, URL: "data:b"}, model.Image{Block: 5, URL: "data:c", MIME: "image/png"}).
		Part(model.Opaque{Raw: json.RawMessage(`{"type":"web_search_call"}`)}).
		Call("c1", "look", `{"q":"x"}`).Usage(item.Usage{InputTokens: 3, OutputTokens: 9})
	w, msg, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{Agent: "me", Taken: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	if len(msg.Reasoning) != 2 || msg.Reasoning[0].Signature != "sig" || msg.Reasoning[0].Provider != "scripted" || len(msg.Reasoning[0].Summary) != 2 ||
		msg.Reasoning[1].Encrypted != "secret" || msg.Reasoning[1].ID != "rs_1" {
		t.Errorf("reasoning: %+v", msg.Reasoning)
	}
	if msg.Text() != "See " || len(msg.Content) != 3 || msg.Content[2].Type != item.ForeignBlock || string(msg.Content[2].Foreign) != `{"type":"web_search_call"}` || len(msg.Content[0].Annotations) != 1 || msg.Content[1].URL != "data:c" {
		t.Errorf("content: %+v", msg.Content)
	}
	if len(msg.ToolCalls) != 1 || msg.ToolCalls[0].CallID != "c1" || msg.ToolCalls[0].Arguments != `{"q":"x"}` || msg.Finish != item.FinishToolCalls {
		t.Errorf("calls: %+v, finish %s", msg.ToolCalls, msg.Finish)
	}
	if msg.Usage == nil || msg.Usage.Total() != 12 {
		t.Errorf("usage: %+v", msg.Usage)
	}
	if started := eventsOf[event.TurnStarted](w)[0]; started.Agent != "me" || started.Provider != "scripted" || started.Execution == "" || started.Attempt != 1 {
		t.Errorf("started: %+v", started)
	}
	if partial := eventsOf[event.ImageDelta](w); len(partial) != 2 || partial[1].Partial != 1 {
		t.Errorf("coarse images: %+v", partial)
	}
}

// Why an answer is short, or missing, is said in one sentence.
func TestAnOddEndIsExplained(t *testing.T) {
	for want, script := range map[string]scripted.Script{
		"": scripted.Say("No, thank you.").Part(model.Finish{Reason: item.FinishRefusal, Raw: "refusal"}),
		"model_filtered scripted's answer was stopped by the provider's filter (SAFETY): harmful": scripted.Say("Well").Part(model.Finish{Reason: item.FinishFilter, Raw: "SAFETY", Message: "harmful"}),
		"model_refused scripted refused to answer (refusal): blocked under the policy":            scripted.Script{}.Part(model.Finish{Reason: item.FinishRefusal, Raw: "refusal", Message: "blocked under the policy"}),
		"model_stopped scripted stopped before its answer was complete (pause_turn)":              scripted.Say("Let me search").Part(model.Finish{Reason: item.FinishOther, Raw: "pause_turn"}),
	} {
		w, _, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, e := range eventsOf[event.Warned](w) {
			got += e.Code + " " + e.Message
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRetryVoidsTheTurnAndNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.Sequence(
			scripted.Say("Half an ans").Usage(item.Usage{InputTokens: 5}).Fail(broken(model.Server, 0)),
			scripted.Fail(broken(model.RateLimit, 20*time.Second)),
			scripted.Say("The whole answer."),
		)
		began := time.Now()
		w, msg, err := call(t, m, model.Request{}, agent.CallOptions{})
		if err != nil || msg.Text() != "The whole answer." {
			t.Fatalf("got %q, %v", msg.Text(), err)
		}
		started, voided := eventsOf[event.TurnStarted](w), eventsOf[event.TurnVoided](w)
		if len(started) != 3 || len(voided) != 2 {
			t.Fatalf("%d turns started, %d voided; want 3 and 2", len(started), len(voided))
		}
		// The second try shows nothing, so that the first stays until the third has something to show.
		if voided[0].Turn != started[1].Turn || started[1].Replaces != started[0].Turn || voided[1].Turn != started[0].Turn || started[2].Replaces != started[0].Turn {
			t.Errorf("started %+v, voided %+v", started, voided)
		}
		for i, s := range started {
			if s.Attempt != i+1 {
				t.Errorf("turn %d is attempt %d", i, s.Attempt)
			}
		}
		voided[0], voided[1] = voided[1], voided[0]
		if v := voided[0]; v.Cause != "model_server" || v.Error.Message != "acme answered 500: no luck today" || v.Usage.InputTokens != 5 || v.WaitMicros < 5e5 || v.WaitMicros > 1e6 {
			t.Errorf("voided: %+v", v)
		}
		if voided[1].WaitMicros != 20e6 {
			t.Errorf("waited %d µs, the provider asked for 20 s", voided[1].WaitMicros)
		}
		told := time.Duration(voided[0].WaitMicros+voided[1].WaitMicros) * time.Microsecond
		if waited := time.Since(began); waited < told || waited > told+time.Millisecond {
			t.Errorf("waited %v, told readers %v", waited, told)
		}
	})
}

func TestWhatCannotPassIsNotTriedAgain(t *testing.T) {
	for _, class := range []model.Class{model.Auth, model.Quota, model.BadRequest, model.NotFound, model.TooLarge, model.Refused} {
		t.Run(string(class), func(t *testing.T) {
			m := scripted.Always(scripted.Fail(broken(class, 0)))
			w, _, err := call(t, m, model.Request{}, agent.CallOptions{})
			var told *event.Error
			if !errors.As(err, &told) || told.Code != string(class) || told.Message != "acme answered 500: no luck today" {
				t.Errorf("got %v", err)
			}
			if m.Calls() != 1 || len(eventsOf[event.TurnVoided](w)) != 1 {
				t.Errorf("%d calls, %d voided", m.Calls(), len(eventsOf[event.TurnVoided](w)))
			}
			ended := eventsOf[event.RunEnded](w)[0]
			if ended.Status != event.Failed || ended.Error.Code != string(class) {
				t.Errorf("ended %+v", ended)
			}
		})
	}
}

func TestFallbacksAreAskedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := scripted.Always(scripted.Say("x").Fail(broken(model.Overloaded, 0)))
		second := scripted.Always(scripted.Fail(broken(model.Auth, 0)))
		third := scripted.Always(scripted.Say("here"))
		first.Name, second.Name, third.Name = "one", "two", "three"
		w, msg, err := call(t, first, model.Request{}, agent.CallOptions{Fallbacks: []model.Model{second, third}, Policy: agent.Policy{Tries: 2}})
		if err != nil || msg.Text() != "here" || msg.Model != "three" {
			t.Fatalf("got %+v, %v", msg, err)
		}
		if first.Calls() != 2 || second.Calls() != 1 {
			t.Errorf("calls: %d, %d", first.Calls(), second.Calls())
		}
		warned := eventsOf[event.Warned](w)
		if len(warned) != 2 || warned[0].Code != "model_fallback" || !strings.Contains(warned[0].Message, "no luck today; scripted's two") {
			t.Errorf("warned: %+v", warned)
		}
	})
}

func TestARefusalIsNotCarriedElsewhere(t *testing.T) {
	other := scripted.Always(scripted.Say("gladly"))
	_, _, err := call(t, scripted.Always(scripted.Fail(broken(model.Refused, 0))), model.Request{}, agent.CallOptions{Fallbacks: []model.Model{other}})
	if err == nil || other.Calls() != 0 {
		t.Errorf("err %v, %d calls of the other model", err, other.Calls())
	}
}

func TestALongWaitIsNotWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.Always(scripted.Fail(broken(model.RateLimit, time.Hour)))
		began := time.Now()
		_, _, err := call(t, m, model.Request{}, agent.CallOptions{})
		if err == nil || m.Calls() != 1 || time.Since(began) != 0 {
			t.Errorf("err %v, %d calls, %v", err, m.Calls(), time.Since(began))
		}
	})
}

func TestSilenceIsATimeout(t *testing.T) {
	for name, script := range map[string]scripted.Script{
		"before the first part": scripted.Stall(),
		"between parts":         scripted.Say("some words").Stall(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w, _, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{
					Policy: agent.Policy{Tries: 1, First: 3 * time.Second, Idle: 3 * time.Second},
				})
				if graph.ErrorOf(err).Code != "model_timeout" || time.Since(began) != 3*time.Second {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
				if !strings.Contains(err.Error(), "nothing came for 3s") {
					t.Errorf("message: %v", err)
				}
				v := eventsOf[event.TurnVoided](w)
				if cut := incomplete(w); name == "between parts" {
					if len(v) != 0 || len(cut) != 1 || cut[0] != "some words" {
						t.Errorf("voided %+v, kept %q; want some words kept", v, cut)
					}
				} else if len(v) != 1 || v[0].Cause != "model_timeout" || v[0].WaitMicros != 0 {
					t.Errorf("voided %+v", v)
				}
			})
		})
	}
}

// A model that speaks slowly but steadily is never late.
func TestSlowAnswersAreNotTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := scripted.Every(2 * time.Second).Words("one two three four five six")
		_, msg, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{Policy: agent.Policy{Tries: 1, First: 3 * time.Second, Idle: 3 * time.Second}})
		if err != nil || msg.Text() != script.Text() {
			t.Errorf("got %q, %v", msg.Text(), err)
		}
	})
}

// incomplete is what turns said that were cut off for good.
func incomplete(w *world) []string {
	var out []string
	f := w.fold()
	for _, e := range eventsOf[event.TurnEnded](w) {
		if e.Finish != item.FinishIncomplete {
			continue
		}
		for _, task := range f.TaskIDs() {
			for _, msg := range f.Messages(task) {
				if msg.ID == e.Turn {
					out = append(out, msg.Text())
				}
			}
		}
	}
	return out
}

func TestAnAnswerWithoutEndIsBroken(t *testing.T) {
	for name, script := range map[string]scripted.Script{
		"cut":   scripted.Say("Once upon a").Cut(),
		"panic": scripted.Say("Once upon a").Panic("index out of range"),
		"plain": scripted.Say("Once upon a").Fail(errors.New("something\nwith a stack")),
	} {
		t.Run(name, func(t *testing.T) {
			w, msg, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{Policy: agent.Policy{Tries: 1}})
			if graph.ErrorOf(err).Code != "model_broken" || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if cut := incomplete(w); len(cut) != 1 || cut[0] != "Once upon a" || msg.Text() != cut[0] || msg.Finish != item.FinishIncomplete {
				t.Errorf("kept %q and returned %+v, want what was said, marked incomplete", cut, msg)
			}
		})
	}
}

func TestCancelStopsAtOnce(t *testing.T) {
	for name, script := range map[string]scripted.Script{
		"while it streams":      scripted.Say("words and").Stall(),
		"while it waits to try": scripted.Fail(broken(model.RateLimit, 30*time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(5*time.Second, cancel)
				began := time.Now()
				w := newWorld()
				_, err := w.attempt(ctx, caller(scripted.Always(script), model.Request{}, agent.CallOptions{}), map[string]any{})
				w.lawful(t)
				if !errors.Is(err, context.Canceled) || time.Since(began) != 5*time.Second {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
				if cut := incomplete(w); name == "while it streams" && (len(cut) != 1 || cut[0] != "words and") {
					t.Errorf("kept %q, want what was said", cut)
				} else if name != "while it streams" && len(eventsOf[event.TurnVoided](w)) != 1 {
					t.Error("a turn that said nothing is not void")
				}
			})
		})
	}
}

type priced struct{ *scripted.Model }

func (priced) Cost(u item.Usage) int64 { return int64(u.InputTokens + 10*u.OutputTokens) }

func TestCostIsThePricersWord(t *testing.T) {
	script := scripted.Say("x").Usage(item.Usage{InputTokens: 2, OutputTokens: 3})
	w, msg, err := call(t, priced{scripted.Always(script)}, model.Request{}, agent.CallOptions{})
	if err != nil || msg.Usage.CostMicros != 32 || eventsOf[event.RunEnded](w)[0].Usage.CostMicros != 32 {
		t.Errorf("got %+v, %v", msg.Usage, err)
	}
}

// thoughtless cannot think.
type thoughtless struct{ *scripted.Model }

func (m thoughtless) Describe() model.Info { return model.Info{Provider: "p", Model: "m"} }

func TestThinkingIsDroppedWithAWarning(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	w, _, err := call(t, thoughtless{m}, model.Request{Thinking: model.Thinking{On: true, Budget: 9}}, agent.CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Requests()[0].Thinking; got != (model.Thinking{}) {
		t.Errorf("asked to think: %+v", got)
	}
	if warned := eventsOf[event.Warned](w); len(warned) != 1 || warned[0].Code != "thinking_unsupported" {
		t.Errorf("warned %+v", warned)
	}
}

func TestMarkersBecomeAnnotations(t *testing.T) {
	script := scripted.Pieces("Ünï", "cöde [", "^", "2", "] and [^9].").Block().Pieces("[^2]")
	w, msg, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{Citable: func(n int) bool { return n == 2 }})
	if err != nil {
		t.Fatal(err)
	}
	want := item.Annotation{Type: item.ReferenceToBlock, Ref: 2, Start: 8, End: 12}
	if !slices.Equal(msg.Content[0].Annotations, []item.Annotation{want}) {
		t.Errorf("first block: %+v", msg.Content[0].Annotations)
	}
	want.Start, want.End = 0, 4
	if !slices.Equal(msg.Content[1].Annotations, []item.Annotation{want}) {
		t.Errorf("second block: %+v", msg.Content[1].Annotations)
	}
	if len(eventsOf[event.AnnotationAdded](w)) != 2 {
		t.Error("annotations were not streamed")
	}
}

func TestCallIDsAreKeptOnlyWhereTheyAreFree(t *testing.T) {
	script := scripted.Parallel(item.ToolCall{CallID: "a", Name: "t"}, item.ToolCall{CallID: "a", Name: "t"}, item.ToolCall{CallID: "b", Name: "t"}, item.ToolCall{Name: "t"})
	_, msg, err := call(t, scripted.Always(script), model.Request{}, agent.CallOptions{Taken: func(id string) bool { return id == "b" }})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range msg.ToolCalls {
		if seen[c.CallID] || c.CallID == "" || c.CallID == "b" || len(c.CallID) > 40 {
			t.Errorf("call id %q", c.CallID)
		}
		seen[c.CallID] = true
	}
	if msg.ToolCalls[0].CallID != "a" || len(seen) != 4 {
		t.Errorf("got %v", seen)
	}
}
