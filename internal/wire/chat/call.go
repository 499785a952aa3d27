package chat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// escape writes the arguments of chunks as DeerFlow does.
var escape = strings.NewReplacer("[", "&#91;", "]", "&#93;", "{", "&#123;", "}", "&#125;")

// advance tells the calls that wait, if the one before them is complete.
func (p *Projector) advance(m *message) {
	for m.shown < len(m.calls) && (m.shown == 0 || m.calls[m.shown-1].ended) {
		c := m.calls[m.shown]
		m.shown++
		p.beginIn(m)
		p.buf = append(p.buf, `,"tool_calls":[`...)
		for i, c := range m.calls[:m.shown] {
			if i > 0 {
				p.buf = append(p.buf, ',')
			}
			p.buf = jsonline.AppendString(append(p.buf, `{"name":`...), c.name)
			p.buf = append(p.buf, `,"args":`...)
			if c.ended {
				p.buf = append(p.buf, c.args...)
			} else {
				p.buf = append(p.buf, "{}"...)
			}
			p.buf = jsonline.AppendField(p.buf, "id", c.id)
			p.buf = append(p.buf, `,"type":"tool_call"}`...)
		}
		p.buf = append(p.buf, ']')
		p.chunk(c, string(c.args), true)
		p.end("tool_calls")
	}
}

// chunk adds a piece of a call's arguments to a frame. With its id it begins them.
func (p *Projector) chunk(c *call, args string, begins bool) {
	p.buf = append(p.buf, `,"tool_call_chunks":[{"name":`...)
	if begins {
		p.buf = jsonline.AppendString(p.buf, c.name)
	} else {
		p.buf = append(p.buf, `""`...)
	}
	p.buf = jsonline.AppendField(p.buf, "args", escape.Replace(args))
	p.buf = append(p.buf, `,"id":`...)
	if begins {
		p.buf = jsonline.AppendString(p.buf, c.id)
	} else {
		p.buf = append(p.buf, "null"...)
	}
	p.buf = strconv.AppendInt(append(p.buf, `,"index":`...), int64(c.index), 10)
	p.buf = append(p.buf, `,"type":"tool_call_chunk"}]`...)
}

// growCall tells a piece of a call's arguments, if its turn has come.
func (p *Projector) growCall(m *message, c *call, text string) {
	if c.ended || text == "" {
		return
	}
	c.args = append(c.args, text...)
	if at := slices.Index(m.calls, c); at >= 0 && at == m.shown-1 {
		p.beginIn(m)
		p.chunk(c, text, false)
		p.end("tool_call_chunks")
	}
}

// endCall says what the arguments are, where that is not what the chunks come to.
func (p *Projector) endCall(m *message, c *call, arguments string) {
	if c.ended {
		return
	}
	whole := asObject(arguments)
	said := string(c.args)
	c.args, c.ended = []byte(whole), true
	if at := slices.Index(m.calls, c); at >= 0 && at < m.shown && said != whole {
		p.beginIn(m)
		p.chunk(c, whole, true)
		p.end("tool_call_chunks")
	}
	p.advance(m)
}

// asObject makes JSON of arguments that are none, as those of a call that was cut off. It is one line.
func asObject(arguments string) string {
	text := strings.TrimSpace(arguments)
	if text == "" {
		return "{}"
	}
	if text[0] != '{' || !json.Valid([]byte(text)) {
		return `{"arguments":` + string(jsonline.AppendString(nil, arguments)) + `}`
	}
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	var line bytes.Buffer
	_ = json.Compact(&line, []byte(text)) // it is valid
	return line.String()
}
