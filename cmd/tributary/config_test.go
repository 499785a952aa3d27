package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
)

func configured(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tributary.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(path, t.TempDir())
}

func TestTheRetryPolicyIsReadFromTheFile(t *testing.T) {
	c, err := configured(t, `retry:
  tries: 5
  backoff: 250ms
  max_wait: 20s
  first_timeout: 45s
  idle_timeout: 20m
  breaker_failures: -1
  breaker_rest: 1m
`)
	if err != nil {
		t.Fatal(err)
	}
	want := tributary.Retry{
		Tries: 5, Backoff: 250 * time.Millisecond, MaxWait: 20 * time.Second, FirstTimeout: 45 * time.Second, IdleTimeout: 20 * time.Minute,
		BreakerFailures: -1, BreakerRest: time.Minute,
	}
	if c.Retry != want {
		t.Errorf("got %+v", c.Retry)
	}
	// The models wait 45 seconds; the runtime, which does not see that they are alive, waits no less than usual.
	want.FirstTimeout = 0
	if got := c.options().Retry; got != want {
		t.Errorf("the runtime has %+v", got)
	}
}

func TestAWrongRetryPolicyIsRefusedByName(t *testing.T) {
	for text, says := range map[string]string{
		"retry:\n  tries: -1\n":                                              "retry.tries: must be between 1 and 100",
		"retry:\n  tries: many\n":                                            "line 2: tries: cannot read !!str `many` into int",
		"retry:\n  max_wait: -1s\n":                                          "retry.max_wait: must not be negative",
		"retry:\n  backoff: 5\n":                                             "line 2: backoff: cannot read !!int `5` into time.Duration",
		"retry:\n  backoff: 5ns\n":                                           "retry.backoff: 5ns is too short; give a unit, as in 30s",
		"retry:\n  first_timeout: soon\n":                                    "first_timeout: cannot read !!str `soon` into time.Duration",
		"retry:\n  breaker_rest: 48h\n":                                      "retry.breaker_rest: 48h0m0s is longer than a day",
		"retry:\n  attempts: 3\n":                                            `there is no setting "attempts"`,
		"models:\n  - name: a\n    context_window: big\n":                    "context_window: cannot read",
		"models:\n  - name: a\n    price: {input: cheap}\n    provider: x\n": "cannot read",
	} {
		if _, err := configured(t, text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}
