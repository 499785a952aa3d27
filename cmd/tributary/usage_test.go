package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestUsageTellsWhatRunsHaveSpent(t *testing.T) {
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(key, "")
	}
	dir := t.TempDir()
	say := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := command(context.Background(), append([]string{"--data", dir}, args...), strings.NewReader(""), &out, &errs)
		return out.String() + errs.String(), code
	}
	if got, code := say("usage"); code != 1 || !strings.Contains(got, "there are no runs yet") {
		t.Errorf("before any run: %d, %s", code, got)
	}
	if got, code := say("chat", "count to three"); code != 0 {
		t.Fatal(got)
	}
	got, code := say("usage", "--since", "1h")
	for _, want := range []string{"cost", "all", "model offline", "agent agent", "thread "} {
		if code != 0 || !strings.Contains(got, want) {
			t.Errorf("usage says, with code %d, nothing of %q:\n%s", code, want, got)
		}
	}
	if got, code := say("usage", "--thread", "none"); code != 1 || !strings.Contains(got, "not found") {
		t.Errorf("a thread that there is not: %d, %s", code, got)
	}
}
