package team

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// Answers to the question whether a plan is good. Any other text is taken as a remark that the experts are told.
const (
	Accept = "accept"
	Reject = "reject"
)

// proposal is what a person is asked to accept.
type proposal struct {
	Team    string   `json:"team"`
	Title   string   `json:"title"`
	Experts []Expert `json:"experts"`
	Phases  []Phase  `json:"phases"`
}

// ruling is an answer that is more than a word.
type ruling struct {
	Accept *bool   `json:"accept"`
	Phases []Phase `json:"phases"` // in place of those that were proposed
	Note   string  `json:"note"`
}

// review asks a person to accept the plan. It does nothing before the answer is there, because it runs again then.
func (t *team) review(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	st := t.state.Get(s).clone()
	answer, err := graph.Ask[json.RawMessage](s, proposal{st.ID, st.Title, st.Experts, st.Phases},
		graph.Kind(event.AskPlanReview), graph.Options(Accept, Reject))
	if err != nil {
		return graph.Command{}, err
	}
	if err := t.announce(ctx, s, &st); err != nil {
		return graph.Command{}, err
	}
	r, err := rulingOf(answer)
	if err != nil {
		return graph.Command{}, err
	}
	if r.Accept != nil && !*r.Accept {
		st.Stopped = "the plan was not accepted"
		st.skipRest()
		return graph.Update(t.state.Set(st)).Go(NodeSynthesis), s.Emit(ctx, t.planned(&st))
	}
	if len(r.Phases) > 0 {
		phases := tidy(r.Phases)
		if err := t.checkPlan(st.Experts, phases); err != nil {
			return graph.Command{}, &event.Error{Code: graph.CodeInvalidInput, Name: "InvalidInputError", Message: err.Error()}
		}
		st.Phases = phases
	}
	st.Note = r.Note
	return graph.Update(t.state.Set(st)).Go(NodeWork), s.Emit(ctx, t.planned(&st))
}

func rulingOf(answer json.RawMessage) (r ruling, err error) {
	yes, no := true, false
	var word string
	var flag bool
	switch {
	case json.Unmarshal(answer, &word) == nil:
		switch strings.ToLower(strings.TrimSpace(word)) {
		case Accept, "accepted", "yes", "ok", "approve", "":
			r.Accept = &yes
		case Reject, "rejected", "no":
			r.Accept = &no
		default:
			r.Note = word
		}
	case json.Unmarshal(answer, &flag) == nil:
		r.Accept = &flag
	default:
		if err := json.Unmarshal(answer, &r); err != nil {
			return r, &event.Error{Code: graph.CodeInvalidInput, Name: "InvalidInputError", Message: fmt.Sprintf("the answer to the plan must be %q, %q, a remark or an object: %v", Accept, Reject, err)}
		}
	}
	return r, nil
}
