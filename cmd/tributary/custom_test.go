package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder runs commands one after the other on one data folder.
func inFolder(t *testing.T) (dir string, do func(code int, args []string, want ...string)) {
	t.Helper()
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(key, "")
	}
	dir = t.TempDir()
	return dir, func(code int, args []string, want ...string) {
		t.Helper()
		var out bytes.Buffer
		got := command(context.Background(), append([]string{"--data", dir}, args...), strings.NewReader(""), &out, &out)
		if got != code {
			t.Errorf("%q: exit code %d, want %d:\n%s", args, got, code, &out)
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%q does not say %q:\n%s", args, part, &out)
			}
		}
	}
}

func TestACustomAgentIsAssembledAndDelegatedTo(t *testing.T) {
	dir, do := inFolder(t)
	soul := filepath.Join(t.TempDir(), "soul.md")
	if err := os.WriteFile(soul, []byte("You speak of rivers only."), 0o600); err != nil {
		t.Fatal(err)
	}
	do(0, []string{"agents", "list"}, "There are no custom agents")
	do(0, []string{"agents", "create", "River", "--description", "Knows rivers.", "--soul", soul, "--tools", "files:read", "--skills=", "--temperature", "0.5"}, "river can be used at once")
	do(1, []string{"agents", "create", "river"}, "already")
	do(1, []string{"agents", "create", "user-x"}, "user-", "platform")
	do(0, []string{"agents", "list"}, "river", "files:read", "none", "Knows rivers.")
	do(0, []string{"agents", "show", "river"}, "You speak of rivers only.", "off: agent river has only the groups files:read", "You are river, an agent of tributary. Knows rivers.", "model_settings")
	do(0, []string{"agents", "show", "agent", "--set", "subagent_enabled=true"}, "\nriver ")
	if err := os.WriteFile(filepath.Join(dir, "agents", "local", "river", "config.yaml"), []byte("description: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	do(0, []string{"agents", "list"}, "cannot be used")
	do(0, []string{"agents", "show", "agent", "--set", "subagent_enabled=true"}, "general-purpose")
	do(1, []string{"agents", "show", "river"}, "config.yaml")
	do(0, []string{"agents", "delete", "river"}, "river is deleted")
	do(1, []string{"agents", "delete", "river"}, "there is no agent")
	do(1, []string{"agents", "show", "river"}, `there is no agent "river"`)
}
