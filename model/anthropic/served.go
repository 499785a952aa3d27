package anthropic

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/kept"
)

// servedBlock is what pairs a call of the provider's own tools with its result.
type servedBlock struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Answer string `json:"tool_use_id"`
}

// own returns a block that this provider is to get back.
func (c *conversation) own(b item.Block) (raw json.RawMessage, head servedBlock, ok bool) {
	raw, mark, ok := kept.Take(b.Foreign)
	if !ok || mark.Provider != c.provider {
		return nil, head, false
	}
	if mark.Typed { // ours, and no block of the API
		head.Type = kept.Type(b.Foreign)
	} else if json.Unmarshal(raw, &head) != nil {
		return nil, head, false
	}
	return raw, head, true
}

func (s servedBlock) isCall() bool { return strings.HasSuffix(s.Type, "tool_use") && s.ID != "" }

// findServed notes which calls of the provider's own tools have results: the API refuses one without the other.
func (c *conversation) findServed(msgs []item.Message) {
	c.served = map[string]bool{}
	for _, m := range msgs {
		for _, b := range m.Content {
			if _, head, ok := c.own(b); ok && head.Answer != "" {
				c.served[head.Answer] = true
			}
		}
	}
}

// said is the content of an answer. What other providers keep of their tools is left out; so is a call of one of this
// provider's that was never answered, unless the answer is the last and the provider is to go on with it.
func (c *conversation) said(blocks []item.Block, last bool) []any {
	var out []any
	for _, b := range blocks {
		if _, _, marked := kept.Take(b.Foreign); !marked {
			out = append(out, content([]item.Block{b})...)
			continue
		}
		raw, head, ok := c.own(b)
		switch {
		case !ok:
		case head.Type == containerType:
			c.container = raw
		case head.isCall() && !last && !c.served[head.ID]:
		default:
			out = append(out, raw)
		}
	}
	return out
}

// last is the index of the last answer.
func last(msgs []item.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == item.Assistant {
			return i
		}
	}
	return -1
}

// useContainer lets the provider's code run where it ran before, if the request offers to run code at all and the
// container is still there.
func (c *conversation) useContainer(tools []json.RawMessage, now time.Time) (id string, ok bool) {
	var at struct {
		ID      string    `json:"id"`
		Expires time.Time `json:"expires_at"`
	}
	if json.Unmarshal(c.container, &at) != nil || at.ID == "" || at.Expires.Before(now.Add(time.Minute)) {
		return "", false
	}
	return at.ID, slices.ContainsFunc(tools, func(t json.RawMessage) bool {
		return strings.HasPrefix(kept.Type(t), "code_execution")
	})
}
