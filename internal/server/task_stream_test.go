package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/server"
)

// socketEvents reads a task over WebSocket until it is closed, or until it has n messages.
func (w *taskWorld) socketEvents(ctx context.Context, id, after string, n int) (data []string, err error) {
	w.t.Helper()
	url := w.http.URL + "/tasks/" + id + "/ws"
	if after != "" {
		url += "?after=" + after
	}
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: w.client, HTTPHeader: http.Header{"X-User": {w.user}}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	for n < 0 || len(data) < n {
		typ, msg, err := conn.Read(ctx)
		if err != nil {
			return data, err
		}
		if typ != websocket.MessageText {
			return data, fmt.Errorf("a message of type %v", typ)
		}
		data = append(data, string(msg))
	}
	return data, nil
}

// Law 7: cut the stream after any frame, resume with that frame's id, concatenate: equal to the uncut stream.
func TestTaskStreamCutAnywhere(t *testing.T) {
	w := newTasks(t, allGraphs())
	id := w.create(`{"input":"hi","assistant":"manager"}`)
	uncut := w.events(id, "")
	if len(uncut) < 30 {
		t.Fatalf("only %d frames", len(uncut))
	}
	var data []string
	for _, f := range uncut {
		data = append(data, f.data)
	}
	for i := range uncut {
		if got := textOf(uncut[:i+1]) + textOf(w.events(id, uncut[i].id)); got != textOf(uncut) {
			t.Fatalf("cut after frame %d: got\n%s\nwant\n%s", i, got, textOf(uncut))
		}
		rest, err := w.socketEvents(t.Context(), id, uncut[i].id, -1)
		if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Fatalf("the socket after frame %d ended with %v", i, err)
		}
		if got, want := strings.Join(rest, "\n"), strings.Join(data[i+1:], "\n"); got != want {
			t.Fatalf("socket cut after frame %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
	for _, all := range []string{"", "-1"} {
		if got := textOf(w.events(id, all)); got != textOf(uncut) {
			t.Errorf("Last-Event-ID %q: got\n%s", all, got)
		}
	}
	res, r := w.open("GET", "/tasks/"+id+"/events?after=3", "")
	defer res.Body.Close()
	if frames, err := readFrames(r, -1); err != nil || textOf(frames) != textOf(uncut[4:]) {
		t.Errorf("?after=3: got %v %s", err, textOf(frames))
	}
	// A browser that reconnects sends both; what it saw last counts.
	res, r = w.open("GET", "/tasks/"+id+"/events?after=3", "", "Last-Event-ID", "7")
	defer res.Body.Close()
	if frames, err := readFrames(r, -1); err != nil || textOf(frames) != textOf(uncut[8:]) {
		t.Errorf("?after=3 and Last-Event-ID 7: got %v %s", err, textOf(frames))
	}
}

// The same while the run is under way: a reader that is cut after every single frame, one over SSE and one over
// WebSocket, beside one that is never cut.
func TestLiveTaskStreamCutAfterEveryFrame(t *testing.T) {
	v := newValve()
	w := newTasks(t, taskGraphs{"agent": v.graph("agent")})
	creator, r := w.open("POST", "/tasks", `{"input":"hi","stream":true}`)
	defer creator.Body.Close()
	id := strings.Split(creator.Header.Get("Location"), "/")[2]

	var wg sync.WaitGroup
	var cut []sseFrame
	var cutErr, sockErr error
	var sock []string
	wg.Go(func() {
		last := "-1"
		for cutErr == nil {
			res, err := w.client.Do(w.request("GET", "/tasks/"+id+"/events", "", "Last-Event-ID", last))
			if err != nil {
				cutErr = err
				return
			}
			frames, err := readFrames(bufio.NewReader(res.Body), 1)
			_ = res.Body.Close()
			if len(frames) == 0 {
				cutErr = err
				return // the end
			}
			cut, last = append(cut, frames...), frames[0].id
		}
	})
	wg.Go(func() {
		for after := "-1"; ; after = fmt.Sprint(len(sock) - 1) {
			got, err := w.socketEvents(context.Background(), id, after, 1)
			sock = append(sock, got...)
			if len(got) == 0 {
				if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					sockErr = err
				}
				return
			}
		}
	})
	for i := range 40 {
		v.words <- fmt.Sprintf("word%d ", i)
	}
	v.close()
	uncut, err := readFrames(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if cutErr != nil || textOf(cut) != textOf(uncut) {
		t.Errorf("%v: the cut stream is\n%s\nthe uncut\n%s", cutErr, textOf(cut), textOf(uncut))
	}
	var data []string
	for _, f := range uncut {
		data = append(data, f.data)
	}
	if got, want := strings.Join(sock, "\n"), strings.Join(data, "\n"); sockErr != nil || got != want {
		t.Errorf("%v: the socket's messages are\n%s\nwant\n%s", sockErr, got, want)
	}
}

// Law 8: one reader does not read at all, and the others and the run do not notice.
func TestSlowTaskReaderDelaysNobody(t *testing.T) {
	v := newValve()
	w := newTasks(t, taskGraphs{"agent": v.graph("agent")}, func(o *server.Options) { o.WriteTimeout = 500 * time.Millisecond })
	creator, r := w.open("POST", "/tasks", `{"input":"hi","stream":true}`)
	defer creator.Body.Close()
	id := strings.Split(creator.Header.Get("Location"), "/")[2]

	// A connection that sends its request and then takes nothing.
	stuck, err := net.Dial("tcp", w.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	fmt.Fprintf(stuck, "GET /tasks/%s/events HTTP/1.1\r\nHost: 127.0.0.1\r\nX-User: me\r\n\r\n", id)

	word := strings.Repeat("long ", 10_000)
	for range 90 { // with the ends 13 MB: more than a socket takes, and more than a feed keeps
		v.words <- word
	}
	v.close()
	uncut, err := readFrames(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(uncut[len(uncut)-1].data, "task.completed") {
		t.Errorf("the stream ends with %.200s", uncut[len(uncut)-1].data)
	}
	if got := textOf(w.events(id, "")); got != textOf(uncut) {
		t.Errorf("a late reader got %d bytes, the live one %d", len(got), len(textOf(uncut)))
	}
	// The stuck one is dropped, and what it took is a prefix. Whoever read before that would find it not stuck any more.
	patience := time.After(2 * time.Minute)
	for dropped := ""; dropped != stuck.LocalAddr().String(); {
		select {
		case dropped = <-w.closed:
		case <-patience:
			t.Fatal("the stuck reader was not dropped")
		}
	}
	_ = stuck.SetReadDeadline(time.Now().Add(2 * time.Minute))
	took, err := io.ReadAll(stuck)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the stuck reader was not dropped: %v", err)
	}
	if len(took) > len(textOf(uncut))/2 {
		t.Errorf("the stuck reader was given %d bytes", len(took))
	}
}

func TestDisconnectDoesNotStopATask(t *testing.T) {
	for _, c := range []struct{ name, body, status string }{
		{"unless asked for", `{"input":"hi","stream":true,"on_disconnect":"cancel"}`, "canceled"},
		{"by default", `{"input":"hi","stream":true}`, "completed"},
		{"as asked for", `{"input":"hi","stream":true,"on_disconnect":"continue"}`, "completed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newValve()
			w := newTasks(t, taskGraphs{"agent": v.graph("agent")})
			res, r := w.open("POST", "/tasks", c.body)
			id := strings.Split(res.Header.Get("Location"), "/")[2]
			if _, err := readFrames(r, 1); err != nil {
				t.Fatal(err)
			}
			// Another reader, whose leaving never counts.
			other, or := w.open("GET", "/tasks/"+id+"/events", "")
			if _, err := readFrames(or, 1); err != nil {
				t.Fatal(err)
			}
			_ = other.Body.Close()
			v.words <- "still here "
			_ = res.Body.Close()
			if c.status == "completed" {
				v.words <- "and still "
				v.close()
			}
			frames := w.events(id, "")
			if last := frames[len(frames)-1].data; !strings.Contains(last, "task."+c.status) {
				t.Errorf("the task ended with %s, want %s", last, c.status)
			}
		})
	}
}

// A task that is under way when the server stops goes on when the next one starts, and a reader resumes with the number
// that it had: what it saw is still there, and nothing comes twice. That a reader which is ahead of the feed that it joins is not left
// without a bell is a law of package feed (TestReadersOfATrimmedFeedSeeTheSameFrames).
func TestTaskReaderResumesAfterRestart(t *testing.T) {
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	v := newValve()
	w := openTasks(t, dir, taskGraphs{"agent": v.graph("agent")})
	res, r := w.open("POST", "/tasks", `{"input":"hi","stream":true}`)
	id := strings.Split(res.Header.Get("Location"), "/")[2]
	v.words <- "before "
	v.words <- "the restart "
	saw, err := readFrames(r, 6)
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	// To LangGraph's clients a stream that ends well is a run that is over, so this one must break.
	if _, err := readFrames(r, -1); err == nil {
		t.Error("the stream ended as if the run were over")
	}
	_ = res.Body.Close()

	w = openTasks(t, dir, taskGraphs{"agent": one("agent", talkerNode)})
	defer w.stop()
	saw = append(saw, w.events(id, saw[len(saw)-1].id)...)
	if uncut := w.events(id, ""); textOf(saw) != textOf(uncut) {
		t.Errorf("over the restart the reader got\n%s\nwant\n%s", textOf(saw), textOf(uncut))
	}
	obj := w.must(200, "GET", "/tasks/"+id, "").object(t)
	if obj["status"] != "completed" || obj["attempt"] != 2.0 {
		t.Errorf("got %v", obj)
	}
}

func TestSocketCloseCodes(t *testing.T) {
	v := newValve()
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w := openTasks(t, dir, taskGraphs{"agent": v.graph("agent")}, func(o *server.Options) { o.Heartbeat = 10 * time.Millisecond })
	res, _ := w.open("POST", "/tasks", `{"input":"hi","stream":true}`)
	defer res.Body.Close()
	id := strings.Split(res.Header.Get("Location"), "/")[2]
	dial := func(onPing func()) *websocket.Conn {
		t.Helper()
		conn, _, err := websocket.Dial(t.Context(), w.http.URL+"/tasks/"+id+"/ws", &websocket.DialOptions{
			HTTPClient: w.client, HTTPHeader: http.Header{"X-User": {"me"}},
			OnPingReceived: func(context.Context, []byte) bool { onPing(); return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	untilClosed := func(conn *websocket.Conn) websocket.StatusCode {
		for {
			if _, _, err := conn.Read(t.Context()); err != nil {
				return websocket.CloseStatus(err)
			}
		}
	}

	talkative := dial(func() {})
	if err := talkative.Write(t.Context(), websocket.MessageText, []byte("hello?")); err != nil {
		t.Fatal(err)
	}
	if code := untilClosed(talkative); code != websocket.StatusPolicyViolation {
		t.Errorf("a client that talks is closed with %v", code)
	}

	pinged := make(chan struct{}, 1000)
	patient := dial(func() { pinged <- struct{}{} })
	code := make(chan websocket.StatusCode)
	go func() { code <- untilClosed(patient) }()
	<-pinged
	<-pinged // a silent stream shows that it lives, again and again
	w.stop()
	if got := <-code; got != websocket.StatusGoingAway {
		t.Errorf("a client of a server that closes is closed with %v", got)
	}
}
