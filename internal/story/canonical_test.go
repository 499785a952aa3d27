package story

import (
	"testing"

	"github.com/tributary-ai/tributary/event"
)

func TestNamesReachInsideOtherStrings(t *testing.T) {
	const (
		run   = "0199f2c4-a7b1-7c3e-9d54-0c1f6f6f2b11"
		exec  = "11111111-a7b1-5c3e-9d54-0c1f6f6f2b11"
		below = "22222222-a7b1-5c3e-9d54-0c1f6f6f2b11"
		turn  = "msg_0123456789abcdefghijklmn"
		asked = "0123456789abcdef0123456789abcdef"
	)
	n := newNames(&Recording{Runs: []Run{{run, []event.Envelope{
		{Run: run, Event: event.NodeStarted{Execution: exec}},
		{Run: run, Event: event.TurnStarted{Turn: turn}},
		{Run: run, Event: event.InterruptRaised{ID: asked}},
	}}}})
	for _, c := range []struct{ text, want string }{
		{`"ns":"work:` + exec + `|tools:` + below + `"`, `"ns":"work:exec-1|tools:child-1"`},
		{`"rs_` + turn + `_0","fco_call_` + turn + `_2"`, `"rs_msg-1_0","fco_call_msg-1_2"`},
		{`{"` + asked + `":"` + run + `"}`, `{"interrupt-1":"run-1"}`},
		{below + turn + exec, "child-1msg-1exec-1"},
		{"call_1 " + asked + "0 beef", "call_1 " + asked + "0 beef"}, // not ids of ours
	} {
		if got := string(n.rename([]byte(c.text))); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}
