package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ownTools are the tools that providers run themselves, by the names that this package knows them by, as each API spells them.
var ownTools = map[string]map[string]string{
	"anthropic": {
		"web_search":     `{"type":"web_search_20250305","name":"web_search"}`,
		"web_fetch":      `{"type":"web_fetch_20250910","name":"web_fetch"}`,
		"code_execution": `{"type":"code_execution_20250825","name":"code_execution"}`,
	},
	"openai-responses": {
		"web_search":       `{"type":"web_search"}`,
		"code_execution":   `{"type":"code_interpreter","container":{"type":"auto"}}`,
		"image_generation": `{"type":"image_generation"}`,
	},
	"gemini": {
		"web_search":     `{"googleSearch":{}}`,
		"web_fetch":      `{"urlContext":{}}`,
		"code_execution": `{"codeExecution":{}}`,
	},
}

// betas are what Anthropic wants to be told in a header before it offers some of its tools, by the beginning of their types.
var betas = []struct{ typ, beta string }{
	{"web_fetch_2025", "web-fetch-2025-09-10"},
	{"code_execution_2025", "code-execution-2025-08-25"},
}

// ProviderTools are the names of the tools that a provider runs itself, as [Config] may give them, in order.
func ProviderTools(provider string) []string { return slices.Sorted(maps.Keys(ownTools[provider])) }

// providerTools are the tools of a Config, as the provider's API spells them.
func providerTools(c Config) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for i, t := range c.Tools {
		switch t := t.(type) {
		case string:
			spelled, ok := ownTools[c.Provider][t]
			if !ok {
				return nil, fmt.Errorf("%s has no tool %q that is known here%s; give it as an object, in the words of the provider's API", c.Provider, t, only(ProviderTools(c.Provider)))
			}
			out = append(out, json.RawMessage(spelled))
		case map[string]any:
			raw, err := json.Marshal(t)
			if err != nil {
				return nil, fmt.Errorf("tool %d: %w", i+1, err)
			}
			out = append(out, raw)
		default:
			return nil, fmt.Errorf("tool %d must be a name, as in web_search, or an object", i+1)
		}
	}
	return out, nil
}

func only(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", only " + strings.Join(names, ", ")
}

// askForBetas adds the header without which Anthropic refuses some of its tools.
func askForBetas(headers map[string]string, tools []json.RawMessage) map[string]string {
	for name := range headers {
		if strings.EqualFold(name, "Anthropic-Beta") {
			return headers // somebody knows better
		}
	}
	var wanted []string
	for _, raw := range tools {
		var t struct{ Type string }
		_ = json.Unmarshal(raw, &t) // what has no type needs no beta
		for _, b := range betas {
			if strings.HasPrefix(t.Type, b.typ) && !slices.Contains(wanted, b.beta) {
				wanted = append(wanted, b.beta)
			}
		}
	}
	if len(wanted) == 0 {
		return headers
	}
	all := map[string]string{"Anthropic-Beta": strings.Join(wanted, ",")}
	maps.Copy(all, headers)
	return all
}
