package research

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/tool"
)

// Plan is what is to be found out. Its form is the one that models are asked for and people may edit.
type Plan struct {
	Locale string `json:"locale,omitempty" jsonschema:"the language of the report, as in en-US or zh-CN"`
	// Enough says that no research is needed, or no more of it.
	Enough  bool   `json:"has_enough_context,omitempty" jsonschema:"true if what was found already answers the question whole"`
	Thought string `json:"thought,omitempty" jsonschema:"in a sentence or two, what is asked and what is still not known"`
	Title   string `json:"title" jsonschema:"the subject of the report"`
	Steps   []Step `json:"steps" jsonschema:"what is to be found out, one subject a step; empty if nothing is"`
}

// Step is one thing to find out.
type Step struct {
	ID          string   `json:"id,omitempty" jsonschema:"a name for depends_on; may be left out"`
	Title       string   `json:"title" jsonschema:"the step in a few words"`
	Description string   `json:"description,omitempty" jsonschema:"what exactly to find out"`
	Type        StepType `json:"step_type,omitempty" jsonschema:"research: look something up; analysis: think about what was found; processing: calculate with code"`
	NeedSearch  bool     `json:"need_search,omitempty" jsonschema:"true if sources must be looked at"`
	DependsOn   []string `json:"depends_on,omitempty" jsonschema:"ids of steps whose results this one needs"`
}

// StepType says who does a step.
type StepType string

const (
	Research   StepType = "research"   // the researcher, with tools that look things up
	Analysis   StepType = "analysis"   // the analyst, without tools
	Processing StepType = "processing" // the coder, with tools that run code
)

// title is that of a step.
func (p Plan) title(step string) string {
	for _, s := range p.Steps {
		if s.ID == step {
			return s.Title
		}
	}
	return step
}

// node is where a step is done.
func (t StepType) node() string {
	switch t {
	case Analysis:
		return NodeAnalyst
	case Processing:
		return NodeCoder
	}
	return NodeResearcher
}

var planShape = func() tool.Shape[Plan] {
	shape, err := tool.ShapeOf[Plan]()
	if err != nil {
		panic(err) // a mistake in the type above
	}
	return shape
}()

// readPlan reads what a model wrote as a plan. Small mistakes are repaired, a bare list is taken for the steps, and members
// that nobody asked for are passed over.
func readPlan(text, topic string) (Plan, error) {
	p, err := planShape.Read(text)
	if err == nil {
		return p, p.sensible()
	}
	if bare := unfenced(text); strings.HasPrefix(bare, "[") {
		title, _ := json.Marshal(topic) // a string always encodes
		if p, again := planShape.Read(`{"title":` + string(title) + `,"steps":` + bare + `}`); again == nil {
			return p, p.sensible()
		}
	}
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start || json.Unmarshal([]byte(text[start:end+1]), &p) != nil || len(p.Steps) == 0 && !p.Enough {
		return Plan{}, fmt.Errorf("it is no plan: %w", err)
	}
	return p, p.sensible()
}

// unfenced takes the fence of a block of code off a text.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		_, rest, _ = strings.Cut(rest, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	return text
}

// sensible reports what no repair can guess.
func (p Plan) sensible() error {
	for i, s := range p.Steps {
		if strings.TrimSpace(s.Title+s.Description) == "" {
			return fmt.Errorf("steps[%d] says nothing; give it a title and a description", i)
		}
	}
	return nil
}

// adopt makes the steps of a model's plan those of the next round: repaired, at most most of them, with ids of
// our own that no earlier step has. Dependencies on what is not there are dropped, and so are those that would never end.
func (p Plan) adopt(done []Step, most int, search bool) Plan {
	steps := p.Steps
	if len(steps) > most {
		steps = steps[:most]
	}
	names := map[string]string{} // from the model's to ours
	for _, s := range done {
		names[s.ID] = s.ID
	}
	fresh := make([]Step, 0, len(steps))
	for i, s := range steps {
		id := "s" + strconv.Itoa(len(done)+i+1)
		for _, name := range []string{s.ID, strconv.Itoa(i + 1), s.Title} {
			if _, taken := names[name]; name != "" && !taken {
				names[name] = id
			}
		}
		s.ID = id
		fresh = append(fresh, s.repaired(search))
	}
	before := map[string]bool{}
	for _, s := range done {
		before[s.ID] = true
	}
	// A step may wait for those that stand before it; to wait for a later one is to wait for ever, or an order to be read.
	for i := range fresh {
		var needs []string
		for _, name := range fresh[i].DependsOn {
			if id := names[strings.TrimSpace(name)]; before[id] && !slices.Contains(needs, id) {
				needs = append(needs, id)
			}
		}
		fresh[i].DependsOn = needs
		before[fresh[i].ID] = true
	}
	p.Steps = append(slices.Clone(done), fresh...)
	return p
}

