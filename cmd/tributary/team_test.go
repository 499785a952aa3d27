package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

// Without a key and without a network, a team looks at the documents in three ways, each with citations, and the lead answers.
func TestATeamGivesThreeDifferentCitedViewsAndASynthesisOffline(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := command(context.Background(), []string{"--data", t.TempDir(), "team", "How does crash recovery work?"}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	parts := strings.Split("\n"+out.String(), "\n## ")[1:]
	if len(parts) != 4 || !strings.HasPrefix(parts[3], "The team") {
		t.Fatalf("%d parts, want three views and the team's:\n%s", len(parts), out.String())
	}
	marks := regexp.MustCompile(`“([^”]+)” \[\^\d+\]`)
	views := map[string]string{}
	for _, part := range parts {
		name, text, _ := strings.Cut(part, "\n")
		quotes := marks.FindAllString(text, -1)
		if len(quotes) < 2 {
			t.Errorf("%s cites %d times:\n%s", name, len(quotes), text)
		}
		key := strings.Join(quotes, "\n")
		if other, same := views[key]; same {
			t.Errorf("%s and %s say the same:\n%s", name, other, text)
		}
		views[key] = name
	}
	if !regexp.MustCompile(`(?m)^\[\d+\] .+\.md`).MatchString(errs.String()) {
		t.Errorf("no sources are named:\n%s", errs.String())
	}
}

func TestATeamOfGivenExpertsIsAskedAboutItsPlanOnTheTerminal(t *testing.T) {
	t.Parallel()
	args := func(dir string) []string {
		return []string{"--data", dir, "team", "--review", "--mode", "discuss", "--rounds", "1", "--experts", "skeptic,lawyer: licences", "What is a journal?"}
	}
	var out, errs bytes.Buffer
	if code := command(context.Background(), args(t.TempDir()), strings.NewReader("accept\n"), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	for _, want := range []string{"## Skeptic (what can fail or be lost)", "## lawyer (licences)", "## The team"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	if code := command(context.Background(), args(t.TempDir()), strings.NewReader("reject\n"), &out, &errs); code != 0 || !strings.Contains(out.String(), "not accepted") || strings.Contains(out.String(), "lawyer") {
		t.Errorf("after a refusal, exit %d:\n%s", code, out.String())
	}
	if code := command(context.Background(), []string{"--data", t.TempDir(), "team", "--experts", "a,A", "x"}, strings.NewReader(""), &out, &errs); code != 1 || !strings.Contains(errs.String(), "two members") {
		t.Errorf("two of one name, exit %d: %s", code, errs.String())
	}
}
