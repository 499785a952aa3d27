package known

import (
	"path"
	"strings"
	"testing"
)

func TestWhatIsKnownOfModels(t *testing.T) {
	for _, c := range []struct {
		provider, model          string
		thinks, unasked, refuses bool // refuses a temperature
	}{
		{"openai", "gpt-5-mini", true, true, true},
		{"openai", "gpt-5", true, true, true},
		{"openai", "gpt-5.2-codex", true, true, true},
		{"openai", "gpt-5-chat-latest", false, false, false},
		{"openai", "o1", true, true, true},
		{"openai", "o3-mini-2025-01-31", true, true, true},
		{"openai", "o4-mini", true, true, true},
		{"openai", "gpt-4o", false, false, false},
		{"openai", "omni-moderation-latest", false, false, false},
		{"azure", "gpt-5", true, true, true},
		{"openrouter", "openai/gpt-5", true, true, true},
		{"openrouter", "deepseek/deepseek-r1:free", true, true, false},
		{"deepseek", "deepseek-reasoner", true, true, true},
		{"deepseek", "DeepSeek-Chat", true, false, false},
		{"kimi", "kimi-k2-thinking-turbo", true, true, true},
		{"kimi", "kimi-k2-0905-preview", false, false, false},
		{"qwen", "qwen3-max", true, false, false},
		{"vllm", "llama-3", false, false, false},
	} {
		got := Of(c.provider, c.model)
		if got.Thinking != c.thinks || got.Unasked != c.unasked || got.NoTemp != c.refuses {
			t.Errorf("%s of %s: got %+v, want thinking %v, unasked %v, no temperature %v", c.model, c.provider, got, c.thinks, c.unasked, c.refuses)
		}
	}
	if Of("vllm", "deepseek-ai/DeepSeek-R1").Opened == false || Of("groq", "deepseek-r1-distill-llama-70b").Opened {
		t.Error("who separates thoughts, and who leaves that to us, is mixed up")
	}
}

func TestTheTableCanBeRead(t *testing.T) {
	for _, r := range table {
		for pattern := range strings.FieldsSeq(r.models) {
			if _, err := path.Match(pattern, "x"); err != nil {
				t.Errorf("%s: %v", pattern, err)
			}
		}
		if r.Unasked && !r.Thinking {
			t.Errorf("%s: what thinks unasked can think", r.models)
		}
	}
}
