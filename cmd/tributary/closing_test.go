package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A stream may be silent for hours. Whoever reads it must be told that the server stops, and the stop must not wait for it: not
// for the time that runs are given to finish.
func TestAStopDoesNotWaitForThoseWhoReadStreams(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("drain: 1h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, t.TempDir(), "--config", config)
	body := `{"assistant_id":"agent","if_not_exists":"create","after_seconds":3600,"input":{"messages":[{"role":"user","content":"later"}]}}`
	res, err := http.Post(s.url+"/threads/0b6f1c9e-0000-4000-8000-000000000001/runs/stream", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("got %s", res.Status)
	}
	ended, stopped := make(chan struct{}), make(chan int, 1)
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, res.Body) // however it ends
	}()
	go func() { stopped <- s.stop() }()
	watch := time.After(time.Minute)
	select {
	case code := <-stopped:
		if code != 0 {
			t.Errorf("exit %d: %s", code, s.log)
		}
	case <-watch:
		t.Fatal("the server waits for a stream that has nothing to say")
	}
	select {
	case <-ended:
	case <-watch:
		t.Error("the stream of a server that has stopped is still open")
	}
}
