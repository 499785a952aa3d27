package runs

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

func TestHeadersBecomeConfigurableUnlessTheyAreSecret(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"X-User-Group": "staff", "X-Api-Key": "k1", "X-Auth-Token": "k2", "X-Goog-Api-Key": "k3", "Authorization": "k4", "Cookie": "k5",
		"X-Session-Id": "k6", "X-Csrf-Token": "k7", "X-Tenant-Id": "k8", "X-Service-Key": "k9", "X-Mine": "header", "User-Agent": "k10",
		"X-Long": strings.Repeat("k", 2000),
	} {
		h.Set(name, value)
	}
	got, err := withHeaders(json.RawMessage(`{"configurable":{"x-mine":"body","color":"red"},"tags":["t"]}`), h)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"configurable":{"color":"red","x-mine":"body","x-user-group":"staff"},"tags":["t"]}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStatusesAreLangGraphs(t *testing.T) {
	for status, want := range map[run.Status]string{
		run.Pending: "pending", run.Running: "running", run.Success: "success", run.Interrupted: "success", run.Cancelled: "interrupted",
		run.Failed: "error", run.TimedOut: "timeout",
	} {
		if got := statusWord(status); got != want {
			t.Errorf("%s is shown as %s, want %s", status, got, want)
		}
		back, err := statusesOf(want)
		if err != nil || len(back) == 0 {
			t.Errorf("%s cannot be asked for: %v", want, err)
		}
	}
}
