package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// suiteCommit is the state of LangGraph's JS repository whose tests testdata/suite.txt lists.
const suiteCommit = "f8bdf16d4"

// suitePackages is what the tests import, and what runs them.
var suitePackages = []string{
	"@langchain/core@1.2.13", "@langchain/langgraph-sdk@1.12.0", "@langchain/langgraph@1.4.8", "vitest@3.2.7", "postgres@3.4.5", "wait-port@1.1.0",
}

// TestLangGraphsOwnSuite runs the API tests of LangGraph's JS server, unmodified but for the address, against ours, and
// holds the outcome to the list: what passes must go on passing, and what does not has its reason there. No npm package
// has these tests; LANGGRAPHJS names a clone of the repository that has. See README.md.
func TestLangGraphsOwnSuite(t *testing.T) {
	clone := os.Getenv("LANGGRAPHJS")
	if clone == "" {
		t.Skip("LANGGRAPHJS does not name a clone of LangGraph's JS repository")
	}
	needClients(t)
	s := start(t, options{likeJS: true, app: true})
	dir := t.TempDir()
	for _, name := range []string{"api.test.mts", "utils.mts", "schema-expectations.mts"} {
		source, err := exec.CommandContext(t.Context(), "git", "-C", clone, "show", suiteCommit+":libs/langgraph-api/tests/"+name).Output()
		if err != nil {
			t.Fatalf("%s of commit %s: %v", name, suiteCommit, err)
		}
		source = bytes.ReplaceAll(source, []byte("http://localhost:2024"), []byte(s.url))
		if err := os.WriteFile(filepath.Join(dir, name), source, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := func(name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=") // in CI the suite would start LangGraph's own server
		return cmd.CombinedOutput()
	}
	if out, err := command("npm", append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir}, suitePackages...)...); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	out, err := command("npx", "vitest", "run", "--root", dir, "--reporter=verbose", "--reporter=json", "--outputFile.json=result.json")
	t.Logf("%s", out)
	got := suiteResult(t, filepath.Join(dir, "result.json"), err)
	for name, want := range suiteList(t) {
		if got[name] != want {
			t.Errorf("%s: %s; listed as %s", name, orAbsent(got[name]), want)
		}
		delete(got, name)
	}
	for name, status := range got {
		t.Errorf("%s: %s; not listed", name, status)
	}
}

func orAbsent(status string) string {
	if status == "" {
		return "absent"
	}
	return status
}

// suiteResult returns the tests that ran, by name: passed, failed or skipped.
func suiteResult(t *testing.T, file string, ran error) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the suite left no result: %v; %v", ran, err)
	}
	var result struct {
		TestResults []struct {
			AssertionResults []struct {
				FullName string `json:"fullName"`
				Status   string `json:"status"`
			} `json:"assertionResults"`
		} `json:"testResults"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range result.TestResults {
		for _, a := range f.AssertionResults {
			out[a.FullName] = a.Status
		}
	}
	return out
}

// suiteList reads the list: lines "status name", where # begins a comment.
func suiteList(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/suite.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if status, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[strings.TrimSpace(name)] = status
		}
	}
	return out
}
