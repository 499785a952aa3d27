package faults

import (
	"encoding/json"
	"fmt"
	"strings"
)

// langgraphIDs makes sure that ids rise. That none is missing shows in the comparison with a late reader.
func (j *judge) langgraphIDs(frames []Frame) {
	type place struct{ epoch, seq, place int }
	seen := map[string]bool{}
	var last place
	for i := range frames {
		id := frames[i].ID
		var p place
		if n, _ := fmt.Sscanf(id, "%d-%d.%d", &p.epoch, &p.seq, &p.place); n < 2 {
			j.blame(Unreadable, "the id %q", id)
			return
		}
		switch {
		case seen[id]:
			j.blame(Repeated, "event %s", id)
		case p.seq < last.seq, p.seq == last.seq && p.place <= last.place, p.epoch < last.epoch:
			j.blame(Swapped, "event %s came after %d-%d.%d", id, last.epoch, last.seq, last.place)
		}
		seen[id] = true
		last = p
	}
}

// lcMessage is a message, or a piece of one.
type lcMessage struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	Usage      *usage          `json:"usage_metadata"`
	Metadata   struct {
		Finish string `json:"finish_reason"`
	} `json:"response_metadata"`
}

// usages is how often the usage of a message is told: once, unless it was cut off before anybody knew it.
func (m *lcMessage) usages() int {
	if m.Usage == nil && m.Metadata.Finish == "incomplete" {
		return 0
	}
	return 1
}

// text of a content that is a string or a list of blocks.
func (m *lcMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(m.Content, &blocks) // neither: it has no text
	for _, b := range blocks {
		s += b.Text
	}
	return s
}

// streamed is a message as its chunks made it.
type streamed struct {
	text   strings.Builder
	usages int
	void   bool
}

// foldLangGraph reads a stream as LangGraph's clients do: chunks are joined by the id of their message, values replace all.
func (j *judge) foldLangGraph(frames []Frame) *story {
	s := &story{results: map[string]string{}, ended: true}
	chunks := map[string]*streamed{}
	var order []string
	var state struct {
		Messages []lcMessage `json:"messages"`
	}
	for i := range frames {
		f := &frames[i]
		if s.failed {
			j.blame(AfterEnd, "event %s: %s %s", f.ID, f.Name, f.Data)
		}
		switch f.Name {
		case "messages":
			var pair []json.RawMessage
			var m lcMessage
			if !j.parse(f, &pair) || len(pair) != 2 || json.Unmarshal(pair[0], &m) != nil {
				j.blame(Unreadable, "event %s: %s", f.ID, f.Data)
				return s
			}
			if m.Type != "ai" && m.Type != "AIMessageChunk" {
				continue
			}
			if chunks[m.ID] == nil {
				chunks[m.ID] = &streamed{}
				order = append(order, m.ID)
			}
			j.chunk(chunks[m.ID], &m, f.ID)
		case "values":
			state.Messages = nil
			if !j.parse(f, &state) {
				return s
			}
		case "custom":
			var c struct{ Type, ID string }
			if j.parse(f, &c) && c.Type == "message_superseded" && chunks[c.ID] != nil {
				chunks[c.ID].void = true
			}
		case "error":
			s.failed = true
		}
	}
	j.result(s, state.Messages, chunks)
	for _, id := range order {
		if c := chunks[id]; !c.void && !s.has(id) && !s.failed {
			j.blame(Untold, "message %s, %q, is neither in the state nor superseded", id, c.text.String())
		}
	}
	return s
}

func (j *judge) chunk(c *streamed, m *lcMessage, at string) {
	if c.void {
		j.blame(Mixed, "event %s is about message %s, which is void", at, m.ID)
	}
	c.text.WriteString(m.text())
	if m.Usage != nil {
		if c.usages++; c.usages > 1 {
			j.blame(Miscounted, "event %s tells the usage of message %s again", at, m.ID)
		}
	}
}

// result compares the last state with what was streamed.
func (j *judge) result(s *story, state []lcMessage, chunks map[string]*streamed) {
	for i := range state {
		m := &state[i]
		switch m.Type {
		case "tool":
			s.results[m.ToolCallID] = m.text()
		case "ai":
			s.messages = append(s.messages, message{m.ID, m.text()})
			if m.Usage != nil {
				s.input += m.Usage.Input
				s.output += m.Usage.Output
			}
			switch c := chunks[m.ID]; {
			case c == nil:
				j.blame(Lost, "message %s was not streamed", m.ID)
			case c.void:
				j.blame(Mixed, "message %s is void and in the state", m.ID)
			case c.text.String() != m.text():
				j.blame(Mixed, "the chunks of %s make %q, its text is %q", m.ID, c.text.String(), m.text())
			case c.usages != m.usages() && !j.c.AnyUsage:
				j.blame(Miscounted, "the usage of message %s was told %d times", m.ID, c.usages)
			}
		}
	}
}

func (s *story) has(id string) bool {
	for _, m := range s.messages {
		if m.id == id {
			return true
		}
	}
	return false
}
