package item

import "github.com/tributary-ai/tributary/internal/jsonline"

// Usage is what one or several model calls consumed. Cached and reasoning tokens are included in the
// input and output counts.
type Usage struct {
	InputTokens      int `json:"input_tokens"`
	OutputTokens     int `json:"output_tokens"`
	CachedTokens     int `json:"cached_tokens,omitempty"`      // input read from the provider's cache
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"` // input written to the provider's cache
	ReasoningTokens  int `json:"reasoning_tokens,omitempty"`   // output spent on thinking
	// CostMicros is the price in millionths of the currency that the model's prices are given in.
	CostMicros int64 `json:"cost_micros,omitempty"`
}

// Total is input and output together.
func (u Usage) Total() int { return u.InputTokens + u.OutputTokens }

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		InputTokens:      u.InputTokens + v.InputTokens,
		OutputTokens:     u.OutputTokens + v.OutputTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
		CostMicros:       u.CostMicros + v.CostMicros,
	}
}

// IsZero reports that nothing was consumed, or that nobody said.
func (u Usage) IsZero() bool { return u == Usage{} }

// wireUsage is the usage object of LangChain's messages.
type wireUsage struct {
	Input  int             `json:"input_tokens"`
	Output int             `json:"output_tokens"`
	Total  int             `json:"total_tokens"`
	In     *wireInDetails  `json:"input_token_details,omitempty"`
	Out    *wireOutDetails `json:"output_token_details,omitempty"`
	Cost   int64           `json:"cost_micros,omitempty"`
}

type wireInDetails struct {
	CacheRead     int `json:"cache_read,omitempty"`
	CacheCreation int `json:"cache_creation,omitempty"`
}

type wireOutDetails struct {
	Reasoning int `json:"reasoning,omitempty"`
}

func (w *wireUsage) usage() Usage {
	u := Usage{InputTokens: w.Input, OutputTokens: w.Output, CostMicros: w.Cost}
	if w.In != nil {
		u.CachedTokens, u.CacheWriteTokens = w.In.CacheRead, w.In.CacheCreation
	}
	if w.Out != nil {
		u.ReasoningTokens = w.Out.Reasoning
	}
	return u
}

// UsageJSON is the usage object of LangChain's messages.
func UsageJSON(u Usage) ([]byte, error) { return u.appendWire(nil) }

// appendWire writes that object; the tags of wireUsage tell the same form.
func (u Usage) appendWire(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.Int("input_tokens", int64(u.InputTokens))
	o.Int("output_tokens", int64(u.OutputTokens))
	o.Int("total_tokens", int64(u.Total()))
	if u.CachedTokens != 0 || u.CacheWriteTokens != 0 {
		o.Member("input_token_details", func(dst []byte) ([]byte, error) {
			in := jsonline.Begin(dst)
			in.OptInt("cache_read", int64(u.CachedTokens))
			in.OptInt("cache_creation", int64(u.CacheWriteTokens))
			return in.End()
		})
	}
	if u.ReasoningTokens != 0 {
		o.Member("output_token_details", func(dst []byte) ([]byte, error) {
			out := jsonline.Begin(dst)
			out.Int("reasoning", int64(u.ReasoningTokens))
			return out.End()
		})
	}
	o.OptInt("cost_micros", u.CostMicros)
	return o.End()
}
