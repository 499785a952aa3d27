package tributary_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestARetryPolicyThatCannotBeMeantIsRefusedByName(t *testing.T) {
	for field, r := range map[string]tributary.Retry{
		"Retry.Tries":           {Tries: -1},
		"Retry.Backoff":         {Backoff: -time.Second},
		"Retry.MaxWait":         {MaxWait: 48 * time.Hour},
		"Retry.FirstTimeout":    {FirstTimeout: 30}, // thirty what?
		"Retry.IdleTimeout":     {IdleTimeout: 25 * time.Hour},
		"Retry.BreakerRest":     {BreakerRest: -1},
		"Retry.BreakerFailures": {BreakerFailures: 1 << 30},
	} {
		rt, err := tributary.Open(t.Context(), tributary.Options{Retry: r})
		if err == nil {
			_ = rt.Close(t.Context())
		}
		var bad *tributary.OptionError
		if !errors.As(err, &bad) || bad.Field != field || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: got %v, want an error that names %s", r, err, field)
		}
	}
	if err := (tributary.Retry{Backoff: time.Minute, MaxWait: time.Second}).Validate(); err == nil {
		t.Error("a first wait that is longer than the longest passes")
	}
	if err := (tributary.Retry{Tries: 100, FirstTimeout: -1, IdleTimeout: -1, BreakerFailures: -1, Backoff: time.Millisecond, MaxWait: 24 * time.Hour}).Validate(); err != nil {
		t.Error(err)
	}
}

// failing is a model that counts how often it is asked.
func failing(calls *int) model.Model {
	return scripted.New(func(model.Request) scripted.Script {
		*calls++
		return scripted.Fail(&model.Error{Class: model.Server, Provider: "acme", Message: "no luck"})
	})
}

func TestTheRetryPolicyIsFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		retry     tributary.Retry
		fallback  bool
		runs      int
		wantCalls int
		wantEnd   event.Status
	}{
		"two tries":           {tributary.Retry{Tries: 2, Backoff: time.Millisecond}, false, 1, 2, event.Failed},
		"one, then another":   {tributary.Retry{Tries: 1}, true, 1, 1, event.Success},
		"the breaker opens":   {tributary.Retry{Tries: 1, BreakerFailures: 1, BreakerRest: time.Hour}, false, 4, 1, event.Failed},
		"there is no breaker": {tributary.Retry{Tries: 1, BreakerFailures: -1}, false, 8, 8, event.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			opt := tributary.Options{Models: tributary.OneModel(failing(&calls)), Retry: c.retry}
			if c.fallback {
				opt.Models = tributary.OneModel(failing(&calls), scripted.Always(scripted.Say("I can.")))
			}
			rt, err := tributary.Open(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			defer rt.Close(t.Context())
			for range c.runs {
				for env, err := range rt.Stream(t.Context(), tributary.Request{Text: "hi"}) {
					if err != nil {
						t.Fatal(err)
					}
					if end, ok := env.Event.(event.RunEnded); ok && end.Status != c.wantEnd {
						t.Errorf("the run ended as %s", end.Status)
					}
				}
			}
			if calls != c.wantCalls {
				t.Errorf("asked %d times, want %d", calls, c.wantCalls)
			}
		})
	}
}
