package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Settings are what a run may ask for. Their JSON names are those of DeerFlow, whose clients send them. A field that is
// zero means the default that stands beside it.
type Settings struct {
	// Locale is the language of the report, as in "en-US" or "zh-CN"; empty: that of the question.
	Locale string `json:"locale,omitempty"`
	// Style is one of [Styles]: academic.
	Style string `json:"report_style,omitempty"`
	// MaxPlanIterations is how many rounds of planning and research there may be: 3.
	MaxPlanIterations int `json:"max_plan_iterations,omitempty"`
	// MaxSteps is how many steps one round may have: 3.
	MaxSteps int `json:"max_step_num,omitempty"`
	// MaxSearchResults is how many results one search may bring: 6.
	MaxSearchResults int `json:"max_search_results,omitempty"`
	// AutoAccept carries plans out without asking anybody.
	AutoAccept bool `json:"auto_accepted_plan,omitempty"`
	// Background searches once before the plan is made: true.
	Background *bool `json:"enable_background_investigation,omitempty"`
	// WebSearch lets the researcher use tools of the group "web": true.
	WebSearch *bool `json:"enable_web_search,omitempty"`
	// Clarify lets the coordinator ask what is meant, MaxClarifications times: 3.
	Clarify           bool `json:"enable_clarification,omitempty"`
	MaxClarifications int  `json:"max_clarification_rounds,omitempty"`
	// DeepThinking has the planner think before it plans.
	DeepThinking bool `json:"enable_deep_thinking,omitempty"`
	// Parallel is how many steps that do not wait for each other are worked on at once: 1.
	Parallel int `json:"parallel_steps,omitempty"`
	// MaxTokens is how many tokens all steps may take together, and MaxSeconds how long they may be worked on; 0: no such
	// limit. What is used up ends the search: the report is written with what was found.
	MaxTokens  int `json:"max_research_tokens,omitempty"`
	MaxSeconds int `json:"max_research_seconds,omitempty"`
}

// Styles are the ways in which a report can be written.
var Styles = []string{"academic", "popular_science", "news", "social_media", "strategic_investment"}

// SettingError says which setting cannot be used.
type SettingError struct {
	Field  string // its JSON name
	Reason string
}

func (e *SettingError) Error() string { return e.Field + ": " + e.Reason }

// ReadSettings reads objects of settings, later ones over earlier ones and all over base. Other members of the objects are
// none of its business, nor are those that are null.
func ReadSettings(base Settings, objects ...json.RawMessage) (Settings, error) {
	s := base
	for _, raw := range objects {
		var members map[string]json.RawMessage
		if len(raw) == 0 || json.Unmarshal(raw, &members) != nil {
			continue // a context may be anything
		}
		for name, value := range members {
			if err := s.read(name, value); err != nil {
				return s, err
			}
		}
	}
	return s, s.validate()
}

func (s *Settings) read(name string, value json.RawMessage) error {
	targets := map[string]any{
		"locale": &s.Locale, "report_style": &s.Style, "max_plan_iterations": &s.MaxPlanIterations, "max_step_num": &s.MaxSteps,
		"max_search_results": &s.MaxSearchResults, "auto_accepted_plan": &s.AutoAccept, "enable_background_investigation": &s.Background,
		"enable_web_search": &s.WebSearch, "enable_clarification": &s.Clarify, "max_clarification_rounds": &s.MaxClarifications,
		"enable_deep_thinking": &s.DeepThinking, "parallel_steps": &s.Parallel,
		"max_research_tokens": &s.MaxTokens, "max_research_seconds": &s.MaxSeconds,
	}
	target, known := targets[name]
	if !known || string(value) == "null" {
		return nil
	}
	if err := json.Unmarshal(value, target); err != nil {
		return &SettingError{name, fmt.Sprintf("%s cannot be used here", value)}
	}
	return nil
}

func (s *Settings) validate() error {
	for _, f := range []struct {
		name      string
		value     *int
		usual     int
		low, high int
	}{
		{"max_plan_iterations", &s.MaxPlanIterations, 3, 1, 20},
		{"max_step_num", &s.MaxSteps, 3, 1, 50},
		{"max_search_results", &s.MaxSearchResults, 6, 1, 50},
		{"max_clarification_rounds", &s.MaxClarifications, 3, 1, 10},
		{"parallel_steps", &s.Parallel, 1, 1, 16},
		{"max_research_tokens", &s.MaxTokens, 0, 0, 1_000_000_000},
		{"max_research_seconds", &s.MaxSeconds, 0, 0, 7 * 24 * 3600},
	} {
		if *f.value = cmp.Or(*f.value, f.usual); *f.value < f.low || *f.value > f.high {
			return &SettingError{f.name, fmt.Sprintf("must be between %d and %d, not %d", f.low, f.high, *f.value)}
		}
	}
	s.Style = strings.ToLower(cmp.Or(s.Style, Styles[0]))
	if !slices.Contains(Styles, s.Style) {
		return &SettingError{"report_style", fmt.Sprintf("must be one of %s, not %q", strings.Join(Styles, ", "), s.Style)}
	}
	if len(s.Locale) > 35 || strings.ContainsFunc(s.Locale, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return &SettingError{"locale", fmt.Sprintf("must be a language such as en-US or zh-CN, not %q", s.Locale)}
	}
	return nil
}

// on reads a switch that is on unless it was turned off.
func on(b *bool) bool { return b == nil || *b }

// chinese reports that a locale is written in Chinese characters.
func chinese(locale string) bool { return strings.HasPrefix(strings.ToLower(locale), "zh") }
