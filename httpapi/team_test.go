package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// frame is what a client reads of a team's frame, or of an answer to a command.
type frame struct {
	Type, Expert, Phase, Status, Outcome, Delta, Cause, Command string
	Content, Message                                            string
	Sequence                                                    *int
	Attempt                                                     int
	Interrupt                                                   string `json:"interrupt_id"`
}

// serveTeam serves teams whose Ada waits until the gate is open.
func serveTeam(t *testing.T, gate <-chan struct{}) *world {
	m := scripted.New(func(req model.Request) scripted.Script {
		switch {
		case strings.HasPrefix(req.System, "You are ada,"):
			return scripted.Words("Rivers").Wait(gate).Words(" rise.")
		case strings.HasPrefix(req.System, "You are ben,"):
			return scripted.Words("Seas fall.")
		}
		return scripted.Words("Both are so.")
	})
	return serve(t, tributary.Options{Team: true, Models: tributary.OneModel(m)}, httpapi.Options{})
}

const asks = `{"question":"What does water do?","experts":[{"name":"ada","role":"rivers"},{"name":"ben","role":"seas"}]%s}`

func (w *world) startTeam(more string) string {
	w.Helper()
	res, body := w.call("POST", "/teams", fmt.Sprintf(asks, more))
	var got struct{ Run string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != http.StatusOK || got.Run == "" {
		w.Fatalf("POST /teams: %d %s", res.StatusCode, body)
	}
	return got.Run
}

func (w *world) dial(path string) *websocket.Conn {
	w.Helper()
	conn, _, err := websocket.Dial(w.Context(), "ws"+strings.TrimPrefix(w.server.URL, "http")+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	return conn
}

// next reads a message; ok is false when the server has closed the socket.
func (w *world) next(conn *websocket.Conn) (f frame, raw string, ok bool) {
	w.Helper()
	_, data, err := conn.Read(w.Context())
	if err != nil {
		if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			w.Fatalf("the socket ended with %v", err)
		}
		return f, "", false
	}
	if err := json.Unmarshal(data, &f); err != nil {
		w.Fatalf("%v: %s", err, data)
	}
	return f, string(data), true
}

func sseData(body string) (lines []string) {
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			lines = append(lines, data)
		}
	}
	return lines
}

func TestATeamIsFollowedOverSSEAndWebSocketAndGoesOnWhereItWasCut(t *testing.T) {
	gate := make(chan struct{})
	w := serveTeam(t, gate)
	run := w.startTeam("")
	conn := w.dial("/teams/" + run + "/ws")
	var got []string
	for { // until Ada waits
		f, raw, ok := w.next(conn)
		if !ok {
			t.Fatal("it ended")
		}
		got = append(got, raw)
		if f.Expert == "ada" && f.Delta != "" {
			break
		}
	}
	conn.CloseNow() // cut
	close(gate)
	conn = w.dial(fmt.Sprintf("/teams/%s/ws?after=%d", run, len(got)-1))
	defer conn.CloseNow()
	for {
		_, raw, ok := w.next(conn)
		if !ok {
			break
		}
		got = append(got, raw)
	}
	_, body := w.call("GET", "/teams/"+run+"/events", "")
	if whole := sseData(body); strings.Join(whole, "\n") != strings.Join(got, "\n") {
		t.Errorf("the stream that was cut is\n%s\nand the whole one\n%s", strings.Join(got, "\n"), strings.Join(whole, "\n"))
	}
	_, body = w.call("GET", "/teams/"+run+"/events", "", "Last-Event-ID", fmt.Sprint(len(got)-3))
	if rest := sseData(body); len(rest) != 2 || !strings.Contains(rest[1], "team_dissolved") {
		t.Errorf("after the last but two: %q", rest)
	}
	var last frame
	_ = json.Unmarshal([]byte(got[len(got)-1]), &last)
	if last.Type != "team_dissolved" || last.Outcome != "success" {
		t.Errorf("last %+v", last)
	}
	if res, body := w.call("GET", "/teams/"+run+"/events?after=100000", ""); res.StatusCode != http.StatusGone {
		t.Errorf("a number that it does not have: %d %s", res.StatusCode, body)
	}
	// The same run is a task, with its experts as tasks of their own.
	if _, body := w.call("GET", "/tasks/"+run, ""); !strings.Contains(body, `"views.ada"`) || !strings.Contains(body, `"Both are so."`) {
		t.Errorf("task %s", body)
	}
}

