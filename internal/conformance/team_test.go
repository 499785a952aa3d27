package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// serveTeams serves teams of a scripted model until the test ends. closed tells of connections that the server has closed.
func serveTeams(t *testing.T, m model.Model, writeTimeout time.Duration) (url string, closed <-chan string, rt *tributary.Runtime) {
	t.Helper()
	rt, err := tributary.Open(t.Context(), tributary.Options{Team: true, Models: tributary.OneModel(m)})
	if err != nil {
		t.Fatal(err)
	}
	parts := door.Open(rt)
	srv, err := server.New(server.Options{Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs, WriteTimeout: writeTimeout})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan string, 100)
	h := httptest.NewUnstartedServer(watched{srv, gone})
	h.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10) // so that little is enough to fill it
		return ctx
	}
	h.Start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		srv.Closing()
		h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := rt.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h.URL, gone, rt
}

// watched tells when a request has been served: a socket's is when the socket is closed.
type watched struct {
	http.Handler
	gone chan<- string
}

func (w watched) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.Handler.ServeHTTP(rw, r)
	select {
	case w.gone <- r.RemoteAddr:
	default: // more than anybody waits for
	}
}

func startTeam(t *testing.T, url, body string) string {
	t.Helper()
	res, err := http.Post(url+"/teams", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct{ Run string }
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || got.Run == "" {
		t.Fatalf("POST /teams: %s, %v", res.Status, err)
	}
	return got.Run
}

// wholeTeam reads a team's stream from its beginning to its end, a line a frame.
func wholeTeam(t *testing.T, url, run string) string {
	t.Helper()
	res, err := http.Get(url + "/teams/" + run + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			b.WriteString(data)
		}
	}
	return b.String()
}

// A stranger's client, ws from npm, reads a team that works, is cut again and again, and goes on: it has the same letters as one that
// read it all at once. In between it speaks to an expert.
func TestAClientOfNodesReadsATeamThroughCuts(t *testing.T) {
	needClients(t)
	answered := make(chan struct{}) // the experts do not end before the client is, however slowly it starts
	answer := sync.OnceFunc(func() { close(answered) })
	defer answer()
	m := scripted.New(func(req model.Request) scripted.Script {
		if name, _, ok := strings.Cut(strings.TrimPrefix(req.System, "You are "), ","); ok && strings.HasPrefix(req.System, "You are ") {
			return scripted.Every(2 * time.Millisecond).Words(strings.Repeat(name+" says “naïve” 水 things. ", 12)).Wait(answered).Words("That is it.")
		}
		return scripted.Every(2 * time.Millisecond).Words(strings.Repeat("All in all. ", 10))
	})
	url, _, _ := serveTeams(t, m, 0)
	run := startTeam(t, url, `{"question":"What does water do?","experts":[{"name":"ada"},{"name":"ben"},{"name":"cy"}],"mode":"discuss"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "team.mjs", "ws"+strings.TrimPrefix(url, "http")+"/teams/"+run+"/ws", `{"type":"speak","expert":"ada","text":"Mind the tides.","message_id":"w1","id":1}`)
	cmd.Dir = "clients"
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, onWrite{&errs, answer}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if want := wholeTeam(t, url, run); out.String() != want {
		t.Errorf("through cuts it read\n%s\nand all at once\n%s", out.String(), want)
	}
	if n := strings.Count(out.String(), `"type":"team_spoken"`); n != 1 || !strings.Contains(errs.String(), "accepted") {
		t.Errorf("%d frames of words, and it was told %q; want one, and accepted", n, errs.String())
	}
}

// onWrite does something when something is written.
type onWrite struct {
	io.Writer
	do func()
}

func (w onWrite) Write(p []byte) (int, error) {
	defer w.do()
	return w.Writer.Write(p)
}

// A client that takes nothing is dropped when its time is over, and nobody else notices. It comes back with what it has.
func TestASlowReaderOfATeamIsDroppedAndComesBack(t *testing.T) {
	word := strings.Repeat("long ", 1000)
	m := scripted.New(func(req model.Request) scripted.Script {
		if !strings.HasPrefix(req.System, "You are ") {
			return scripted.Words("All in all.")
		}
		pieces := make([]string, 60)
		for i := range pieces {
			pieces[i] = fmt.Sprint(i, " ", word)
		}
		return scripted.Pieces(pieces...)
	})
	url, closed, _ := serveTeams(t, m, 500*time.Millisecond)
	run := startTeam(t, url, `{"question":"Talk.","experts":[{"name":"ada"},{"name":"ben"},{"name":"cy"}]}`)
	addr := strings.TrimPrefix(url, "http://")
	stuck, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	_ = stuck.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(stuck, "GET /teams/%s/ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", run, addr)

	whole := wholeTeam(t, url, run) // beside it
	if !strings.Contains(whole, `"type":"team_dissolved"`) {
		t.Fatal("the other reader did not read to the end")
	}
	for dropped := ""; dropped != stuck.LocalAddr().String(); {
		select {
		case dropped = <-closed:
		case <-time.After(time.Minute):
			t.Fatal("the one that reads nothing was not dropped")
		}
	}
	took, err := io.ReadAll(stuck)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("it was not dropped: %v", err)
	}
	if len(took) == 0 || len(took) > len(whole)/2 {
		t.Errorf("it was given %d bytes of %d", len(took), len(whole))
	}
	// What it has are whole messages and the beginning of one. It comes back after the first of them.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+addr+"/teams/"+run+"/ws?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(64 << 20)
	first, _, _ := strings.Cut(whole, "\n")
	got := first + "\n"
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Fatal(err)
			}
			break
		}
		got += string(data) + "\n"
	}
	if got != whole {
		t.Errorf("it came back and has %d bytes, want %d", len(got), len(whole))
	}
}
