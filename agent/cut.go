package agent

import (
	"slices"

	"github.com/tributary-ai/tributary/item"
)

// cutOffNote follows what a model is shown of an answer that was cut off.
const cutOffNote = "[This answer was cut off here.]"

// asCutOff returns the conversation with a note behind every answer that was cut off, so that the model does not take it for what
// it wanted to say. Calls and thoughts that came with it are left out: the calls were never made, and providers refuse halves
// of either. The thread keeps what people were shown.
func asCutOff(msgs []item.Message) []item.Message {
	cut := func(m item.Message) bool { return m.Role == item.Assistant && m.Finish == item.FinishIncomplete }
	if !slices.ContainsFunc(msgs, cut) {
		return msgs
	}
	out := slices.Clone(msgs)
	for i, m := range out {
		if !cut(m) {
			continue
		}
		m.Content = append(slices.Clip(m.Content), item.Block{Type: item.TextBlock, Text: cutOffNote})
		m.Reasoning, m.ToolCalls, m.Order, m.Finish = nil, nil, "", item.FinishStop
		out[i] = m
	}
	return out
}
