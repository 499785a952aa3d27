package research

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// nameFeedback marks what a person said about a plan, as DeerFlow does.
const nameFeedback = "feedback"

// plan makes the plan of the next round, or lets the reporter write.
func (w *work) plan(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	c, n, wish := w.settings(s), iterations.Get(s), feedback.Get(s)
	if n >= c.MaxPlanIterations || n > 0 && wish == "" && (len(sources.Get(s)) == known.Get(s) || w.spent(s) != "") {
		return w.toReport(ctx, s) // no round is left, the last one found nothing new, or the budget is used up
	}
	about, was, res := topic.Get(s), plan.Get(s), results.Get(s)
	_, search := w.searcher(on(c.WebSearch))
	lang := w.language(s)
	var p Plan
	read := func(msg item.Message) (err error) {
		p, err = readPlan(msg.Text(), about)
		return err
	}
	thinking := w.Thinking
	thinking.On = thinking.On || c.DeepThinking
	remembered.Get(s)
	msg, err := w.ask(ctx, s, model.Request{
		System:   prompt(NodePlanner, lang, promptData{Locale: lang, MaxSteps: c.MaxSteps, Round: n + 1, Rounds: c.MaxPlanIterations, Search: search}),
		Messages: []item.Message{item.UserText("", w.planning(s, was, res, wish))},
		Schema:   planShape.Schema(), SchemaName: "plan", Thinking: thinking,
	}, agent.CallOptions{Accept: read})
	if err == nil {
		err = read(msg) // it may be from before a crash
	}
	if unfit := (*model.Error)(nil); errors.As(err, &unfit) && unfit.Class == model.Unfit {
		if n == 0 {
			return graph.Command{}, &event.Error{Code: "no_plan", Name: "PlanError", Message: "the planner gave no plan that can be used: " + unfit.Message}
		}
		warning := event.Warned{Code: "no_plan", Message: "there is no plan for another round; the report is written with what was found: " + unfit.Message}
		if err := s.Emit(ctx, warning); err != nil {
			return graph.Command{}, err
		}
		return w.toReport(ctx, s)
	}
	if err != nil {
		return graph.Command{}, err
	}
	finished := was.finished(res)
	if p.Enough {
		p.Steps = nil
	}
	p = p.adopt(finished, c.MaxSteps, search)
	if len(p.Steps) == len(finished) && !p.Enough {
		if n > 0 {
			p.Enough = true
		} else { // it wants research and does not say which
			p = Plan{Title: p.Title, Thought: p.Thought, Steps: []Step{{Title: firstWords(about, 80), Description: about}}}.adopt(nil, 1, true)
		}
	}
	if p.Locale = lang; p.Title == "" {
		p.Title = firstWords(about, 80)
	}
	if err := s.Emit(ctx, p.told(planID.Get(s), res, nil)); err != nil {
		return graph.Command{}, err
	}
	msg.Name = NodePlanner
	writes := []graph.Write{plan.Set(p), feedback.Set(""), messages.Add(msg), clock.Set(clock.Get(s).stopped(time.Now()))}
	if p.Enough {
		return w.toReport(ctx, s, writes...)
	}
	return graph.Update(writes...).Go(NodeReview), nil
}

// finished are the steps that have a result.
func (p Plan) finished(res map[string]Result) []Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { _, ok := res[s.ID]; return !ok })
}

// planning is what the planner is told.
func (w *work) planning(s *graph.Scope, was Plan, res map[string]Result, wish string) string {
	var b strings.Builder
	tag(&b, "question", "", topic.Get(s))
	all := sources.Get(s)
	if n := background.Get(s); len(n) > 0 && len(res) == 0 {
		tag(&b, "background", "", passages(all, n, w.room()/2))
	}
	findings(&b, was, res)
	if len(res) > 0 {
		unknown(&b, topic.Get(s), res, all)
	}
	if wish != "" {
		if raw, err := json.Marshal(Plan{Title: was.Title, Steps: was.Steps}); err == nil {
			tag(&b, "plan", "", string(raw))
		}
		tag(&b, "feedback", "", wish)
	}
	return b.String()
}

