// Package known says what models can do, by their names.
//
// # Laws
//
//   - All that is known is in one table, in this file. The first row that fits a model counts.
//   - Of a model that is in no row nothing is known: it is not asked to think, and is sent whatever a request says.
//   - What a configuration says of a model counts before what is known of it.
package known

import (
	"path"
	"strings"
)

// Abilities are what is known of a model.
type Abilities struct {
	Thinking bool // can be asked to think
	Unasked  bool // thinks in any case
	NoEffort bool // cannot be told how hard to think
	NoTemp   bool // refuses a temperature
	Opened   bool // its prompt ends with <think>, so that its answer begins inside of what it thought
	Blind    bool // takes no pictures
	Window   int  // tokens that fit; 0 if not known
}

// row is what is known of the models whose names fit a pattern of [path.Match].
type row struct {
	providers string // who serves them, separated by spaces; empty for whoever does
	models    string // patterns, separated by spaces; a name's path ("org/name") is not part of what they look at
	Abilities
}

// table was written from what we know of the providers' models, and nobody here could ask them: an entry of the configuration
// says otherwise where one is wrong, and "tributary models check" finds out. Providers that serve the models of others, as OpenRouter does,
// put a path before the name.
var table = []row{
	// OpenAI. The chat variants of gpt-5 do not think; o1-mini and o1-preview cannot be told how hard.
	{"", "gpt-5*-chat* gpt-6*-chat*", Abilities{Window: 128_000}},
	{"", "o1-mini* o1-preview*", Abilities{Thinking: true, Unasked: true, NoEffort: true, NoTemp: true, Blind: true, Window: 128_000}},
	{"", "o3-mini*", Abilities{Thinking: true, Unasked: true, NoTemp: true, Blind: true, Window: 200_000}},
	{"", "o1 o1-* o3 o3-* o4-*", Abilities{Thinking: true, Unasked: true, NoTemp: true, Window: 200_000}},
	{"", "gpt-5* gpt-6*", Abilities{Thinking: true, Unasked: true, NoTemp: true, Window: 400_000}},
	{"", "codex-*", Abilities{Thinking: true, Unasked: true, NoTemp: true, Window: 200_000}},
	{"", "gpt-4.1*", Abilities{Window: 1_047_576}},
	{"", "gpt-4o*", Abilities{Window: 128_000}},
	{"", "gpt-oss*", Abilities{Thinking: true, Unasked: true, Blind: true, Window: 131_072}},

	// DeepSeek. Its own service separates what was thought; R1 on a server of one's own begins with it.
	{"deepseek", "deepseek-reasoner*", Abilities{Thinking: true, Unasked: true, NoEffort: true, NoTemp: true, Blind: true, Window: 131_072}},
	{"deepseek", "deepseek-chat*", Abilities{Thinking: true, NoEffort: true, Blind: true, Window: 131_072}},
	{"openrouter groq together fireworks", "deepseek-r1*", Abilities{Thinking: true, Unasked: true, Blind: true}},
	{"", "deepseek-r1* deepseek-reasoner*", Abilities{Thinking: true, Unasked: true, NoEffort: true, Opened: true, Blind: true}},

	// Kimi. The thinking models want the temperature that they are made for.
	{"", "kimi-k2-thinking* kimi-thinking*", Abilities{Thinking: true, Unasked: true, NoEffort: true, NoTemp: true, Blind: true, Window: 262_144}},
	{"", "kimi-k2.[5-9]*", Abilities{Thinking: true, NoEffort: true, NoTemp: true, Window: 262_144}},
	{"", "kimi-k2*", Abilities{Blind: true, Window: 131_072}},

	// Qwen.
	{"", "qwq* qwen3*-thinking*", Abilities{Thinking: true, Unasked: true, NoEffort: true, Opened: true}},
	{"qwen", "qwen3* qwen-plus* qwen-turbo* qwen-flash*", Abilities{Thinking: true, NoEffort: true}},

	// xAI. grok-4 thinks unasked and cannot be told how hard; grok-3-mini can.
	{"", "grok-3-mini*", Abilities{Thinking: true, Unasked: true, Blind: true, Window: 131_072}},
	{"", "grok-4*-non-reasoning*", Abilities{}},
	{"", "grok-4*", Abilities{Thinking: true, Unasked: true, NoEffort: true}},

	// Perplexity.
	{"", "sonar-reasoning*", Abilities{Thinking: true, Unasked: true, NoEffort: true}},

	// Anthropic. How Claude is asked to think is its package's business.
	{"", "claude-opus-4-[7-9]*", Abilities{Thinking: true, NoTemp: true, Window: 200_000}},
}

// Of returns what is known of a provider's model.
func Of(provider, model string) Abilities {
	model = strings.ToLower(model)
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, r := range table {
		if r.fits(provider, model) {
			return r.Abilities
		}
	}
	return Abilities{}
}

func (r row) fits(provider, model string) bool {
	if r.providers != "" && !contains(r.providers, func(p string) bool { return p == provider }) {
		return false
	}
	return contains(r.models, func(pattern string) bool {
		ok, _ := path.Match(pattern, model) // a test reads all patterns
		return ok
	})
}

func contains(list string, is func(string) bool) bool {
	for one := range strings.FieldsSeq(list) {
		if is(one) {
			return true
		}
	}
	return false
}
