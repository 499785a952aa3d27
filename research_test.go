package tributary_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/docs"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/search"
)

// researching opens a runtime that searches this project's own documentation, without any model but the offline one.
func researching(t *testing.T) *tributary.Runtime {
	t.Helper()
	ix, err := search.Open(t.Context(), search.Options{Sources: []search.Source{{Label: "tributary", FS: docs.FS}}})
	if err != nil {
		t.Fatal(err)
	}
	builder, err := tributary.Research(tributary.ResearchOptions{Tools: []tool.Tool{ix.Tool()}})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := tributary.Open(t.Context(), tributary.Options{Dir: t.TempDir(), Graphs: map[string]tributary.Builder{tributary.ResearchGraph: builder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(rt.Close(t.Context()), ix.Close()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return rt
}

var quoted = regexp.MustCompile(`“([^“”]+)” \[\^([0-9]+)\]`)

func TestResearchWithoutAModelQuotesWhatItCites(t *testing.T) {
	rt := researching(t)
	const question = "How does a reader resume a stream after a crash?"
	run, err := rt.Start(t.Context(), tributary.Request{Assistant: "research", Text: question, Configurable: json.RawMessage(`{"auto_accepted_plan": true}`)})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = rt.Wait(t.Context(), "", run.ID); err != nil || run.Status != event.Success {
		t.Fatalf("%v, %+v", err, run)
	}
	st, err := rt.State(t.Context(), "", run.Thread, tributary.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	var report string
	var sources map[string]research.Source
	var doubts []research.Doubt
	for name, into := range map[string]any{"final_report": &report, "sources": &sources, "doubts": &doubts} {
		if raw := st.Values[name]; len(raw) > 0 {
			if err := json.Unmarshal(raw, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	correct, seen := 0, map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(report, -1) {
		if src := sources[m[2]]; !strings.Contains(src.Passage(), m[1]) {
			t.Errorf("passage %s does not have what is quoted from it: %q", m[2], m[1])
		}
		if seen[m[1]] {
			t.Errorf("%q is quoted twice", m[1])
		}
		seen[m[1]] = true
		correct++
	}
	if correct < 5 || len(doubts) > 0 {
		t.Errorf("%d correct citations, want 5 or more; doubts %+v\n%s", correct, doubts, report)
	}
	if !strings.Contains(report, "No language model was used") || !strings.Contains(report, "## References") {
		t.Errorf("the report does not say how it was made:\n%s", report)
	}
	t.Logf("%d citations\n%s", correct, report)
}

func TestAQuestionThatIsAnsweredAlreadyIsRefusedASecondTime(t *testing.T) {
	rt := researching(t)
	var asked event.InterruptRaised
	var thread string
	for env, err := range rt.Stream(t.Context(), tributary.Request{Assistant: "research", Text: "How is a lease lost?"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.InterruptRaised); ok {
			asked, thread = e, env.Thread
		}
	}
	if asked.Ask != event.AskPlanReview {
		t.Fatalf("asked %+v", asked)
	}
	for _, err := range rt.Resume(t.Context(), tributary.Request{Thread: thread}, tributary.Answer{Interrupt: asked.ID, Value: "accepted"}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := rt.Start(t.Context(), tributary.Request{Thread: thread, Answers: []tributary.Answer{{Interrupt: asked.ID, Value: "[EDIT_PLAN] shorter"}}})
	if !errors.Is(err, tributary.ErrNotPending) || !strings.Contains(err.Error(), "nothing is asked any more") {
		t.Errorf("got %v, want a sentence that says that nothing is asked any more", err)
	}
}

func TestResearchRefusesSettingsThatCannotBe(t *testing.T) {
	rt := researching(t)
	for setting, value := range map[string]string{
		"max_step_num": "0.5", "max_plan_iterations": "99", "report_style": `"poem"`, "locale": `"<b>"`, "auto_accepted_plan": `"maybe"`, "parallel_steps": "-1",
	} {
		_, err := rt.Start(t.Context(), tributary.Request{Assistant: "research", Text: "x", Configurable: json.RawMessage(`{` + strconv.Quote(setting) + `:` + value + `}`)})
		var invalid *tributary.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(invalid.Field, setting) {
			t.Errorf("%s %s: got %v", setting, value, err)
		}
	}
}
