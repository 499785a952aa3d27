package lead

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tributary-ai/tributary/model"
)

// Run is what a run says of the agent that it wants.
type Run struct {
	Owner  string
	Thread string
	// ID is empty while the run has not been accepted: a mistake in its settings is then refused, and later told as a warning.
	ID string
	// Configurable and Context are objects, or empty. Inherited are the keys that come from the run's assistant.
	Configurable json.RawMessage
	Context      json.RawMessage
	Inherited    []string
}

// Settings are what a run asks for, read and checked. What it does not say is nil, empty or zero.
type Settings struct {
	Model    string // model_name, or model
	Thinking *bool  // thinking_enabled
	Effort   string // reasoning_effort

	Plan           *bool  // is_plan_mode
	Subagents      *bool  // subagent_enabled
	MaxConcurrent  int    // max_concurrent_subagents
	MaxTotal       int    // max_total_subagents
	Agent          string // agent_name
	Bootstrap      *bool  // is_bootstrap: an agent is to be made, which agent_name names
	NonInteractive *bool  // non_interactive
	Goal           string // goal
	As             string // subagent_type: the run is a piece of work for that sub-agent
	// NoClarification has questions answered with "use your best guess": disable_clarification.
	NoClarification *bool

	inherited []string // keys that are the assistant's
	raw       map[string]json.RawMessage
}

// setting is how one of them is read.
type setting struct {
	key  string
	into any
	want string // what it must be, for people
}

func (s *Settings) table() []setting {
	return []setting{
		{"model", &s.Model, "a text"}, {"model_name", &s.Model, "a text"}, // the second counts
		{"thinking_enabled", &s.Thinking, "true or false"}, {"reasoning_effort", &s.Effort, "a text"},
		{"is_plan_mode", &s.Plan, "true or false"}, {"subagent_enabled", &s.Subagents, "true or false"},
		{"max_concurrent_subagents", &s.MaxConcurrent, "a whole number"}, {"max_total_subagents", &s.MaxTotal, "a whole number"},
		{"agent_name", &s.Agent, "a text"}, {"is_bootstrap", &s.Bootstrap, "true or false"}, {SubagentKey, &s.As, "a text"}, {"goal", &s.Goal, "a text"},
		{"non_interactive", &s.NonInteractive, "true or false"}, {"disable_clarification", &s.NoClarification, "true or false"},
	}
}

// Keys are the settings that a run may give.
func Keys() []string {
	var out []string
	for _, e := range new(Settings).table() {
		out = append(out, e.key)
	}
	return out
}

// ReadSettings reads the settings of a run. A value of the wrong type is a [*model.WishError] that names it; keys that nobody
// knows are for others.
func ReadSettings(r Run) (Settings, error) {
	s := Settings{raw: map[string]json.RawMessage{}}
	for _, raw := range []json.RawMessage{r.Configurable, r.Context} { // the second counts
		var values map[string]json.RawMessage
		if json.Unmarshal(raw, &values) != nil {
			continue // a context may be anything
		}
		for k, v := range values {
			if !bytes.Equal(v, []byte("null")) {
				s.raw[k] = v
			}
		}
	}
	for _, k := range r.Inherited {
		if bytes.Equal(s.raw[k], valueOf(r.Configurable, k)) { // otherwise the context says something else
			s.inherited = append(s.inherited, k)
		}
	}
	for _, e := range s.table() {
		raw, said := s.raw[e.key]
		if !said || bytes.Equal(raw, []byte(`""`)) {
			continue
		}
		if err := json.Unmarshal(raw, e.into); err != nil {
			return s, &model.WishError{Setting: e.key, Reason: "must be " + e.want}
		}
	}
	for _, n := range []struct {
		key   string
		value *int
		most  int
	}{{"max_concurrent_subagents", &s.MaxConcurrent, 4}, {"max_total_subagents", &s.MaxTotal, 50}} {
		if _, said := s.raw[n.key]; said {
			*n.value = min(max(*n.value, 1), n.most)
		}
	}
	return s, nil
}

func valueOf(object json.RawMessage, key string) json.RawMessage {
	var values map[string]json.RawMessage
	if json.Unmarshal(object, &values) != nil {
		return nil
	}
	return values[key]
}

// own reports that the request itself, and not its assistant, gives the model.
func (s Settings) own() bool {
	if _, said := s.raw["model_name"]; said {
		return !slices.Contains(s.inherited, "model_name")
	}
	return !slices.Contains(s.inherited, "model")
}

// wish is what models are asked to choose from: the run's settings, with those of the agent where the run has none.
func (s Settings) wish(owner, name string, own bool, thinking *bool, effort string) (model.Wish, error) {
	values := map[string]any{}
	for k, v := range s.raw {
		values[k] = v
	}
	delete(values, "model")
	for k, v := range map[string]any{"model_name": name, "thinking_enabled": thinking, "reasoning_effort": effort} {
		if v == "" || v == (*bool)(nil) {
			delete(values, k)
			continue
		}
		values[k] = v
	}
	raw, err := json.Marshal(values)
	w := model.Wish{Owner: owner, Configurable: raw}
	if !own {
		w.Inherited = []string{"model_name"}
	}
	return w, err
}

func on(b *bool) bool { return b != nil && *b }
