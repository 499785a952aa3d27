package tributary_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

func open(t *testing.T, opt tributary.Options) *tributary.Runtime {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = t.TempDir()
	}
	rt, err := tributary.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := rt.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return rt
}

func TestDeltasCarryTheirMessageAndSumUpToIt(t *testing.T) {
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("A sentence in pieces.")))})
	texts := map[string]string{}
	var turn string
	for env, err := range rt.Stream(t.Context(), tributary.Request{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := env.Event.(type) {
		case event.TurnEnded:
			turn = e.Turn
		case event.TextDelta:
			texts[e.Item] += e.Text
		}
	}
	if len(texts) != 1 || texts[turn] != "A sentence in pieces." {
		t.Errorf("texts by message: %q, turn %s", texts, turn)
	}
}

func TestBreakingOutStopsTheReadingAndNotTheRun(t *testing.T) {
	let := make(chan struct{})
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Wait(let).Say("second")))})
	var id string
	for env := range rt.Stream(t.Context(), tributary.Request{Text: "go"}) {
		if _, ok := env.Event.(event.TextDelta); ok {
			id = env.Run
			break
		}
	}
	close(let)
	r, err := rt.Wait(t.Context(), "", id)
	if err != nil || r.Status != event.Success {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

func TestStopWithReaderCancelsTheRun(t *testing.T) {
	for name, leave := range map[string]func(cancel context.CancelFunc) bool{
		"break":   func(context.CancelFunc) bool { return true },
		"context": func(cancel context.CancelFunc) bool { cancel(); return false },
	} {
		t.Run(name, func(t *testing.T) {
			rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Stall()))})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var id string
			for env, err := range rt.Stream(ctx, tributary.Request{Text: "go", StopWithReader: true}) {
				if err != nil {
					break
				}
				if _, ok := env.Event.(event.TextDelta); ok {
					id = env.Run
					if leave(cancel) {
						break
					}
				}
			}
			r, err := rt.Wait(t.Context(), "", id)
			if err != nil || r.Status != event.Cancelled {
				t.Errorf("the run is %s, %v", r.Status, err)
			}
		})
	}
}

func TestClosingTwiceIsClosingOnce(t *testing.T) {
	rt, err := tributary.Open(t.Context(), tributary.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := rt.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := rt.Chat(t.Context(), tributary.Request{Text: "x"}); err == nil {
		t.Error("a closed runtime answered")
	}
}

// A run that is rolled back before a reader begins to read is gone, and the reader is told.
func TestReaderOfARunThatWasRolledBackDoesNotWait(t *testing.T) {
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Stall()))})
	var id string
	for env := range rt.Stream(t.Context(), tributary.Request{Text: "go"}) {
		id = env.Run
		break
	}
	if _, err := rt.Rollback(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Wait(t.Context(), "", id); !errors.Is(err, tributary.ErrNotFound) {
		t.Fatalf("the run is there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, err := range door.Open(rt).Journal.Follow(ctx, id, journal.Position{}) {
		// What is still in memory at that moment may be read to its end.
		if err != nil && !errors.Is(err, journal.ErrGone) {
			t.Errorf("the reader is told %v, want ErrGone", err)
		}
	}
}

func TestConversationGoesOnInItsThread(t *testing.T) {
	m := scripted.New(func(req model.Request) scripted.Script {
		var said []string
		for _, msg := range req.Messages {
			said = append(said, msg.Text())
		}
		return scripted.Say(strings.Join(said, "|"))
	})
	rt := open(t, tributary.Options{Models: tributary.OneModel(m)})
	const thread = "00000000-0000-7000-8000-000000000001"
	for i, want := range []string{"a", "a|a|b"} {
		got, err := rt.Chat(t.Context(), tributary.Request{Thread: thread, Text: string(rune('a' + i))})
		if err != nil || got != want {
			t.Errorf("turn %d: %q, %v; want %q", i, got, err, want)
		}
	}
	if got, err := rt.Chat(t.Context(), tributary.Request{Text: "c"}); err != nil || got != "c" {
		t.Errorf("another conversation: %q, %v", got, err)
	}
	_, err := rt.Chat(t.Context(), tributary.Request{Thread: thread, Text: "d", Owner: "eve"})
	if !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("somebody else's thread: %v", err)
	}
}

