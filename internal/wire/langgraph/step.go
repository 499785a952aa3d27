package langgraph

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
)

// tellState tells of the state that a namespace has reached. values says that it is shown in mode values too.
func (p *Projector) tellState(ns string, values bool) error {
	var m Modes
	if p.visible(ns) {
		m = p.opt.Modes & (Checkpoints | Debug)
		if values {
			m |= p.opt.Modes & Values
		}
	}
	if ns == "" && values {
		m |= p.opt.Modes & (Messages | Events)
	}
	if m == 0 {
		return nil
	}
	st, err := p.state(ns)
	if err != nil {
		return err
	}
	if m.Has(Values) {
		p.emit(p.name("values", ns), appendState(nil, st.Values))
	}
	if m.Has(Messages) {
		p.complete(st.Values)
	}
	if m.Has(Checkpoints) {
		b := appendState([]byte(`{"values":`), st.Values)
		b = p.appendSource(append(b, `,"metadata":`...), ns, st)
		b = jsonline.AppendStrings(append(b, `,"next":`...), st.Next)
		p.emit(p.name("checkpoints", ns), append(b, '}'))
	}
	if m.Has(Debug) {
		p.debug(ns, st.Step, "checkpoint", p.appendCheckpoint(nil, ns, st))
	}
	if m.Has(Events) {
		p.chainStart(st.Values)
	}
	return nil
}

// appendSource writes the metadata of a checkpoint.
func (p *Projector) appendSource(b []byte, ns string, st *State) []byte {
	b = jsonline.AppendString(append(b, `{"source":`...), string(st.Source))
	b = jsonline.AppendIntField(b, "step", st.Step)
	b = p.appendParents(append(b, `,"parents":`...), ns)
	return append(b, '}')
}

// appendParents writes where the graphs above stand: an object of namespaces and checkpoints.
func (p *Projector) appendParents(b []byte, ns string) []byte {
	b = append(b, '{')
	for ns != "" {
		above := strings.LastIndexByte(ns, '|')
		ns = ns[:max(above, 0)]
		if sp := p.spaces[ns]; sp != nil && sp.Checkpoint != "" {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = append(jsonline.AppendString(b, ns), ':')
			b = jsonline.AppendString(b, sp.Checkpoint)
		}
	}
	return append(b, '}')
}

// appendCheckpoint writes the payload of mode debug.
func (p *Projector) appendCheckpoint(b []byte, ns string, st *State) []byte {
	b = p.appendConfig(append(b, `{"config":`...), ns, st.ID)
	b = appendState(append(b, `,"values":`...), st.Values)
	b = p.appendSource(append(b, `,"metadata":`...), ns, st)
	b = jsonline.AppendStrings(append(b, `,"next":`...), st.Next)
	b = append(b, `,"tasks":[`...)
	for i, t := range st.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonline.AppendString(append(b, `{"id":`...), t.ID)
		b = jsonline.AppendField(b, "name", t.Node)
		b = appendPath(jsonline.AppendKey(b, "path"), t.Path)
		b = append(b, `,"interrupts":[]`...)
		if t.Subgraph {
			b = jsonline.AppendString(append(b, `,"checkpoint":{"thread_id":`...), p.thread)
			b = jsonline.AppendField(b, "checkpoint_ns", under(ns, t.Node+":"+t.ID))
			b = append(b, `,"checkpoint_id":null,"checkpoint_map":null}`...)
		}
		b = append(b, '}')
	}
	b = append(b, `],"checkpoint":`...)
	b = p.appendReference(b, ns, st.ID)
	b = append(b, `,"parent_checkpoint":`...)
	if st.Parent == "" {
		return append(b, `null}`...)
	}
	b = p.appendReference(b, ns, st.Parent)
	b = p.appendConfig(append(b, `,"parent_config":`...), ns, st.Parent)
	return append(b, '}')
}

// appendReference writes a checkpoint as clients name it in requests.
func (p *Projector) appendReference(b []byte, ns, id string) []byte {
	b = jsonline.AppendString(append(b, `{"thread_id":`...), p.thread)
	b = jsonline.AppendField(b, "checkpoint_id", id)
	b = jsonline.AppendField(b, "checkpoint_ns", ns)
	return append(p.appendMap(b, ns), '}')
}

func (p *Projector) appendMap(b []byte, ns string) []byte {
	b = jsonline.AppendKey(b, "checkpoint_map")
	if ns == "" {
		return append(b, "null"...)
	}
	return p.appendParents(b, ns)
}

