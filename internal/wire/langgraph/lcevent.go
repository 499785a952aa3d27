package langgraph

import (
	"encoding/json"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

// Mode events speaks of runnables: the graph, its nodes, models and tools. They are told of at every depth under the plain
// name; the namespace is in their metadata.

func (p *Projector) runnable(kind, name, id string, tags, metadata, data []byte) {
	b := jsonline.AppendString([]byte(`{"event":`), kind)
	b = append(append(b, `,"data":`...), data...)
	b = jsonline.AppendField(b, "name", name)
	b = append(append(b, `,"tags":`...), tags...)
	b = jsonline.AppendField(b, "run_id", id)
	b = append(append(b, `,"metadata":`...), metadata...)
	p.emit("events", append(b, '}'))
}

// chainStart tells that the graph starts; its input is the first state, with the input applied.
func (p *Projector) chainStart(values json.RawMessage) {
	if p.chained {
		return
	}
	p.chained = true
	b := appendState([]byte(`{"input":`), values)
	p.runnable("on_chain_start", "LangGraph", p.run, []byte("[]"), p.appendRunMeta(nil), append(b, '}'))
}

func (p *Projector) chainEnd() error {
	st, err := p.state("")
	if err != nil {
		return err
	}
	p.chainStart(st.Values)
	b := appendState([]byte(`{"output":`), st.Values)
	p.runnable("on_chain_end", "LangGraph", p.run, []byte("[]"), p.appendRunMeta(nil), append(b, '}'))
	return nil
}

func (p *Projector) nodeEvent(kind string, x *execution, data []byte) {
	tags := append(strconv.AppendInt([]byte(`["graph:step:`), int64(x.step), 10), `"]`...)
	m := p.appendMeta([]byte(`{"tags":[]`), x)
	p.runnable(kind, x.node, x.id, tags, append(m, '}'), data)
}

func (p *Projector) nodeEnd(x *execution, e event.NodeEnded) {
	b := appendUpdate([]byte(`{"output":`), e.Update)
	p.nodeEvent("on_chain_end", x, append(b, '}'))
}

func (p *Projector) modelEvent(kind string, t *turn, data []byte) {
	name := t.provider
	if name == "" {
		name = "ChatModel"
	}
	p.runnable(kind, name, t.id, []byte("[]"), t.meta, data)
}

// toolStart tells, in modes tools and events, that a tool is called.
func (p *Projector) toolStart(c *call) {
	args := json.RawMessage(c.args)
	if !json.Valid(args) {
		args = nil
	}
	if p.opt.Modes.Has(Tools) {
		b := p.appendTool(c, "on_tool_start")
		text := c.args
		if args != nil {
			text = string(jsonline.AppendForeign(nil, args))
		}
		b = jsonline.AppendField(b, "input", text)
		p.emit(p.name("tools", p.env.NS), append(b, '}'))
	}
	if p.opt.Modes.Has(Events) {
		if args == nil {
			args = graphs.Empty
		}
		b := jsonline.AppendForeign([]byte(`{"input":`), args)
		p.toolEvent("on_tool_start", c, append(b, '}'))
	}
}

// toolPiece tells what a tool shows while it runs.
func (p *Projector) toolPiece(c *call, text string) {
	if p.opt.Modes.Has(Tools) {
		b := jsonline.AppendField(p.appendTool(c, "on_tool_event"), "data", text)
		p.emit(p.name("tools", p.env.NS), append(b, '}'))
	}
}

func (p *Projector) toolEnd(c *call, r item.ToolResult) error {
	output, err := json.Marshal(item.Message{
		ID: r.ID, Role: item.Tool, CallID: r.CallID, Name: c.name, Content: r.Content, Failed: r.Error,
	})
	if err != nil {
		return err
	}
	if p.opt.Modes.Has(Tools) {
		kind := "on_tool_end"
		if r.Error {
			kind = "on_tool_error"
		}
		b := p.appendTool(c, kind)
		if r.Error {
			b = jsonline.AppendField(b, "error", item.JoinText(r.Content))
		} else {
			b = jsonline.AppendForeign(append(b, `,"output":`...), output)
		}
		p.emit(p.name("tools", p.env.NS), append(b, '}'))
	}
	if p.opt.Modes.Has(Events) {
		b := jsonline.AppendForeign([]byte(`{"output":`), output)
		p.toolEvent("on_tool_end", c, append(b, '}'))
	}
	return nil
}

func (p *Projector) appendTool(c *call, kind string) []byte {
	b := jsonline.AppendString([]byte(`{"event":`), kind)
	b = jsonline.AppendField(b, "toolCallId", c.id)
	return jsonline.AppendField(b, "name", c.name)
}

func (p *Projector) toolEvent(kind string, c *call, data []byte) {
	m := p.appendMeta([]byte(`{"tags":[]`), p.execution(""))
	p.runnable(kind, c.name, c.id, []byte("[]"), append(m, '}'), data)
}
