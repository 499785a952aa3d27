package team

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// kind is a type of frame. One that was not declared cannot be written, and all that were are [Types]: there is no second list that
// could lack one.
type kind struct{ name string }

var types []string

func declare(name string) kind {
	types = append(types, name)
	return kind{name}
}

var (
	formed         = declare("team_formed")
	planUpdate     = declare("plan_update")
	expertStep     = declare("expert_step")
	expertChunk    = declare("expert_result_chunk")
	expertReset    = declare("expert_result_chunk_reset")
	expertResult   = declare("expert_result")
	synthesisChunk = declare("team_synthesis_chunk")
	synthesisReset = declare("team_synthesis_chunk_reset")
	synthesis      = declare("team_synthesis")
	review         = declare("team_review")
	spoken         = declare("team_spoken")
	warning        = declare("team_warning")
	custom         = declare("team_custom")
	dissolved      = declare("team_dissolved")
)

// Types are the types of frames that there are.
func Types() []string { return slices.Clone(types) }

// Frame is a frame as it is written. Members that do not concern its type are absent.
type Frame struct {
	Type     string `json:"type"`
	Sequence uint64 `json:"sequence"`
	Run      string `json:"run"`

	Team    string         `json:"team,omitempty"`
	Title   string         `json:"title,omitempty"`
	Lead    string         `json:"lead,omitempty"`
	Experts []event.Member `json:"experts,omitempty"`

	Expert  string `json:"expert,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Task    string `json:"task,omitempty"` // of the expert, or of one that works for it
	Attempt int    `json:"attempt,omitempty"`

	Plan  string           `json:"plan,omitempty"`
	Steps []event.PlanStep `json:"steps,omitempty"`

	// Of a step: started, thought, tool_call, tool_result, progress, plan, custom, question.
	Kind      string          `json:"kind,omitempty"`
	Name      string          `json:"name,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Text      string          `json:"text,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`

	Delta   string       `json:"delta,omitempty"`
	Cause   string       `json:"cause,omitempty"`
	Content *string      `json:"content,omitempty"` // of a result, where it may be empty
	Status  event.Status `json:"status,omitempty"`
	Outcome event.Status `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Error   *event.Error `json:"error,omitempty"`
	Usage   *item.Usage  `json:"usage,omitempty"`

	ID        string   `json:"id,omitempty"` // of words
	Interrupt string   `json:"interrupt_id,omitempty"`
	Ask       string   `json:"ask,omitempty"`
	Options   []string `json:"options,omitempty"`
	Code      string   `json:"code,omitempty"`
	Message   string   `json:"message,omitempty"`
}

// Projector writes a run's events as frames of this wire. It holds the texts that are not complete yet, and little else.
type Projector struct {
	next  uint64
	team  string // once it was formed
	known bool
	// members are the ids of the experts, tasks what is known of each task, turns whose text each turn is.
	members map[string]bool
	tasks   map[string]*worker
	turns   map[key]*turn
	items   map[key]*turn // messages that are open
	answer  *text         // the lead's
	outcome event.Status  // as TeamDissolved said
	reason  string
	over    bool
	order   []*worker

	env *event.Envelope // while Project runs
	dst []wire.Frame
}

// key is the id of a turn or an item: whoever makes them sees to it that they are unique in their task.
type key struct{ task, id string }

// worker is a task: an expert's, or one below it.
type worker struct {
	task, expert, phase string
	own                 bool // the expert itself, and not a sub-agent of it
	open                bool
	text                text
}

// text is an answer that grows.
type text struct {
	attempt int
	b       strings.Builder
	from    []*turn // that it is made of
}

// turn is a model call whose text counts.
type turn struct {
	id     string
	worker *worker // nil: the lead's
	shown  int     // bytes of it that were told
	void   bool
	done   bool // it was a whole answer
	// seen are the items of it of which something was streamed.
	seen map[string]bool
}

var _ wire.Projector = (*Projector)(nil)

// New returns a projector for the events of one run, from the first.
func New() *Projector {
	return &Projector{
		members: map[string]bool{}, tasks: map[string]*worker{}, turns: map[key]*turn{}, items: map[key]*turn{},
		answer: &text{attempt: 1},
	}
}

// Project appends the frames of the next event.
func (p *Projector) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	if p.over {
		return dst, nil
	}
	p.env, p.dst = env, dst
	err := event.Visit(env.Event, (*visitor)(p))
	dst = p.dst
	p.env, p.dst = nil, nil
	return dst, err
}