func TestChatTellsHowARunFailed(t *testing.T) {
	rt := open(t, tributary.Options{
		Models: tributary.OneModel(scripted.Always(scripted.Say("half ").Fail(&model.Error{Class: model.Auth, Provider: "p", Message: "the key is wrong"}))),
	})
	text, err := rt.Chat(t.Context(), tributary.Request{Text: "go"})
	var told *event.Error
	if !errors.As(err, &told) || told.Code != string(model.Auth) || !strings.Contains(told.Message, "the key is wrong") {
		t.Errorf("got %v", err)
	}
	if text != "half " {
		t.Errorf("beside the error it returns %q, want what was said", text)
	}
}

// The text so far comes with the error, also where the reader goes away.
func TestChatReturnsTheTextSoFarWhenItsReaderLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("half a sentence").Do(func(context.Context) error {
		time.AfterFunc(50*time.Millisecond, leave) // by then it has been read; if not, the test says less and does not fail
		return nil
	}).Stall()))})
	text, err := rt.Chat(ctx, tributary.Request{Text: "go", StopWithReader: true})
	if err == nil || !strings.HasPrefix("half a sentence", text) {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestChatReturnsTheLastTryAndNothingOfTheVoidedOne(t *testing.T) {
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Sequence(
		scripted.Say("this never comes to its e").Cut(),
		scripted.Say("This does."),
	))})
	got, err := rt.Chat(t.Context(), tributary.Request{Text: "go"})
	if err != nil || got != "This does." {
		t.Errorf("%q, %v", got, err)
	}
}

func TestChatTellsOfAnInterrupt(t *testing.T) {
	g := graph.New("ask").Node("n", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		_, err := graph.Ask[bool](s, "sure?")
		return graph.Command{}, err
	}).Chain(graph.Start, "n", graph.End)
	rt := open(t, tributary.Options{Graphs: map[string]tributary.Builder{"ask": tributary.Fixed(g)}})
	_, err := rt.Chat(t.Context(), tributary.Request{Assistant: "ask", Input: json.RawMessage(`{}`)})
	var asked *tributary.InterruptedError
	if !errors.As(err, &asked) || len(asked.Interrupts) != 1 || string(asked.Interrupts[0].Value) != `"sure?"` {
		t.Fatalf("got %v", err)
	}
	var status event.Status
	for env, err := range rt.Resume(t.Context(), tributary.Request{Assistant: "ask", Thread: asked.Thread}, tributary.Answer{Interrupt: asked.Interrupts[0].ID, Value: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.RunEnded); ok {
			status = e.Status
		}
	}
	if status != event.Success {
		t.Errorf("the resumed run ended %s", status)
	}
}

func TestUnknownAssistantAndModelAreRefusedBeforeAnythingIsStored(t *testing.T) {
	rt := open(t, tributary.Options{Models: refusing{}})
	for _, req := range []tributary.Request{{Assistant: "nobody", Text: "x"}, {Text: "x"}} {
		if _, err := rt.Chat(t.Context(), req); err == nil {
			t.Errorf("%+v was accepted", req)
		}
	}
	_, total, err := rt.Threads().Search(t.Context(), "", tributary.ThreadQuery{})
	if err != nil || total != 0 {
		t.Errorf("%d threads were made, %v", total, err)
	}
}

type refusing struct{}

func (refusing) Choose(context.Context, model.Wish) (model.Choice, error) {
	return model.Choice{}, &model.WishError{Setting: "model_name", Reason: "no such model"}
}

// Chat joins deltas once. With a quadratic join this would allocate gigabytes; it is counted, not timed.
func TestChatIsLinear(t *testing.T) {
	const n = 10_000
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = "x"
	}
	rt := open(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Pieces(pieces...)))})
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			got, err := rt.Chat(context.Background(), tributary.Request{Text: "go"})
			if err != nil || len(got) != n {
				b.Fatalf("%d characters, %v", len(got), err)
			}
		}
	})
	if per := r.AllocedBytesPerOp() / n; per > 4096 {
		t.Errorf("%d bytes are allocated per chunk", per)
	}
}
