package tributary_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// priced is a model that costs a millionth for each token.
type priced struct{ *scripted.Model }

func (priced) Cost(u item.Usage) int64 { return int64(u.Total()) }

// busy is a model for all that a lead agent and those around it ask: it delegates in the background, judges, suggests and polishes.
func busy(r model.Request) scripted.Script {
	used := item.Usage{InputTokens: 10, OutputTokens: 5}
	say := func(text string) scripted.Script { return scripted.Say(text).Usage(used) }
	last := r.Messages[len(r.Messages)-1]
	switch {
	case strings.HasPrefix(r.System, "You judge"):
		return say(`{"blocker":"none","reason":"it is done"}`)
	case strings.HasPrefix(r.System, "You are shown the end"):
		return say("```json\n[\"And then?\", \"Why?\", \"Who?\"]\n```")
	case strings.HasPrefix(r.System, "You make what"):
		return say("Please tell me the time.")
	case strings.HasPrefix(r.System, "You are a researcher."):
		return say("Rivers rise.")
	case last.Role == item.Tool:
		return say("Somebody looks.")
	case strings.Contains(last.Text(), "background"):
		return scripted.Call("call_1", "task", `{"description":"rivers","prompt":"rivers","subagent_type":"researcher","background":true}`).Usage(used)
	}
	return say("Yes.")
}

func leading(t *testing.T, dir string) *tributary.Runtime {
	t.Helper()
	f, err := lead.New(lead.Options{Without: []string{"reminder"}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, tributary.Options{Dir: dir, Models: tributary.OneModel(priced{scripted.New(busy)}), Agent: f.Graph, Files: true})
}

func TestWhatRunsSpendIsTold(t *testing.T) {
	rt := leading(t, "")
	first := start(t, rt, tributary.Request{Thread: "a", Text: "Hello."})
	wait(t, rt, first.ID)
	wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "Again."}).ID)
	wait(t, rt, start(t, rt, tributary.Request{Thread: "b", Text: "Hello."}).ID)
	u, err := rt.Usage(t.Context(), "", tributary.UsageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	want := item.Usage{InputTokens: 30, OutputTokens: 15, CostMicros: 45}
	if u.Runs != 3 || u.Turns != 3 || u.Usage != want {
		t.Errorf("all: %+v, want 3 runs and %+v", u.Spent, want)
	}
	name := func(s tributary.Spent) string { return s.Name }
	if got := names(u.Threads, name); !slices.Equal(got, []string{"a", "b"}) || u.Threads[0].Usage.Total() != 30 {
		t.Errorf("threads %q, %+v", got, u.Threads)
	}
	if got := names(u.Models, name); !slices.Equal(got, []string{"scripted"}) || u.Models[0].Runs != 3 {
		t.Errorf("models %q", got)
	}
	if got := names(u.Agents, name); !slices.Equal(got, []string{"agent"}) {
		t.Errorf("agents %q", got)
	}
	u, err = rt.Usage(t.Context(), "", tributary.UsageQuery{Thread: "b"})
	if err != nil || u.Runs != 1 {
		t.Errorf("thread b: %+v (%v)", u.Spent, err)
	}
	u, err = rt.Usage(t.Context(), "", tributary.UsageQuery{Since: time.Now().Add(time.Hour)})
	if err != nil || u.Runs != 0 {
		t.Errorf("in an hour: %+v (%v)", u.Spent, err)
	}
	if u, err = rt.Usage(t.Context(), "somebody else", tributary.UsageQuery{}); err != nil || u.Runs != 0 {
		t.Errorf("somebody else's: %+v (%v)", u.Spent, err)
	}
	if _, err = rt.Usage(t.Context(), "somebody else", tributary.UsageQuery{Thread: "a"}); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("somebody else's thread: %v", err)
	}
}

func names[T any](list []T, name func(T) string) (out []string) {
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

func TestAnAnswerIsRatedOnceAndForgotten(t *testing.T) {
	rt := leading(t, "")
	ctx := t.Context()
	r := wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "Hello."}).ID)
	if _, err := rt.Rating(ctx, "", r.ID); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("before anybody said: %v", err)
	}
	var wrong *tributary.InvalidError
	if err := rt.Rate(ctx, "", r.ID, tributary.Feedback{Rating: 5}); !errors.As(err, &wrong) || wrong.Field != "rating" {
		t.Errorf("five stars: %v", err)
	}
	for _, f := range []tributary.Feedback{{Rating: 1}, {Rating: -1, Comment: "too long"}} {
		if err := rt.Rate(ctx, "", r.ID, f); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := rt.Rating(ctx, "", r.ID); err != nil || f.Rating != -1 || f.Comment != "too long" || f.At.IsZero() {
		t.Errorf("kept is %+v (%v)", f, err)
	}
	if _, err := rt.Rating(ctx, "somebody else", r.ID); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("somebody else reads it: %v", err)
	}
	if err := rt.Unrate(ctx, "", r.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Rating(ctx, "", r.ID); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("after it was forgotten: %v", err)
	}
}

