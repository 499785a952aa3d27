package answer

import (
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// usage has what both wires say of the cost.
type usage struct {
	said                                           bool
	input, output, total, cached, write, reasoning int
	cost                                           float64
}

// given reads a number that stands for itself.
func (u *usage) given(n *int, r *payload.Reader) {
	u.said = true
	*n = max(*n, r.Int())
}

func (u *usage) read(r *payload.Reader) {
	if r.Kind() != '{' {
		r.Skip()
		return
	}
	u.said = true
	for name := range r.Object {
		switch string(name) {
		case "prompt_tokens", "input_tokens":
			u.given(&u.input, r)
		case "completion_tokens", "output_tokens":
			u.given(&u.output, r)
		case "total_tokens":
			u.given(&u.total, r)
		case "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details":
			u.details(r)
		case "prompt_cache_hit_tokens", // DeepSeek
			"cached_tokens": // Kimi
			u.given(&u.cached, r)
		case "cost": // OpenRouter, in dollars
			u.cost = r.Float()
		}
	}
}

func (u *usage) details(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "cached_tokens":
			u.given(&u.cached, r)
		case "cache_write_tokens":
			u.given(&u.write, r)
		case "reasoning_tokens":
			u.given(&u.reasoning, r)
		}
	}
}

func (u *usage) usage() item.Usage {
	out := item.Usage{
		InputTokens: u.input, OutputTokens: u.output, CachedTokens: u.cached, CacheWriteTokens: u.write, ReasoningTokens: u.reasoning,
	}
	if u.cost > 0 && u.cost < 1e6 {
		out.CostMicros = int64(u.cost*1e6 + 0.5)
	}
	// xAI counts thinking beside the completion, and only the total has both.
	if rest := u.total - u.input; u.total > 0 && rest == u.output+u.reasoning {
		out.OutputTokens = rest
	}
	return out
}
