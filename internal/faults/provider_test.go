package faults_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// providerCase is a provider that fails, and what must come of it.
type providerCase struct {
	name   string
	faults []faults.Fault
	// class is that of the error that the run ends with; empty if it recovers. anthropic is the class where that provider's
	// words differ.
	class, anthropic string
	calls            int // that the provider must get
	pause            time.Duration
}

func thrice(f faults.Fault) []faults.Fault { return []faults.Fault{f, f, f} }

var providerCases = func() []providerCase {
	cases := []providerCase{
		{name: "slow", faults: []faults.Fault{{Kind: faults.Slow}}, calls: 1},
		{name: "slow down", faults: []faults.Fault{{Kind: faults.Status, Code: 429, RetryAfter: "2"}}, calls: 2, pause: 2 * time.Second},
		{name: "come back tomorrow", faults: []faults.Fault{{Kind: faults.Status, Code: 429, RetryAfter: "86400"}}, class: "model_rate_limit", calls: 1},
		{name: "three different", faults: []faults.Fault{{Kind: faults.Reset, After: 20}, {Kind: faults.Status, Code: 500}}, calls: 3},
	}
	// Faults that may pass: once, and then the run recovers; or every time, and it ends with their class.
	for _, f := range []struct {
		fault            faults.Fault
		class, anthropic string
	}{
		{faults.Fault{Kind: faults.Stall}, "model_timeout", ""},
		{faults.Fault{Kind: faults.Stall, After: 20}, "model_timeout", ""},
		{faults.Fault{Kind: faults.Reset}, "model_network", ""},
		{faults.Fault{Kind: faults.Reset, After: 20}, "model_network", ""},
		{faults.Fault{Kind: faults.Garbage, After: 20}, "model_broken", ""},
		{faults.Fault{Kind: faults.Cut, After: 20}, "model_broken", ""},
		{faults.Fault{Kind: faults.Inside, After: 20}, "model_server", "model_overloaded"},
		{faults.Fault{Kind: faults.Status, Code: 429}, "model_rate_limit", ""},
		{faults.Fault{Kind: faults.Status, Code: 500}, "model_server", ""},
		{faults.Fault{Kind: faults.Status, Code: 503}, "model_overloaded", ""},
		{faults.Fault{Kind: faults.Status, Code: 529}, "model_overloaded", ""},
	} {
		cases = append(cases,
			providerCase{name: f.fault.String() + " once", faults: []faults.Fault{f.fault}, calls: 2},
			providerCase{name: f.fault.String() + " always", faults: thrice(f.fault), class: f.class, anthropic: f.anthropic, calls: 3})
	}
	// Faults that do not pass are not tried again.
	for code, class := range map[int]string{400: "model_bad_request", 401: "model_auth", 403: "model_auth", 404: "model_not_found", 413: "model_too_large"} {
		f := faults.Fault{Kind: faults.Status, Code: code}
		cases = append(cases, providerCase{name: f.String(), faults: thrice(f), class: class, calls: 1})
	}
	return cases
}()

// TestProviderFaults lets the real program meet each fault of two providers. A fault that passes is recovered from, with the
// broken answer voided; one that does not ends the run with the right class after the last try.
func TestProviderFaults(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	p := startProvider(t)
	var models []modelEntry
	var cases []providerCase
	for _, provider := range []struct{ name, path string }{{"openai", "/v1"}, {"anthropic", ""}} {
		for _, c := range providerCases {
			if provider.name == "anthropic" && c.anthropic != "" {
				c.class = c.anthropic
			}
			// Each has a model of its own: a circuit breaker would make one suffer for another. Only a silent provider is
			// given up soon: another may be slow because this machine is.
			more := ""
			if c.silent() {
				more = ", first_timeout: 4s, idle_timeout: 4s"
			}
			models = append(models, modelEntry{fmt.Sprintf("%s%d", provider.name, len(models)), provider.name, p.URL() + provider.path, more})
			cases = append(cases, c)
		}
	}
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	models = append(models, modelEntry{"nobody", "openai", "http://" + refused.Addr().String() + "/v1", ""})
	cases = append(cases, providerCase{name: "refused", class: "model_network"})
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}

	w := newReal(t, p, models, "")
	l := load{
		runs:  len(cases),
		model: func(i int) string { return models[i].name },
		order: func(i int, key string) faults.Order {
			return faults.Order{Key: key, Words: 30, GapMS: 3, Faults: cases[i].faults}
		},
		wires: func(int) []faults.Dialect { return []faults.Dialect{faults.TaskSSE, faults.LangGraph} },
	}
	quiet := make(chan struct{})
	close(quiet)
	all := w.drive(ctx, l, quiet)
	for i := range all {
		all[i].Failed, all[i].WantCode = cases[i].class != "", cases[i].class
		all[i].AnyUsage = models[i].provider == "anthropic" // a broken call has told what its input cost
	}
	w.judge(ctx, all)
	for i, c := range cases {
		if all[i].err == nil {
			c.check(t, models[i].provider, p.Calls(all[i].Order.Key))
		}
	}
}

// silent says that the provider stalls.
func (c providerCase) silent() bool {
	return slices.ContainsFunc(c.faults, func(f faults.Fault) bool { return f.Kind == faults.Stall })
}

func (c providerCase) check(t *testing.T, provider string, calls []faults.Call) {
	t.Helper()
	name := provider + ", " + c.name
	if len(calls) != c.calls {
		t.Errorf("%s: the provider was called %d times, want %d", name, len(calls), c.calls)
		return
	}
	// How soon the next try comes is the machine's business; that it does not come too soon is ours.
	if c.pause > 0 {
		if waited := calls[1].At.Sub(calls[0].End); waited < c.pause-50*time.Millisecond {
			t.Errorf("%s: the next try came after %v, the provider had asked for %v", name, waited, c.pause)
		}
	}
}
