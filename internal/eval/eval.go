// Package eval puts questions to a research and says in numbers how good the answers are, so that somebody can choose between
// models, and a prompt that got worse is seen.
//
// # Laws
//
//   - A score is made from what a run left, its events and its state, and from nothing else: the same run has the same score.
//   - A question that fails is scored with nothing; it is never left out.
//   - Everything but cost and time is between 0 and 1, and more is better.
//   - No model judges another. What is compared are words, so a score says less than a reader would, and always the same.
package eval

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Question is something to find out, with what is known of the answer.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Expect are the facts that an answer must have; each is a list of phrases, of which one is enough.
	Expect [][]string `json:"expect,omitempty"`
	// Sources are the documents that have the answer, by a part of their address; one of them must be cited.
	Sources []string `json:"sources,omitempty"`
	// Unanswerable says that the documents have no answer: the report must say so.
	Unanswerable bool `json:"unanswerable,omitempty"`
}

//go:embed questions.json
var builtIn []byte

// Questions are those about this project's own documentation.
func Questions() []Question {
	list, err := Read(builtIn)
	if err != nil {
		panic(err) // a mistake in a file that is built in
	}
	return list
}

// Read reads a list of questions.
func Read(raw []byte) ([]Question, error) {
	var list []Question
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the questions cannot be read: %w", err)
	}
	seen := map[string]bool{}
	for i, q := range list {
		switch {
		case q.ID == "" || strings.TrimSpace(q.Text) == "":
			return nil, fmt.Errorf("question %d needs an id and a text", i+1)
		case seen[q.ID]:
			return nil, fmt.Errorf("there are two questions with the id %q", q.ID)
		case !q.Unanswerable && len(q.Expect) == 0:
			return nil, fmt.Errorf("question %q: say what an answer must have (expect), or that there is none (unanswerable)", q.ID)
		}
		seen[q.ID] = true
	}
	if len(list) == 0 {
		return nil, errors.New("there are no questions")
	}
	return list, nil
}

// Outcome is what a question led to.
type Outcome struct {
	Plan      *event.PlanUpdated // the first; nil if there was none
	Retried   int                // plans that could not be used
	Report    string
	Citations []research.Reference
	Doubts    []research.Doubt
	Usage     item.Usage
	Took      time.Duration
	Error     string // why there is no report
}

// Ask puts a question to the research of a runtime, and carries its plan out.
func Ask(ctx context.Context, rt *tributary.Runtime, q Question, settings map[string]any) Outcome {
	configurable := map[string]any{"auto_accepted_plan": true}
	for name, value := range settings {
		configurable[name] = value
	}
	raw, err := json.Marshal(configurable)
	if err != nil {
		return Outcome{Error: err.Error()}
	}
	began := time.Now()
	var o Outcome
	thread := ""
	for env, err := range rt.Stream(ctx, tributary.Request{Assistant: tributary.ResearchGraph, Text: q.Text, Configurable: raw}) {
		if err != nil {
			o.Error = err.Error()
			break
		}
		thread = env.Thread
		o.see(&env)
	}
	o.Took = time.Since(began)
	if thread == "" || o.Error != "" {
		return o
	}
	st, err := rt.State(ctx, "", thread, tributary.Checkpoint{})
	if err == nil {
		err = o.read(st.Values)
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

// see takes in an event. It is no projection and owes nothing to other kinds.
func (o *Outcome) see(env *event.Envelope) {
	switch e := env.Event.(type) {
	case event.PlanUpdated:
		if o.Plan == nil {
			o.Plan = &e
		}
	case event.TurnVoided:
		if env.Task == "" && env.Node == research.NodePlanner {
			o.Retried++
		}
	case event.RunEnded:
		o.Usage = e.Usage
		switch {
		case e.Error != nil:
			o.Error = e.Error.Message
		case e.Status != event.Success:
			o.Error = "the run ended as " + string(e.Status)
		}
	}
}

func (o *Outcome) read(values map[string]json.RawMessage) error {
	for name, into := range map[string]any{"final_report": &o.Report, "citations": &o.Citations, "doubts": &o.Doubts} {
		if raw := values[name]; len(raw) > 0 {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if o.Report == "" && o.Error == "" {
		o.Error = "there is no report"
	}
	return nil
}

// All puts questions one after the other, and tells of each score.
func All(ctx context.Context, rt *tributary.Runtime, list []Question, settings map[string]any, tell func(Score)) Table {
	var t Table
	for _, q := range list {
		if ctx.Err() != nil {
			break
		}
		s := Judge(q, Ask(ctx, rt, q, settings))
		t = append(t, s)
		if tell != nil {
			tell(s)
		}
	}
	return slices.Clip(t)
}
