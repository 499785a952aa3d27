package server_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
)

func limited(l run.Limits) func(*server.Options) {
	return func(o *server.Options) { o.Limits = l }
}

func TestWhatIsTooMuchIsA429ThatNamesTheSetting(t *testing.T) {
	w := newTasks(t, allGraphs(), limited(run.Limits{Threads: 3, Runs: 2, Queued: 1}))
	tooMuch := func(setting, method, path, body string) {
		t.Helper()
		got := w.must(429, method, path, body)
		if !strings.Contains(string(got.body), "limits."+setting) || got.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %s", method, path, got.body)
		}
	}
	later := `{"assistant_id":"agent","after_seconds":3600,"input":{"messages":[]}}`
	id := w.must(200, "POST", "/threads", `{}`).object(t)["thread_id"].(string)
	first := w.must(200, "POST", "/threads/"+id+"/runs", later).object(t)["run_id"].(string)
	tooMuch("queued", "POST", "/threads/"+id+"/runs", later)
	w.must(200, "POST", "/runs", later)
	tooMuch("runs", "POST", "/runs", later)
	w.must(200, "POST", "/threads", `{}`)
	tooMuch("threads", "POST", "/threads", `{}`)
	tooMuch("threads", "POST", "/threads/"+id+"/copy", `{}`)

	w.user = "somebody else"
	w.must(200, "POST", "/threads", `{}`)
	w.user = "me"

	w.must(202, "POST", "/threads/"+id+"/runs/"+first+"/cancel", ``)
	w.must(200, "GET", "/threads/"+id+"/runs/"+first+"/join", ``)
	w.must(200, "POST", "/threads/"+id+"/runs", later)
}

func TestStoredBytesAreLimited(t *testing.T) {
	w := newTasks(t, allGraphs(), limited(run.Limits{Bytes: 20_000}))
	w.must(204, "PUT", "/store/items", fmt.Sprintf(`{"namespace":["a"],"key":"k","value":{"v":%q}}`, strings.Repeat("x", 30_000)))
	n, err := w.db.StoredBytes(t.Context(), run.Identity{Owner: "me"})
	if err != nil || n < 30_000 || n > 40_000 {
		t.Errorf("%d bytes are stored, %v", n, err)
	}
	if n, err := w.db.StoredBytes(t.Context(), run.Identity{Owner: "other"}); err != nil || n != 0 {
		t.Errorf("another has %d bytes, %v", n, err)
	}
}

// A stream that is parked counts until it ends.
func TestConnectionsAreLimited(t *testing.T) {
	w := newTasks(t, allGraphs(), limited(run.Limits{Connections: 1}), func(o *server.Options) { o.ParkAfter = 1 })
	id := w.must(200, "POST", "/threads", `{}`).object(t)["thread_id"].(string)
	res, err := w.client.Do(w.request("GET", "/threads/"+id+"/stream", ""))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.must(429, "GET", "/threads/"+id+"/stream", ""); !strings.Contains(string(got.body), "limits.connections") {
		t.Errorf("got %s", got.body)
	}
	w.must(200, "GET", "/threads/"+id, "")
	_ = res.Body.Close()
	for { // it is noticed that the reader has left
		res, err := w.client.Do(w.request("GET", "/threads/"+id+"/stream", ""))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == 200 {
			break
		}
	}
}

// lines is a log that tests read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestWhoDidWhatIsWrittenDown(t *testing.T) {
	var audit, access lines
	w := newTasks(t, allGraphs(), func(o *server.Options) {
		o.Audit, o.Access = slog.New(slog.NewTextHandler(&audit, nil)), slog.New(slog.NewTextHandler(&access, nil))
	})
	const secret = "what-was-said"
	id := w.must(200, "POST", "/threads", `{"metadata":{"a":"`+secret+`"}}`).object(t)["thread_id"].(string)
	r := w.must(200, "POST", "/threads/"+id+"/runs", `{"assistant_id":"agent","after_seconds":3600,"input":{"messages":[{"role":"user","content":"`+secret+`"}]}}`).object(t)["run_id"].(string)
	w.must(202, "POST", "/threads/"+id+"/runs/"+r+"/cancel", ``)
	w.must(200, "GET", "/threads/"+id+"/runs/"+r+"/join?token="+secret, ``)
	w.must(204, "DELETE", "/threads/"+id, ``)
	w.user = ""
	w.must(401, "GET", "/threads/"+id, ``)
	for _, want := range []string{
		"owner=me action=create kind=thread id=" + id,
		"owner=me action=create kind=run id=" + r + " thread=" + id,
		"owner=me action=cancel kind=run id=" + r,
		"owner=me action=delete kind=thread id=" + id,
	} {
		if n := strings.Count(audit.String(), want); n != 1 {
			t.Errorf("%q is written down %d times in\n%s", want, n, audit.String())
		}
	}
	for _, want := range []string{
		"method=POST path=/threads status=200", "method=DELETE path=/threads/" + id + " status=204", "method=GET path=/threads/" + id + " status=401", "owner=me",
	} {
		if !strings.Contains(access.String(), want) {
			t.Errorf("%q is not in\n%s", want, access.String())
		}
	}
	if all := audit.String() + access.String(); strings.Contains(all, secret) {
		t.Errorf("the logs tell what was said:\n%s", all)
	}
}

// A log of requests changes nothing about streams: they are parked and end as ever.
func TestALogOfRequestsLeavesStreamsAlone(t *testing.T) {
	var access lines
	w := newTasks(t, allGraphs(), func(o *server.Options) {
		o.Access, o.ParkAfter = slog.New(slog.NewTextHandler(&access, nil)), 1
	})
	res, err := w.client.Do(w.request("POST", "/runs/stream", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), "event: metadata") {
		t.Errorf("%v: %s", err, body)
	}
}