// repaired fills in what a step does not say.
func (s Step) repaired(search bool) Step {
	s.Title, s.Description = strings.TrimSpace(s.Title), strings.TrimSpace(s.Description)
	if s.Title == "" {
		s.Title = firstWords(s.Description, 80)
	}
	switch s.Type {
	case Research, Analysis, Processing:
	default:
		s.Type = Analysis
		if s.NeedSearch || search {
			s.Type = Research
		}
	}
	s.NeedSearch = s.NeedSearch || s.Type == Research
	return s
}

// edited reads a plan that a person changed. The steps that are done stay as they are; the others are the person's, in the
// person's order. What cannot be carried out is told, and not repaired.
func (p Plan) edited(raw json.RawMessage, done []Step, most int) (Plan, error) {
	var e struct {
		Title   *string `json:"title"`
		Thought *string `json:"thought"`
		Enough  bool    `json:"has_enough_context"`
		Steps   []Step  `json:"steps"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return p, fmt.Errorf("the plan cannot be read: %w", err)
	}
	finished := map[string]bool{}
	for _, s := range done {
		finished[s.ID] = true
	}
	e.Steps = slices.DeleteFunc(e.Steps, func(s Step) bool { return finished[s.ID] })
	switch {
	case len(e.Steps) == 0 && !e.Enough && len(done) == 0:
		return p, errors.New("the plan has no steps; leave at least one, or say has_enough_context")
	case len(e.Steps) > most:
		return p, fmt.Errorf("the plan has %d steps, and %d are allowed (max_step_num)", len(e.Steps), most)
	}
	if err := (Plan{Steps: e.Steps}).sensible(); err != nil {
		return p, err
	}
	known := map[string]bool{}
	for i, s := range e.Steps {
		for _, need := range s.DependsOn {
			at := slices.IndexFunc(e.Steps, func(o Step) bool { return o.ID == need })
			if !finished[need] && (at < 0 || at >= i) {
				return p, fmt.Errorf("step %q waits for %q, which does not stand before it", s.Title, need)
			}
		}
		if s.ID != "" && known[s.ID] {
			return p, fmt.Errorf("two steps have the id %q", s.ID)
		}
		known[s.ID] = true
		if s.Type != "" && s.Type != Research && s.Type != Analysis && s.Type != Processing {
			return p, fmt.Errorf("step %q: step_type must be research, analysis or processing, not %q", s.Title, s.Type)
		}
	}
	if e.Title != nil {
		p.Title = *e.Title
	}
	if e.Thought != nil {
		p.Thought = *e.Thought
	}
	p.Enough, p.Steps = e.Enough, e.Steps
	return p.adopt(done, most, true), nil
}

// The statuses of a step, as events tell them.
const (
	isPending = "pending"
	isRunning = "running"
	isDone    = "done"
	isFailed  = "failed"
)

// told is the plan as an event. Those of whom nothing is known yet are pending, unless they are being worked on.
//
// Of a result its first words are told.
func (p Plan) told(id string, results map[string]Result, working map[string]bool) event.PlanUpdated {
	e := event.PlanUpdated{Plan: id, Title: p.Title, Steps: make([]event.PlanStep, len(p.Steps))}
	for i, s := range p.Steps {
		t := event.PlanStep{
			ID: s.ID, Title: s.Title, Detail: s.Description, Status: isPending, Kind: string(s.Type), DependsOn: s.DependsOn, Member: s.Type.node(),
		}
		if res, ok := results[s.ID]; ok {
			t.Status, t.Result = isDone, firstWords(res.Text, toldOfResult)
			if res.Error != "" {
				t.Status, t.Result = isFailed, res.Error
			}
		} else if working[s.ID] {
			t.Status = isRunning
		}
		e.Steps[i] = t
	}
	return e
}

const toldOfResult = 200

// firstWords is the beginning of a text, in one line.
func firstWords(text string, most int) string {
	if head := strings.TrimSuffix(text, "…"); len(head) < most && isLine(head) { // as most are that were cut once
		return text
	}
	text = cut(strings.TrimSpace(text), 4*most) // whatever is there behind it need not be read
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = strings.TrimRight(string(r[:most-1]), " ,;") + "…"
	}
	return text
}

// isLine reports a text that has nothing but single spaces between its words.
func isLine(text string) bool {
	space := true
	for i := range len(text) {
		c := text[i]
		if c >= 0x80 || c < ' ' || c == ' ' && space {
			return false // or not in a hurry to tell
		}
		space = c == ' '
	}
	return !space
}