func (p *Projector) appendConfig(b []byte, ns, id string) []byte {
	b = jsonline.AppendString(append(b, `{"configurable":{"checkpoint_ns":`...), ns)
	if ns != "" {
		b = p.appendMap(b, ns)
	}
	b = jsonline.AppendField(b, "run_id", p.run)
	b = jsonline.AppendField(b, "thread_id", p.thread)
	b = jsonline.AppendField(b, "graph_id", p.graph)
	b = jsonline.AppendField(b, "assistant_id", p.assistant)
	b = jsonline.AppendField(b, "checkpoint_id", id)
	b = append(b, `},"metadata":`...)
	return append(p.appendRunMeta(b), `,"tags":[]}`...)
}

// appendRunMeta writes what is known of the run as an object.
func (p *Projector) appendRunMeta(b []byte) []byte {
	b = append(append(b, '{'), p.meta[1:]...) // without the comma
	return append(b, '}')
}

func (p *Projector) debug(ns string, step int, typ string, payload []byte) {
	b := strconv.AppendInt([]byte(`{"step":`), int64(step), 10)
	b = jsonline.AppendField(b, "type", typ)
	b = appendTime(append(b, `,"timestamp":`...), p.env.At)
	b = append(append(b, `,"payload":`...), payload...)
	p.emit(p.name("debug", ns), append(b, '}'))
}

// tellTask tells that a node begins.
func (p *Projector) tellTask(x *execution) error {
	input := x.input
	if input == nil {
		st, err := p.state(x.ns)
		if err != nil {
			return err
		}
		input = st.Values
	}
	if p.shows(Tasks | Debug) {
		b := jsonline.AppendString([]byte(`{"id":`), x.id)
		b = jsonline.AppendField(b, "name", x.node)
		b = appendState(append(b, `,"input":`...), input)
		b = jsonline.AppendStrings(append(b, `,"triggers":`...), x.triggers)
		b = append(b, `,"interrupts":[],"metadata":`...)
		p.task(x, "task", append(p.appendRunMeta(b), '}'))
	}
	if p.opt.Modes.Has(Events) {
		b := appendState([]byte(`{"input":`), input)
		p.nodeEvent("on_chain_start", x, append(b, '}'))
	}
	return nil
}

// tellResult tells how a node ended.
func (p *Projector) tellResult(x *execution, e event.NodeEnded) {
	if !p.shows(Tasks | Debug) {
		return
	}
	b := jsonline.AppendString([]byte(`{"id":`), x.id)
	b = jsonline.AppendField(b, "name", x.node)
	if e.Error != nil {
		b = jsonline.AppendField(b, "error", e.Error.Message)
	}
	b = appendUpdate(append(b, `,"result":`...), e.Update)
	b = p.appendInterrupts(append(b, `,"interrupts":`...), e.Interrupts)
	p.task(x, "task_result", append(b, '}'))
}

func (p *Projector) task(x *execution, typ string, payload []byte) {
	if p.opt.Modes.Has(Tasks) {
		p.emit(p.name("tasks", x.ns), payload)
	}
	if p.opt.Modes.Has(Debug) {
		p.debug(x.ns, x.step, typ, payload)
	}
}

// appendInterrupts writes questions with what they ask.
func (p *Projector) appendInterrupts(b []byte, ids []string) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonline.AppendString(append(b, `{"id":`...), id)
		b = append(b, `,"value":`...)
		if q, ok := p.questions[id]; ok {
			b = append(b, q.value...)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// tellUpdate tells what a node wrote.
func (p *Projector) tellUpdate(x *execution, update json.RawMessage, cached bool) {
	if !p.shows(Updates) {
		return
	}
	b := append(jsonline.AppendString([]byte{'{'}, x.node), ':')
	b = appendUpdate(b, update)
	if cached {
		b = append(b, `,"__metadata__":{"cached":true}`...)
	}
	p.emit(p.name("updates", x.ns), append(b, '}'))
}

// tellLeft tells what nodes left that were cut off, as if they had written it.
func (p *Projector) tellLeft(left json.RawMessage) {
	line, ok := jsonline.Compact(left)
	if !ok || !p.shows(Updates) {
		return
	}
	for node, update := range jsonline.Members(line) {
		b := append(append([]byte(`{"`), node...), `":`...)
		p.emit(p.name("updates", p.env.NS), append(appendUpdate(b, update), '}'))
	}
}
