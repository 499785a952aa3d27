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

// obey has a team do something, over HTTP or over a socket of its own.
func (w *world) obey(over, run, command string) (accepted bool, raw string) {
	w.Helper()
	if over == "POST" {
		res, body := w.call("POST", "/teams/"+run+"/commands", command)
		return res.StatusCode == http.StatusOK, body
	}
	conn := w.dial("/teams/" + run + "/ws")
	defer conn.CloseNow()
	if err := conn.Write(w.Context(), websocket.MessageText, []byte(command)); err != nil {
		w.Fatal(err)
	}
	for {
		f, raw, ok := w.next(conn)
		if !ok {
			w.Fatalf("the socket was closed before it answered %s", command)
		}
		if f.Type == "accepted" || f.Type == "refused" {
			return f.Type == "accepted", raw
		}
	}
}

// Every command means the same on the socket and as a request.
func TestATeamIsSpokenToStoppedAndAnsweredOverSocketAndHTTPAlike(t *testing.T) {
	for _, over := range []string{"POST", "WebSocket"} {
		t.Run(over, func(t *testing.T) {
			gate := make(chan struct{})
			heard := make(chan string, 10)
			m := scripted.New(func(req model.Request) scripted.Script {
				last := req.Messages[len(req.Messages)-1]
				switch {
				case !strings.HasPrefix(req.System, "You are "):
					return scripted.Words("Both are so.")
				case strings.HasPrefix(last.ID, "spoken_"):
					heard <- last.Text()
					return scripted.Words("I heed that.")
				case strings.HasPrefix(req.System, "You are ben,"):
					return scripted.Words("Seas").Stall()
				}
				return scripted.Words("Rivers").Wait(gate).Words(" rise.")
			})
			w := serve(t, tributary.Options{Team: true, Models: tributary.OneModel(m)}, httpapi.Options{})
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
			for command, why := range map[string]string{
				`{"type":"speak","text":"hm"}`:                                "nobody",
				`{"type":"speak","text":" "}`:                                 "text",
				`{"type":"answer","value":1}`:                                 "interrupt_id",
				`{"type":"answer","interrupt_id":"x"}`:                        "value",
				`{"type":"answer","interrupt_id":"x","value":"accept"}`:       "not pending",
				`{"type":"cancel_expert","expert":"ada"}`:                     "phase",
				`{"type":"cancel_expert","expert":"ada","phase":"views"}`:     "ended",
				`{"type":"dance"}`:                                            "speak, cancel_expert, cancel, answer",
				`{"type":"speak","txt":"hm"}`:                                 "txt",
				`{"type":"speak","text":"hm","message_id":"not an id, this"}`: "message_id",
			} {
				if ok, raw := w.obey(over, run, command); ok || !strings.Contains(raw, why) {
					t.Errorf("%s: %s, want it refused because of %q", command, raw, why)
				}
			}
			ok, raw := w.obey(over, run, fmt.Sprintf(`{"type":"answer","interrupt_id":%q,"value":"accept","id":"a"}`, question.Interrupt))
			var reply struct {
				ID   string
				Next struct{ Run, Events, Ws string }
			}
			if err := json.Unmarshal([]byte(raw), &reply); !ok || err != nil || reply.ID != "a" || reply.Next.Run == "" || reply.Next.Ws != "/teams/"+reply.Next.Run+"/ws" {
				t.Fatalf("the answer: %v %s", err, raw)
			}
			if ok, raw := w.obey("POST", run, fmt.Sprintf(`{"type":"answer","interrupt_id":%q,"value":"accept"}`, question.Interrupt)); ok {
				t.Errorf("answered twice: %s", raw)
			}
			run = reply.Next.Run
			conn := w.dial(reply.Next.Ws)
			defer conn.CloseNow()
			said := map[string]bool{}
			ben, words := "", 0
			for {
				f, raw, more := w.next(conn)
				if !more {
					break
				}
				switch {
				case f.Delta != "" && f.Expert != "" && !said[f.Expert]:
					said[f.Expert] = true
					command := `{"type":"cancel_expert","expert":"ben","phase":"views"}`
					if f.Expert == "ada" {
						if ok, raw := w.obey(over, run, `{"type":"speak","expert":"nobody","text":"x"}`); ok || !strings.Contains(raw, "ada, ben") {
							t.Errorf("words for nobody: %s", raw)
						}
						command = `{"type":"speak","expert":"ada","text":"Mind the tides.","message_id":"w1"}`
						if ok, raw := w.obey(over, run, command); !ok { // and once more, as one who got no reply
							t.Errorf("%s: %s", command, raw)
						}
					}
					if ok, raw := w.obey(over, run, command); !ok {
						t.Errorf("%s: %s", command, raw)
					}
					if f.Expert == "ada" {
						close(gate)
					}
				case f.Type == "team_spoken":
					words++
				case f.Type == "expert_result" && f.Expert == "ben":
					ben = f.Status + " " + f.Content
				case f.Type == "expert_result" && f.Content != "I heed that.":
					t.Errorf("ada's result: %s", raw)
				}
			}
			if got := <-heard; got != "Mind the tides." || words != 1 || len(heard) != 0 {
				t.Errorf("ada heard %q, and %d frames tell of it; want it once", got, words)
			}
			if ben != "cancelled Seas" {
				t.Errorf("ben: %q", ben)
			}
			if ok, raw := w.obey("POST", run, `{"type":"speak","text":"still there?"}`); ok || !strings.Contains(raw, "nobody") {
				t.Errorf("words for a team that has ended: %s", raw)
			}
		})
	}
}

// Who reads a team's question on a socket may answer it there: the socket waits.
func TestAReviewIsAnsweredOnTheSocketThatShowedIt(t *testing.T) {
	gate := make(chan struct{})
	close(gate)
	w := serveTeam(t, gate)
	conn := w.dial("/teams/" + w.startTeam(`,"review":true`) + "/ws")
	defer conn.CloseNow()
	asked, next := "", ""
	for {
		f, raw, ok := w.next(conn)
		if !ok {
			break
		}
		switch f.Type {
		case "team_review":
			asked = f.Interrupt
		case "team_dissolved":
			if err := conn.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"type":"answer","interrupt_id":%q,"value":"accept"}`, asked)); err != nil {
				t.Fatal(err)
			}
		case "accepted", "refused":
			var reply struct{ Next struct{ Events string } }
			if err := json.Unmarshal([]byte(raw), &reply); err != nil || f.Type == "refused" {
				t.Fatalf("%v %s", err, raw)
			}
			next = reply.Next.Events
		}
	}
	if next == "" {
		t.Fatal("the socket was closed before the question was answered")
	}
	if _, body := w.call("GET", next, ""); strings.Count(body, `"type":"expert_result"`) != 2 {
		t.Errorf("what follows is\n%s", body)
	}
}
