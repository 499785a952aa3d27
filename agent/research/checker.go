package research

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Claim is a sentence of a report, with the numbers that it cites.
type Claim struct {
	Numbers []int  `json:"numbers"`
	Text    string `json:"text"`
}

// mostClaims is about how many citations a model is asked in one go.
const mostClaims = 60

// judgement is what a model says of the claims that it was given, by their places in the list.
type judgement struct {
	Verdicts []struct {
		Claim int    `json:"claim" jsonschema:"the number of the claim"`
		Holds bool   `json:"holds" jsonschema:"true if its passages say what it says"`
		Why   string `json:"why,omitempty" jsonschema:"if not: in one short sentence, what the passages say instead or do not say"`
	} `json:"verdicts"`
}

var judgementShape = func() tool.Shape[judgement] {
	s, err := tool.ShapeOf[judgement]()
	if err != nil {
		panic(err) // a mistake in the type
	}
	return s
}()

// verify puts those citations to a model that a comparison of words can neither confirm nor doubt. The report was read by then,
// so nothing of it is changed: what the model says is a section of its own, after it.
func (w *work) verify(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	all, lang, text := sources.Get(s), w.language(s), report.Get(s)
	open := Open(bodyOf(text, lang), topic.Get(s), lookup(all))
	asked := open[:min(len(open), mostClaims)]
	if len(asked) == 0 {
		return graph.Command{}, nil
	}
	var numbers []int
	var b strings.Builder
	for i, c := range asked {
		numbers = append(numbers, c.Numbers...)
		tag(&b, "claim", fmt.Sprintf("number=%q passages=%q", fmt.Sprint(i+1), strings.Trim(fmt.Sprint(c.Numbers), "[]")), c.Text)
	}
	tag(&b, "passages", "", passages(all, numbers, w.room()))
	msg, ended, voided := s.Recall().Turn(s.Execution())
	if !ended {
		var err error
		j := &judging{Model: w.Checker, claims: asked, left: len(open) - len(asked), zh: chinese(lang)}
		msg, err = agent.Call(ctx, s, j, model.Request{
			System: prompt(NodeChecker, lang, promptData{Locale: lang}), Messages: []item.Message{item.UserText("", b.String())},
			Schema: judgementShape.Schema(), SchemaName: "judgement",
		}, agent.CallOptions{Agent: NodeChecker, Policy: w.Policy, Breakers: w.Breakers, Log: w.Log, Replaces: voided, Accept: isJudgement})
		if failure := (*agent.Failure)(nil); errors.As(err, &failure) && ctx.Err() == nil { // the report is there all the same
			return graph.Command{}, s.Emit(ctx, event.Warned{Code: "check_failed", Message: "the citations were not put to a model: " + graph.ErrorOf(err).Message})
		}
		if err != nil {
			return graph.Command{}, err
		}
	}
	msg.Name = NodeChecker
	whole := strings.TrimRight(text, "\n") + "\n\n" + msg.Text()
	if file := w.draft(s); file != nil {
		if err := file.whole(whole); err != nil {
			if err := s.Emit(ctx, unwritten(file.name, err)); err != nil {
				return graph.Command{}, err
			}
		}
	}
	return graph.Update(messages.Add(msg), report.Set(whole), doubts.Set(append(slices.Clone(doubts.Get(s)), saidOf(msg.Text(), asked, chinese(lang))...))), nil
}

// judging is a model whose judgement is read by people: what it says comes out as a section of the report.
type judging struct {
	model.Model
	claims []Claim
	left   int // that it was not asked about
	zh     bool
}

var (
	_ model.Describer = (*judging)(nil)
	_ agent.Pricer    = (*judging)(nil)
)

func (j *judging) Describe() model.Info {
	if d, ok := j.Model.(model.Describer); ok {
		return d.Describe()
	}
	return model.Info{}
}

func (j *judging) Cost(u item.Usage) int64 {
	if p, ok := j.Model.(agent.Pricer); ok {
		return p.Cost(u)
	}
	return 0
}

func (j *judging) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		var said strings.Builder
		for part, err := range j.Model.Stream(ctx, req) {
			switch p := part.(type) {
			case model.Text:
				said.WriteString(p.Text)
				continue
			case model.Finish:
				text := said.String() // what cannot be read is refused as it is, and the model told
				if v, err := judgementShape.Read(text); err == nil {
					text = j.section(v)
				}
				if text != "" && !yield(model.Text{Text: text}, nil) {
					return
				}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

var judgedHeading = map[bool]string{false: "## What a model says of the citations", true: "## 模型对引用的判断"}

// isJudgement says what is wrong with an answer that could not be read as a judgement.
func isJudgement(msg item.Message) error {
	text := msg.Text()
	if strings.HasPrefix(text, judgedHeading[false]) || strings.HasPrefix(text, judgedHeading[true]) {
		return nil
	}
	if _, err := judgementShape.Read(text); err != nil {
		return err
	}
	return errors.New("there is no judgement")
}

// section says for people what a model said. A claim that it says nothing of is not confirmed.
func (j *judging) section(v judgement) string {
	holds, why := map[int]bool{}, map[int]string{}
	for _, one := range v.Verdicts {
		if _, twice := why[one.Claim]; !twice {
			holds[one.Claim], why[one.Claim] = one.Holds, plainLine(firstWords(one.Why, 200))
		}
	}
	name := plainLine(cmp.Or(j.Describe().Model, "model"))
	confirmed := 0
	var lines strings.Builder
	for i, c := range j.claims {
		if holds[i+1] {
			confirmed++
			continue
		}
		reason := cmp.Or(why[i+1], map[bool]string{false: "it does not say why", true: "没有说明理由"}[j.zh])
		if _, said := why[i+1]; !said {
			reason = map[bool]string{false: "it said nothing of this one", true: "没有作出判断"}[j.zh]
		}
		fmt.Fprintf(&lines, "%s%s)\n", c.line(j.zh), reason)
	}
	var b strings.Builder
	b.WriteString(judgedHeading[j.zh] + "\n\n")
	if j.zh {
		fmt.Fprintf(&b, "有 %d 处引用无法靠比对词语判断，已交给 %s：其中 %d 处得到确认。", len(j.claims), name, confirmed)
		if j.left > 0 {
			fmt.Fprintf(&b, "另有 %d 处没有询问。", j.left)
		}
	} else {
		fmt.Fprintf(&b, "Comparing words cannot tell whether %d of the citations are right. %s was asked, and confirmed %d.", len(j.claims), name, confirmed)
		if j.left > 0 {
			fmt.Fprintf(&b, " It was not asked about %d more.", j.left)
		}
	}
	b.WriteString("\n")
	if lines.Len() > 0 {
		b.WriteString("\n" + lines.String())
	}
	return b.String()
}

// line begins the line about a claim that a model does not confirm.
func (c Claim) line(zh bool) string {
	return fmt.Sprintf("-%s %s: “%s” (", mark, bracketless(c.Numbers, zh), plainLine(firstWords(strings.Trim(c.Text, "“”"), 160)))
}

// saidOf are the claims that a section does not confirm. The section is read, and not what the model said: that is no longer there
// after a crash.
func saidOf(section string, claims []Claim, zh bool) []Doubt {
	var out []Doubt
	for _, c := range claims {
		if _, rest, ok := strings.Cut(section, "\n"+c.line(zh)); ok {
			why, _, _ := strings.Cut(rest, "\n")
			out = append(out, Doubt{c.Numbers, c.Text, NotSaid, strings.TrimSuffix(why, ")")})
		}
	}
	return out
}
