package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/model"
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

func TestTheLimitsOfAnswersAreReadFromTheFile(t *testing.T) {
	c, err := configured(t, `answers: {text_bytes: 1, argument_bytes: 2, calls: 3, blocks: 4, data_bytes: 5, wire_bytes: 6, event_bytes: -1}
`)
	want := model.Limits{TextBytes: 1, ArgumentBytes: 2, Calls: 3, Blocks: 4, DataBytes: 5, WireBytes: 6, EventBytes: -1}
	if err != nil || c.Answers != want || c.options().Answers != want {
		t.Errorf("got %+v, %v; the runtime has %+v", c.Answers, err, c.options().Answers)
	}
}

func TestAWrongSettingIsRefusedByName(t *testing.T) {
	for text, says := range map[string]string{
		"retry:\n  tries: -1\n":                                              "retry.tries: must be between 1 and 100",
		"retry:\n  tries: many\n":                                            "line 2: tries: must be a whole number, not `many`",
		"retry:\n  max_wait: -1s\n":                                          "retry.max_wait: must not be negative",
		"retry:\n  backoff: 5\n":                                             "line 2: backoff: must be a length of time, as in 30s or 5m, not `5`",
		"retry:\n  backoff: 5ns\n":                                           "retry.backoff: 5ns is too short; give a unit, as in 30s",
		"retry:\n  first_timeout: soon\n":                                    "first_timeout: must be a length of time, as in 30s or 5m, not `soon`",
		"retry:\n  breaker_rest: 48h\n":                                      "retry.breaker_rest: 48h0m0s is longer than a day",
		"retry:\n  attempts: 3\n":                                            `there is no setting "attempts"`,
		"models:\n  - name: a\n    context_window: big\n":                    "context_window: must be a whole number, not `big`",
		"models:\n  - name: a\n    price: {input: cheap}\n    provider: x\n": "must be a number, not `cheap`",
		"origins: example.com\n":                                             "line 1: origins: must be a list, as in [one, two], not ",
		"system: [a]\n":                                                      "line 1: system: must be a text",
		"retry: often\n":                                                     "line 1: retry: must have settings of its own",
		"models:\n  - name: a\n    supports_vision: perhaps\n":               "supports_vision: must be true or false, not `perhaps`",
		"max_runs: -3\n":                                                     "max_runs must not be negative",
		"drain: -1s\n":                                                       "drain must not be negative",
		"max_attempts: -1\n":                                                 "max_attempts must not be negative",
		"max_steps: -1\n":                                                    "max_steps must not be negative",
		"run_timeout: -1s\n":                                                 "run_timeout must not be negative",
	} {
		if _, err := configured(t, text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}
