package faults_test

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// sockets sends frames that nobody should send, each over a connection of its own.
func (w *world) sockets(ctx context.Context, names map[string]string) {
	w.t.Helper()
	frames := append(append([]string{}, garbage...), heavy()...)
	for name, k := range badRoutes["POST /threads/{thread_id}/commands"].fields {
		for _, v := range wrong[k] {
			frames = append(frames, member(`{"id":1,"method":"state.get"}`, name, v))
		}
	}
	for _, method := range []string{"nonsense", "run.start", "input.respond", "subscription.subscribe", "subscription.unsubscribe"} {
		for _, params := range []string{`null`, `7`, `"x"`, `[]`, `{}`, `{"channels":7}`, `{"channels":["nonsense"]}`, `{"assistant_id":7}`, `{"assistant_id":"nobody"}`, `{"interrupt_id":"x","response":1}`, `{"responses":7}`} {
			frames = append(frames, `{"id":1,"method":"`+method+`","params":`+params+`}`)
		}
	}
	frames = append(frames, `[`+strings.Repeat(" ", 11<<20)+`]`)
	for _, frame := range frames {
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			if problem := w.frame(ctx, "/threads/"+names["thread_id"]+"/stream/events", frame, kind); problem != "" {
				w.t.Errorf("protocol 2, %.100s: %s", frame, problem)
			}
			if kind == websocket.MessageBinary || len(frame) > 100 {
				break // once is enough
			}
		}
	}
	for _, frame := range []string{`{}`, garbage[0], frames[len(frames)-1]} {
		if problem := w.frame(ctx, "/tasks/"+names["id"]+"/ws", frame, websocket.MessageText); problem != "" {
			w.t.Errorf("tasks, %.100s: %s", frame, problem)
		}
	}
}

// frame sends a message and tells what is wrong with what comes back: an error of the protocol, or a close that is the client's fault.
func (w *world) frame(ctx context.Context, path, frame string, kind websocket.MessageType) (problem string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(w.host.base(), "http")+path, &websocket.DialOptions{HTTPClient: w.host.client})
	if err != nil {
		return err.Error()
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 24)
	_ = conn.Write(ctx, kind, []byte(frame)) // it may be refused before it is all sent
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			switch websocket.CloseStatus(err) {
			case websocket.StatusPolicyViolation, websocket.StatusMessageTooBig, websocket.StatusInvalidFramePayloadData, websocket.StatusUnsupportedData, websocket.StatusNormalClosure:
				return ""
			}
			if strings.Contains(err.Error(), "reset by peer") && len(frame) > 1<<20 {
				return ""
			}
			return err.Error()
		}
		if leak := inside.Find(data); leak != nil && strings.Contains(path, "/threads/") {
			return "it tells of its inside, " + string(leak) + ": " + string(data)
		}
		var answer struct{ Type, Error, Message string }
		if json.Unmarshal(data, &answer) != nil {
			return "no JSON: " + string(data)
		}
		switch {
		case strings.Contains(path, "/tasks/"): // events; the close is what counts
		case answer.Type == "error" && answer.Error != "" && answer.Message != "":
			return ""
		case answer.Type != "event":
			return "accepted: " + string(data)
		}
	}
}
