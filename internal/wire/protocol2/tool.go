package protocol2

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// tool begins a frame about a tool, in the namespace of the graph whose node calls it.
func (p *Projector) tool(c *call, kind string) bool {
	if !p.begin("tools", "tools", p.open(p.env.NS), "") {
		return false
	}
	p.buf = jsonline.AppendField(jsonline.AppendString(append(p.buf, `{"event":`...), kind), "tool_call_id", c.id)
	return true
}

func (p *Projector) toolStarted(c *call) {
	if !p.tool(c, "tool-started") {
		return
	}
	input := c.args
	if json.Valid([]byte(input)) {
		input = string(jsonline.AppendForeign(nil, []byte(input)))
	}
	p.buf = jsonline.AppendField(jsonline.AppendField(p.buf, "tool_name", c.name), "input", input)
	p.buf = append(p.buf, '}')
	p.end()
}

func (p *Projector) toolPiece(c *call, text string) {
	if p.tool(c, "tool-output-delta") {
		p.buf = append(jsonline.AppendField(p.buf, "delta", text), '}')
		p.end()
	}
}

func (p *Projector) toolEnded(c *call, r item.ToolResult) error {
	if r.Error {
		if p.tool(c, "tool-error") {
			p.buf = append(jsonline.AppendField(p.buf, "message", item.JoinText(r.Content)), '}')
			p.end()
		}
		return nil
	}
	if !p.tool(c, "tool-finished") {
		return nil
	}
	output, err := json.Marshal(item.Message{ID: r.ID, Role: item.Tool, CallID: r.CallID, Name: c.name, Content: r.Content})
	if err != nil {
		return err
	}
	p.buf = append(jsonline.AppendForeign(append(p.buf, `,"output":`...), output), '}')
	p.end()
	return nil
}