func TestAnExpertIsCancelledOverTheSocketAndTheTeamGoesOn(t *testing.T) {
	w := serveTeam(t, nil) // Ada never ends
	conn := w.dial("/teams/" + w.startTeam("") + "/ws")
	defer conn.CloseNow()
	say := func(message string) {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"type":"dance","id":7}`)
	replies := map[string]frame{}
	ada := ""
	for {
		f, raw, ok := w.next(conn)
		if !ok {
			break
		}
		switch {
		case f.Type == "refused" || f.Type == "accepted":
			replies[f.Command] = f
			if f.Command == "dance" && !strings.Contains(raw, `"id":7`) {
				t.Errorf("the reply has no id: %s", raw)
			}
		case f.Expert == "ada" && f.Delta != "":
			say(`{"type":"cancel_expert","expert":"ada","phase":"views"}`)
		case f.Type == "expert_result" && f.Expert == "ada":
			ada = f.Status + " " + f.Content
		case f.Type == "team_dissolved" && f.Outcome != "success":
			t.Errorf("the team: %s", raw)
		}
	}
	if replies["dance"].Type != "refused" || !strings.Contains(replies["dance"].Message, "cancel_expert") || replies["cancel_expert"].Type != "accepted" {
		t.Errorf("replies %+v", replies)
	}
	if ada != "cancelled Rivers" {
		t.Errorf("Ada's result is %q, want cancelled with what she had said", ada)
	}
}

func TestAReviewOfThePlanIsAnsweredAsATaskIs(t *testing.T) {
	gate := make(chan struct{})
	close(gate)
	w := serveTeam(t, gate)
	run := w.startTeam(`,"review":true`)
	_, body := w.call("GET", "/teams/"+run+"/events", "")
	var question frame
	for _, line := range sseData(body) {
		var f frame
		_ = json.Unmarshal([]byte(line), &f)
		if f.Type == "team_review" {
			question = f
		}
	}
	res, body := w.call("POST", "/tasks/"+run+"/input", fmt.Sprintf(`{"interrupt_id":%q,"value":"accept"}`, question.Interrupt))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	var next struct{ Task_ID string }
	_ = json.Unmarshal([]byte(body), &next)
	_, body = w.call("GET", "/teams/"+next.Task_ID+"/events", "")
	if lines := sseData(body); !strings.Contains(lines[0], "team_formed") || strings.Count(body, `"type":"expert_result"`) != 2 {
		t.Errorf("what follows is\n%s", body)
	}
}

func TestATeamThatCannotWorkIsRefusedByName(t *testing.T) {
	w := serveTeam(t, nil)
	for field, body := range map[string]string{
		"question": `{"question":" "}`,
		"mode":     `{"question":"x","mode":"war"}`,
		"experts":  `{"question":"x","experts":[{"name":"a"},{"name":"A"}]}`,
		"plan":     `{"question":"x","plan":[{"id":"a","depends_on":["b"]}]}`,
		"rounds":   `{"question":"x","mode":"debate","rounds":99}`,
		"budget":   `{"question":"x","budget":{"turns":-1}}`,
	} {
		res, answer := w.call("POST", "/teams", body)
		var problem struct{ Field string }
		_ = json.Unmarshal([]byte(answer), &problem)
		if res.StatusCode != http.StatusUnprocessableEntity || problem.Field != field {
			t.Errorf("%s: %d about %q, want 422 about %q: %s", body, res.StatusCode, problem.Field, field, answer)
		}
	}
	if res, body := w.call("POST", "/teams", `{"question":"x","assistant":"nobody"}`); res.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}
