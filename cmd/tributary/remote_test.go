package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// While a server has the folder, chat asks the server, and looks the same.
func TestChatAsksTheServerThatHasTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := serveOn(t, dir)
	code, out, notes := invoke(t, "--data", dir, "chat", "how does a reader resume?")
	if code != 0 || !strings.Contains(out, "[^1]") || !strings.Contains(notes, "→ search") || !strings.Contains(notes, "\n[1] ") {
		t.Fatalf("exit %d, %q, %s", code, out, notes)
	}
	thread := regexp.MustCompile(`thread (\S+)`).FindStringSubmatch(notes)
	if thread == nil {
		t.Fatalf("the notes do not name the thread: %s", notes)
	}
	code, out, notes = invoke(t, "--data", dir, "chat", "--thread", thread[1], "count to two")
	if code != 0 || out != "one\ntwo\n" || !strings.Contains(notes, thread[1]) {
		t.Errorf("in the same thread: exit %d, %q, %s", code, out, notes)
	}
	code, out, notes = invoke(t, "--data", dir, "chat", "--model", "gpt-99", "hi")
	if code != 1 || out != "" || !strings.Contains(notes, "gpt-99") {
		t.Errorf("with a model that does not exist: exit %d, %q, %s", code, out, notes)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("stopped with exit code %d: %s", code, s.log)
	}
	if code, out, notes := invoke(t, "--data", dir, "chat", "--thread", thread[1], "count to two"); code != 0 || out != "one\ntwo\n" {
		t.Errorf("after the server has stopped: exit %d, %q, %s", code, out, notes)
	}
}

// Whoever finds the folder taken leaves its index alone: the server has documents of its own.
func TestServersDocumentsOutliveAChat(t *testing.T) {
	dir, docs := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"zambezi.txt": "The Kafue is a tributary of the Zambezi. It joins near Chirundu.\n",
		"河流.md":       "# 河流\n\n黄河最大的支流是渭河。\n",
	} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever asks may have documents of their own, which count where no server has the folder.
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("docs: ["+t.TempDir()+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answered := func(when string) {
		t.Helper()
		for question, want := range map[string]string{"What is the Kafue?": "Zambezi", "黄河最大的支流是什么？": "渭河"} {
			code, out, notes := invoke(t, "--data", dir, "--config", config, "chat", question)
			if code != 0 || !strings.Contains(out, want) || !strings.Contains(notes, "\n[1] ") {
				t.Errorf("%s: exit %d, %q, %s", when, code, out, notes)
			}
		}
	}
	s := serveOn(t, dir, "--docs", docs)
	answered("at first")
	answered("after two chats")
	s.stop()
	if code, out, notes := invoke(t, "--data", dir, "chat", "how does a reader resume?"); code != 0 || !strings.Contains(out, "[^1]") {
		t.Errorf("without the server: exit %d, %q, %s", code, out, notes)
	}
	serveOn(t, dir, "--docs", docs)
	answered("after a chat without the server")
}

// A connection that breaks costs nothing: what was asked is read on from the last frame.
func TestChatReadsOnAfterACut(t *testing.T) {
	dir := t.TempDir()
	s := serveOn(t, dir)
	url, cuts := cutter(t, strings.TrimPrefix(s.url, "http://"), 1500)
	var out, notes strings.Builder
	p := &printer{env: &env{ctx: t.Context(), stdout: &out, stderr: &notes}}
	if err := (remote{url: url}).ask(t.Context(), p, question{text: "count to fifteen"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out.String()); len(got) != 15 || got[0] != "one" || got[14] != "fifteen" {
		t.Errorf("the answer is %q", out.String())
	}
	if n := len(cuts); n < 3 {
		t.Errorf("the connection was cut %d times; there should be more to read on after", n)
	}
}

// Leaving before the answer is there stops the task, in words and not in the name of a signal.
func TestChatThatIsStoppedStopsItsTask(t *testing.T) {
	ctx, leave := context.WithCancelCause(t.Context())
	stopped := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tasks" {
			stopped <- r.Method + " " + r.URL.Path
			return
		}
		_, _ = io.WriteString(w, "data: {\"type\":\"task.created\",\"task_id\":\"t1\",\"sequence_number\":0}\n\n"+
			"data: {\"type\":\"task.text.delta\",\"task_id\":\"t1\",\"sequence_number\":1,\"item_id\":\"msg_1\",\"delta\":\"We\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	out := &onWrite{do: func() { leave(errors.New("interrupt signal received")) }}
	var notes strings.Builder
	err := (remote{url: server.URL}).ask(ctx, &printer{env: &env{ctx: ctx, stdout: out, stderr: &notes}, streams: true}, question{text: "who are we?"})
	if !errors.Is(err, errStopped) || out.String() != "We\n" {
		t.Errorf("got %v after %q", err, out.String())
	}
	if got := <-stopped; got != "POST /tasks/t1/cancel" {
		t.Errorf("the server was asked for %s", got)
	}
}

// onWrite does something when the first word arrives.
type onWrite struct {
	strings.Builder
	do func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	defer w.do()
	return w.Builder.Write(p)
}

// A try that gave nothing has no answer that could be void.
func TestAVoidTryIsToldByWhatThereWas(t *testing.T) {
	var out, notes strings.Builder
	p := &printer{env: &env{stdout: &out, stderr: &notes}, streams: true}
	p.void("model_network")
	p.text("msg_1", "half a")
	p.void("crash")
	p.void("model_network")
	if want := "× no answer (model_network)\n× the answer so far is void (crash)\n× no answer (model_network)\n"; notes.String() != want {
		t.Errorf("got %s", notes.String())
	}
}

// cutter passes connections on to an address and cuts each after some bytes of the answer. It reports every cut.
func cutter(t *testing.T, to string, after int64) (url string, cuts chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cuts = make(chan struct{}, 1000)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	pass := func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		defer context.AfterFunc(ctx, func() { server.Close(); client.Close() })()
		wg.Go(func() {
			_, _ = io.Copy(server, client)
			server.Close()
		})
		if n, _ := io.CopyN(client, server, after); n == after {
			cuts <- struct{}{}
		}
	}
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { pass(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		stop()
		wg.Wait()
	})
	return "http://" + l.Addr().String(), cuts
}