// review asks a person about the plan.
func (w *work) review(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	c, p, res := w.settings(s), plan.Get(s), results.Get(s)
	accepted := func(p Plan) (graph.Command, error) {
		writes := []graph.Write{plan.Set(p), iterations.Set(iterations.Get(s) + 1), known.Set(len(sources.Get(s)))}
		if p.Enough || len(p.finished(res)) == len(p.Steps) {
			return w.toReport(ctx, s, writes...)
		}
		return graph.Update(append(writes, clock.Set(clock.Get(s).started(time.Now())))...).Go(NodeTeam), nil
	}
	if c.AutoAccept {
		return accepted(p)
	}
	q := Question{Message: "Please review the plan.", Plan: p}
	if chinese(w.language(s)) {
		q.Message = "请审阅研究计划。"
	}
	for {
		answer, err := graph.Ask[json.RawMessage](s, q, graph.Kind(event.AskPlanReview), graph.Options(Accept, Edit))
		if err != nil {
			return graph.Command{}, err
		}
		v := readVerdict(answer)
		switch {
		case v.plan != nil:
			edited, err := p.edited(v.plan, p.finished(res), c.MaxSteps)
			if err != nil {
				q.Problem = err.Error()
				continue
			}
			if err := s.Emit(ctx, edited.told(planID.Get(s), res, nil)); err != nil {
				return graph.Command{}, err
			}
			return accepted(edited)
		case v.accepted:
			return accepted(p)
		}
		if v.words == "" {
			v.words = "The plan was not accepted. Make a better one."
		}
		said := item.UserText("", v.words)
		said.Name = nameFeedback
		return graph.Update(messages.Add(said), feedback.Set(v.words)).Go(NodePlanner), nil
	}
}

// Question is what a person is asked about a plan. The answer is one of these, as JSON:
//
//	"accepted"                          carry it out; so do true, {"type": "accept"} and "[ACCEPTED]"
//	"[EDIT_PLAN] less about the past"   make another one; so do {"feedback": "…"} and any other words
//	{"plan": {"steps": […]}}            carry this one out: steps in another order, without some, with others
type Question struct {
	Message string `json:"message"`
	Plan    Plan   `json:"plan"`
	// Problem says why the plan that the person sent cannot be carried out.
	Problem string `json:"problem,omitempty"`
}

// The answers that are offered.
const (
	Accept = "accepted"
	Edit   = "edit_plan"
)

// verdict is what a person said about a plan.
type verdict struct {
	accepted bool
	words    string
	plan     json.RawMessage
}

func readVerdict(answer json.RawMessage) verdict {
	var yes bool
	if json.Unmarshal(answer, &yes) == nil {
		return verdict{accepted: yes}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(answer, &object) == nil {
		if raw := object["plan"]; len(raw) > 0 && string(raw) != "null" {
			return verdict{plan: raw}
		}
		if _, ok := object["steps"]; ok {
			return verdict{plan: answer}
		}
		for _, key := range []string{"type", "decision", "action"} {
			var word string
			if json.Unmarshal(object[key], &word) == nil && accepts(word) {
				return verdict{accepted: true}
			}
		}
		return wordsOf(saidIn(answer))
	}
	return wordsOf(saidIn(answer))
}

func wordsOf(text string) verdict {
	upper := strings.ToUpper(text)
	switch {
	case strings.HasPrefix(upper, "[ACCEPTED]") || accepts(text):
		return verdict{accepted: true}
	case strings.HasPrefix(upper, "[EDIT_PLAN]"):
		return verdict{words: strings.TrimSpace(text[len("[EDIT_PLAN]"):])}
	case strings.EqualFold(text, Edit):
		return verdict{}
	}
	return verdict{words: text}
}

// accepts is true for whole answers only: "not ok" is none of them.
func accepts(word string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(word), ".!。！")) {
	case Accept, "accept", "approve", "approved", "yes", "y", "ok", "okay", "go", "start", "好", "好的", "接受", "同意", "开始", "可以":
		return true
	}
	return false
}
