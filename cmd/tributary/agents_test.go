package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// shown is what a command prints.
func shown(t *testing.T, args ...string) (string, int) {
	t.Helper()
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(key, "")
	}
	var out, errs bytes.Buffer
	code := command(context.Background(), append([]string{"--data", t.TempDir()}, args...), strings.NewReader(""), &out, &errs)
	return out.String() + errs.String(), code
}

func TestAgentsShowSaysWhatIsAssembledAndWhy(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
		code int
	}{
		"the default":     {[]string{"agents", "show"}, []string{"offline: it is the default", "ask_clarification", "off: is_plan_mode is not set", "off: subagent_enabled is not set", "[role, "}, 0},
		"plan mode":       {[]string{"agents", "show", "agent", "--set", "is_plan_mode=true"}, []string{"write_todos", "[plan, "}, 0},
		"sub-agents":      {[]string{"agents", "show", "lead_agent", "--set", "subagent_enabled=true", "--set", "max_total_subagents=9"}, []string{"general-purpose", "researcher", "3 at once, 9 in a run"}, 0},
		"an unknown one":  {[]string{"agents", "show", "agent", "--set", "model=nonesuch"}, []string{"refused", "unknown_model", "cannot be had"}, 0},
		"no such agent":   {[]string{"agents", "show", "nobody"}, []string{`there is no agent "nobody"`}, 1},
		"no such setting": {[]string{"agents", "show", "agent", "--set", "colour=red"}, []string{`there is no setting "colour"`, "is_plan_mode"}, 1},
		"a wrong value":   {[]string{"agents", "show", "agent", "--set", "is_plan_mode=perhaps"}, []string{"is_plan_mode: must be true or false"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, code := shown(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("it does not say %q:\n%s", want, got)
				}
			}
		})
	}
}

func TestRulesOfTheConfigurationAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		config LeadConfig
		want   string
	}{
		"a risk that is none":      {LeadConfig{Approvals: []ApprovalConfig{{Risk: "explodes"}}}, `there is no risk "explodes"`},
		"a verdict that is none":   {LeadConfig{Approvals: []ApprovalConfig{{Do: "perhaps"}}}, `allow, ask or deny`},
		"nobody can be asked":      {LeadConfig{Unattended: "ask"}, "allowed or denied"},
		"a rule without a do asks": {LeadConfig{Approvals: []ApprovalConfig{{Tool: "bash"}}}, ""},
	} {
		r, err := c.config.rules()
		if c.want == "" && (err != nil || r.List[0].Do != "ask") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %+v, %v; want %q", name, r, err, c.want)
		}
	}
}
