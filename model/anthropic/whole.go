package anthropic

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/model"
)

// message is an answer that is not streamed, or the error that came in its place.
type message struct {
	Type      string            `json:"type"`
	Error     json.RawMessage   `json:"error"`
	Model     string            `json:"model"`
	Content   []json.RawMessage `json:"content"`
	Stop      string            `json:"stop_reason"`
	Container json.RawMessage   `json:"container"`
	Usage     json.RawMessage   `json:"usage"`
	Details   struct {
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// whole returns the parts of a message: those of a stream in which each block is one piece.
func (d *decoder) whole(m *message) []model.Part {
	d.model = m.Model
	for i, raw := range m.Content {
		d.start(&frame{Index: i, Block: raw})
		d.end(d.open[0])
		d.open = d.open[:0]
	}
	end := delta{Stop: m.Stop, Why: m.Details.Explanation}
	if len(m.Container) > 0 && m.Container[0] == '{' {
		end.Container = m.Container
	}
	d.over(&end)
	used := unsaid
	d.in.Reset(m.Usage)
	used.read(&d.in)
	d.count(used)
	d.finished = true
	return append(d.out, model.Finish{Reason: finish(d.stop), Raw: d.stop, Model: d.model, Message: d.why})
}
