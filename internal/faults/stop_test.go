package faults_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	runs "github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// TestStoppedWhileItTakesUpWhatWasLeft stops the program a moment after it has found 1,500 runs of a process that died. It used
// to give them back and claim them again, for minutes at full CPU, with millions of lines in its log.
func TestStoppedWhileItTakesUpWhatWasLeft(t *testing.T) {
	const left = 1500
	p := startProvider(t)
	// A server makes the folder, so that it has its assistants.
	w := newReal(t, p, []modelEntry{{name: "mock", provider: "openai", baseURL: p.URL() + "/v1"}}, "drain: 5s\n")
	if err := w.host.stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	leave(t, w.data, left)
	before := strings.Count(w.host.log.String(), "\n")
	w.host.mustStart(t)
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	if err := w.host.stop(2 * time.Minute); err != nil {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	lines := strings.Count(w.host.log.String(), "\n") - before
	s := statuses(t, w.data)
	t.Logf("it ended after %v with %d lines; the runs are %v", time.Since(began).Round(time.Millisecond), lines, s)
	if lines > 500 {
		t.Errorf("it wrote %d lines", lines)
	}
	if s[runs.Pending]+s[runs.Running]+s[runs.Success] != left {
		t.Errorf("of %d runs there are %v", left, s)
	}
}

// leave fills a folder with runs of a process that died.
func leave(t *testing.T, data string, n int) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), data, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range n {
		input := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, fmt.Sprintf(`{"key":"left%d","words":200,"gap_ms":20}`, i))
		_, err := db.CreateRun(t.Context(), server.Local, runs.NewRun{
			ID: fmt.Sprint("left-", i), Thread: fmt.Sprint("thread-", i), At: time.Now(), Worker: runs.LocalNode + "/dead", Lease: time.Hour,
			Request: runs.Request{Assistant: "agent", Graph: "agent", CreateThread: true, Input: json.RawMessage(input)},
		})
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(data), err)
		}
	}
}
