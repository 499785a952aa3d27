package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A subscription is told how many events it is about to be told again.
func TestASubscriptionKnowsWhatIsReplayed(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	s.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"chat",`+hello+`}`)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.url, "http")+"/threads/"+thread+"/stream/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for i, channels := range []string{`["lifecycle"]`, `["lifecycle","values"]`} {
		ask := `{"id":` + string(rune('1'+i)) + `,"method":"subscription.subscribe","params":{"channels":` + channels + `}}`
		if err := conn.Write(ctx, websocket.MessageText, []byte(ask)); err != nil {
			t.Fatal(err)
		}
		// The run was told running and completed; its values, after the input and after the answer.
		want, told := 2+2*i, 0
		promised := -1
		for promised < 0 || told < promised {
			_, data, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("after %d of %d events: %v", told, promised, err)
			}
			var line struct {
				Type   string
				Result struct {
					Replayed *int `json:"replayed_events"`
				}
			}
			if err := json.Unmarshal(data, &line); err != nil {
				t.Fatal(err)
			}
			switch {
			case line.Result.Replayed != nil:
				promised = *line.Result.Replayed
			case line.Type == "event":
				told++
			}
		}
		if promised != want {
			t.Errorf("%s: %d events are announced, want %d", channels, promised, want)
		}
	}
}