// write makes a frame. Whatever comes before there is a team makes one known that has no members.
func (p *Projector) write(k kind, f Frame) error {
	if !p.known {
		p.known = true
		if k != formed {
			if err := p.write(formed, Frame{}); err != nil {
				return err
			}
		}
	}
	f.Type, f.Sequence, f.Run, f.Team = k.name, p.next, p.env.Run, p.team
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Type, err)
	}
	p.frame(data)
	return nil
}

// of is a frame about an expert.
func (w *worker) of(f Frame) Frame {
	f.Expert, f.Phase, f.Task, f.Attempt = w.expert, w.phase, w.task, w.text.attempt
	return f
}

// step tells what the worker of the event does; nobody is told of what no expert does.
func (p *Projector) step(f Frame) error {
	if w := p.tasks[p.env.Task]; w != nil {
		return p.write(expertStep, w.of(f))
	}
	return nil
}

// textOf is the text that a turn is part of.
func (p *Projector) textOf(t *turn) *text {
	if t.worker == nil {
		return p.answer
	}
	return &t.worker.text
}

// say adds to a text and tells it.
func (p *Projector) say(t *turn, piece string) error {
	if t.void || piece == "" {
		return nil
	}
	x := p.textOf(t)
	if t.worker == nil && t.shown == 0 && len(x.from) > 0 {
		// The lead begins anew, without having taken back what it said: only the last answer counts.
		if err := p.reset(x, nil, "again"); err != nil {
			return err
		}
	}
	if t.shown == 0 {
		x.from = append(x.from, t)
	}
	t.shown += len(piece)
	x.b.WriteString(piece)
	return p.chunk(x, t.worker, piece)
}

// reset makes a text void.
func (p *Projector) reset(x *text, w *worker, cause string) error {
	for _, t := range x.from {
		t.void = true
	}
	x.from = nil
	x.b.Reset()
	x.attempt++
	if w == nil {
		return p.write(synthesisReset, Frame{Attempt: x.attempt, Cause: cause})
	}
	return p.write(expertReset, w.of(Frame{Cause: cause}))
}

// voided takes back what a turn has said, and with it the text that it is part of.
func (p *Projector) voided(t *turn, cause string) error {
	if t.void {
		return nil
	}
	t.void = true
	if t.shown == 0 {
		return nil
	}
	x := p.textOf(t)
	kept := x.b.String()
	kept = kept[:len(kept)-min(t.shown, len(kept))]
	before := slices.DeleteFunc(slices.Clone(x.from), func(o *turn) bool { return o == t })
	if err := p.reset(x, t.worker, cause); err != nil {
		return err
	}
	if kept == "" || len(before) == 0 {
		return nil
	}
	// What an answer said before its provider paused still stands: only its last turn is void.
	for _, o := range before {
		o.void = false
	}
	x.from = before
	x.b.WriteString(kept)
	return p.chunk(x, t.worker, kept)
}

// chunk tells a piece of a text. There is one for every token, so that its JSON is written by hand. It is that of write, but for the
// characters that are escaped for the sake of HTML.
func (p *Projector) chunk(x *text, w *worker, piece string) error {
	k := synthesisChunk
	if w != nil {
		k = expertChunk
	}
	if !p.known {
		if err := p.write(formed, Frame{}); err != nil {
			return err
		}
	}
	b := make([]byte, 0, 192+len(piece))
	b = append(append(b, `{"type":"`...), k.name...)
	b = strconv.AppendUint(append(b, `","sequence":`...), p.next, 10)
	b = jsonline.AppendField(b, "run", p.env.Run)
	b = jsonline.AppendOptField(b, "team", p.team)
	if w != nil {
		b = jsonline.AppendOptField(b, "expert", w.expert)
		b = jsonline.AppendOptField(b, "phase", w.phase)
		b = jsonline.AppendOptField(b, "task", w.task)
	}
	b = jsonline.AppendIntField(b, "attempt", x.attempt)
	b = jsonline.AppendOptField(b, "delta", piece)
	p.frame(append(b, '}'))
	return nil
}

// frame sends the JSON of a frame.
func (p *Projector) frame(data []byte) {
	p.dst = append(p.dst, wire.Frame{ID: strconv.FormatUint(p.next, 10), Data: data})
	p.next++
}

// end tells the result of an expert.
func (p *Projector) end(w *worker, status event.Status, err *event.Error, usage *item.Usage) error {
	if !w.open {
		return nil
	}
	w.open = false
	if !w.own {
		return nil
	}
	content := w.text.b.String()
	return p.write(expertResult, w.of(Frame{Status: status, Content: &content, Error: err, Usage: usage}))
}
