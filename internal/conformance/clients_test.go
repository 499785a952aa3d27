package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestUnmodifiedClients drives LangGraph's own JavaScript clients, from pinned packages, against the server: see the
// scripts in clients. They are what the API is judged by.
func TestUnmodifiedClients(t *testing.T) {
	needClients(t)
	for _, script := range []string{"usestream-legacy.mjs", "usestream-v2.mjs", "client.mjs", "socket.mjs", "trouble.mjs"} {
		t.Run(strings.TrimSuffix(script, ".mjs"), func(t *testing.T) {
			drive(t, script)
		})
	}
}

// drive runs a client against a server of its own.
func drive(t *testing.T, script string) {
	t.Helper()
	s := start(t, options{})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script, s.url)
	cmd.Dir = "clients"
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%v", err)
	}
}

// needClients installs the packages if they are not there. Without npm the test is skipped, unless somebody counts on it.
func needClients(t *testing.T) {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("CI") == "true" {
		skip = t.Fatalf
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip("LangGraph's clients need %s: %v", tool, err)
		}
	}
	if testing.Short() {
		t.Skip("takes a minute")
	}
	missing := false
	for _, file := range []string{"@langchain/langgraph-sdk/package.json", everything, judge, inspector, newer} {
		_, err := os.Stat("clients/node_modules/" + file)
		missing = missing || err != nil && (file != newer || runtime.GOOS == "linux" && runtime.GOARCH == "amd64")
	}
	if !missing {
		return
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = "clients"
	if out, err := cmd.CombinedOutput(); err != nil {
		skip("npm ci: %v\n%s", err, bytes.TrimSpace(out))
	}
}