func TestAThreadIsGivenAGoalThatItsNextRunPursues(t *testing.T) {
	rt := leading(t, "")
	ctx := t.Context()
	wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "Hello."}).ID)
	if g, err := rt.Goal(ctx, "", "a"); g != nil || err != nil {
		t.Errorf("the goal is %+v (%v), want none", g, err)
	}
	if g, err := rt.SetGoal(ctx, "", "a", "the sea"); err != nil || g == nil || g.Objective != "the sea" || g.Status != middleware.GoalActive {
		t.Fatalf("the goal is %+v (%v)", g, err)
	}
	wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "Flow."}).ID)
	if g, err := rt.Goal(ctx, "", "a"); err != nil || g == nil || g.Status != middleware.GoalAchieved || g.Reason != "it is done" {
		t.Errorf("the goal is %+v (%v)", g, err)
	}
	if g, err := rt.SetGoal(ctx, "", "a", ""); err != nil || g != nil {
		t.Errorf("the goal that was taken away is %+v (%v)", g, err)
	}
	wait(t, rt, start(t, rt, tributary.Request{Thread: "b", Text: "Flow.", Context: json.RawMessage(`{"goal":"a lake"}`)}).ID)
	if g, err := rt.Goal(ctx, "", "b"); err != nil || g == nil || g.Objective != "a lake" || g.Status != middleware.GoalAchieved {
		t.Errorf("the goal of the context is %+v (%v)", g, err)
	}
	if _, err := rt.SetGoal(ctx, "somebody else", "a", "mine"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("somebody else sets it: %v", err)
	}
}

func TestSuggestionsAndBetterQuestionsAreWrittenByTheModelOrNotAtAll(t *testing.T) {
	rt := leading(t, "")
	ctx := t.Context()
	wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "Hello."}).ID)
	if got, err := rt.Suggest(ctx, "", "a", 2); err != nil || !slices.Equal(got, []string{"And then?", "Why?"}) {
		t.Errorf("suggested are %q (%v)", got, err)
	}
	if got, err := rt.Polish(ctx, "", "time pls"); err != nil || got != "Please tell me the time." {
		t.Errorf("polished is %q (%v)", got, err)
	}
	plain := open(t, tributary.Options{}) // the offline model
	wait(t, plain, start(t, plain, tributary.Request{Thread: "a", Text: "Hello."}).ID)
	if got, err := plain.Suggest(ctx, "", "a", 2); err != nil || len(got) != 0 {
		t.Errorf("nobody can write, and suggested are %q (%v)", got, err)
	}
	if got, err := plain.Polish(ctx, "", "time pls"); err != nil || got != "time pls" {
		t.Errorf("nobody can write, and polished is %q (%v)", got, err)
	}
}

func TestTheFolderOfAThreadIsOpenToItsOwner(t *testing.T) {
	rt := leading(t, "")
	wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "Hello."}).ID)
	root, err := rt.Folder(t.Context(), "", "a")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.MkdirAll("uploads", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("uploads/a.txt", []byte("hi"), 0o600); err != nil {
		t.Error(err)
	}
	if _, err := rt.Folder(t.Context(), "somebody else", "a"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
}

// A task in the background wakes its thread also if the program was stopped in between, and once.
func TestATaskInTheBackgroundWakesItsThread(t *testing.T) {
	dir := t.TempDir()
	rt := leading(t, dir)
	wait(t, rt, start(t, rt, tributary.Request{Thread: "a", Text: "In the background, please.", Configurable: json.RawMessage(`{"subagent_enabled":true}`)}).ID)
	if err := rt.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rt = leading(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var runs []tributary.Run
	for len(runs) < 2 || !runs[0].Ended() {
		var err error
		if runs, _, err = rt.Runs(ctx, "", tributary.RunQuery{Thread: "a"}); err != nil {
			t.Fatalf("the thread is not woken: %v", err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the thread is not woken")
		}
	}
	s, err := rt.State(ctx, "", "a", tributary.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := tributary.Value(s, lead.BackgroundTasks)
	if err != nil || len(tasks) != 1 || tasks[0].Status != "success" || tasks[0].Result != "Rivers rise." || len(runs) != 2 {
		t.Errorf("the thread has %+v (%v) after %d runs", tasks, err, len(runs))
	}
	threads, _, err := rt.Threads().Search(ctx, "", tributary.ThreadQuery{})
	if err != nil || len(threads) != 1 {
		t.Errorf("people see %d threads (%v), want their own", len(threads), err)
	}
}
