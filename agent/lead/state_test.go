package lead

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
)

func TestALedgerNeverForgetsThatWorkHasEnded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.SampledFrom([]event.Status{"running", event.Success, event.Failed, event.Cancelled, event.TimedOut})
		ended := map[string]bool{}
		var ledger []Delegation
		for range rapid.IntRange(1, 150).Draw(t, "writes") {
			d := Delegation{ID: fmt.Sprint(rapid.IntRange(0, 70).Draw(t, "id")), Status: status.Draw(t, "status")}
			before := reflect.ValueOf(ledger).Len()
			ledger = mergeDelegations(ledger, []Delegation{d})
			ended[d.ID] = ended[d.ID] || terminal(d.Status)
			if len(ledger) > mostDelegations || len(ledger) < before {
				t.Fatalf("%d lines after %d", len(ledger), before)
			}
		}
		seen := map[string]bool{}
		for _, d := range ledger {
			if seen[d.ID] {
				t.Fatalf("%s is there twice", d.ID)
			}
			seen[d.ID] = true
			// A line that was pushed out and came back is a new one.
			if ended[d.ID] && !terminal(d.Status) && len(seen) < mostDelegations && len(ended) <= mostDelegations {
				t.Fatalf("%s ended, and is %s", d.ID, d.Status)
			}
		}
	})
}

func TestFieldsHaveTheNamesThatClientsKnow(t *testing.T) {
	var got []string
	for _, f := range Fields() {
		got = append(got, f.Name())
	}
	want := "sandbox thread_data title artifacts todos goal uploaded_files viewed_images promoted delegations skill_context summary background_tasks approved_tools"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
}
