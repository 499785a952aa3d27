package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// post sends JSON and returns the status and what came back.
func post(ctx context.Context, url, body string) (int, map[string]any, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, err
	}
	var out map[string]any
	return res.StatusCode, out, json.Unmarshal(data, &out)
}

// load makes threads with runs on them until it is stopped, and knows which were acknowledged.
type load struct {
	mu   sync.Mutex
	runs map[string]string // by thread
}

func (l *load) known() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	for k, v := range l.runs {
		out[k] = v
	}
	return out
}

func (l *load) work(ctx context.Context, url string) {
	for ctx.Err() == nil {
		_, thread, err := post(ctx, url+"/threads", "{}")
		if err != nil {
			return
		}
		id, _ := thread["thread_id"].(string)
		code, run, err := post(ctx, url+"/threads/"+id+"/runs", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"count to forty"}]}}`)
		if err != nil || code != 200 {
			return
		}
		l.mu.Lock()
		l.runs[id], _ = run["run_id"].(string)
		l.mu.Unlock()
		select {
		case <-time.After(20 * time.Millisecond): // the machine is for others too
		case <-ctx.Done():
		}
	}
}

// A server works under load, a backup is made, the server is killed, the backup is restored into a new folder: every thread and
// run that was acknowledged before is there, and every run ends.
func TestBackupOfAServerUnderLoadIsRestored(t *testing.T) {
	dir, file, fresh := t.TempDir(), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "fresh")
	p := startProcess(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := &load{runs: map[string]string{}}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { l.work(ctx, p.url) })
	}
	for len(l.known()) < 15 {
		time.Sleep(10 * time.Millisecond)
	}
	before := l.known()
	code, out, notes := ended(t, program(t, "--data", dir, "backup", file))
	if code != 0 || !strings.Contains(out, "checked") {
		t.Fatalf("backup: exit %d, %s, %s", code, out, notes)
	}
	if code, _, notes := ended(t, program(t, "--data", dir, "backup", file)); code != 1 || !strings.Contains(notes, "not replaced") {
		t.Errorf("the same file again: exit %d, %s", code, notes)
	}
	if code, _, notes := ended(t, program(t, "--data", dir, "restore", file)); code != 1 || !strings.Contains(notes, "in use") {
		t.Errorf("into the folder of the server: exit %d, %s", code, notes)
	}
	p.kill()
	stop()
	wg.Wait()
	if code, out, notes := ended(t, program(t, "--data", fresh, "restore", file)); code != 0 || !strings.Contains(out, "is in place") {
		t.Fatalf("restore: exit %d, %s, %s", code, out, notes)
	}
	was, err1 := os.ReadFile(filepath.Join(dir, secretFile))
	is, err2 := os.ReadFile(filepath.Join(fresh, secretFile))
	if err1 != nil || err2 != nil || string(was) != string(is) {
		t.Errorf("the webhook secret was not restored: %v %v", err1, err2)
	}
	q := startProcess(t, fresh)
	for thread, run := range before {
		if status, body := get(t, q.url+"/threads/"+thread); status != 200 {
			t.Errorf("thread %s: %d %s", thread, status, body)
		}
		for {
			_, body := get(t, q.url+"/threads/"+thread+"/runs/"+run)
			var r struct{ Status string }
			if err := json.Unmarshal([]byte(body), &r); err != nil {
				t.Fatalf("run %s: %s", run, body)
			}
			if r.Status == "pending" || r.Status == "running" {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			if r.Status != "success" {
				t.Errorf("run %s is %s", run, body)
			}
			break
		}
		_, state := get(t, q.url+"/threads/"+thread+"/state")
		if !strings.Contains(state, "forty") {
			t.Errorf("thread %s has the state %.300s", thread, state)
		}
	}
	if code, out, notes := ended(t, program(t, "--data", fresh, "check")); code != 0 {
		t.Errorf("check: exit %d, %s, %s", code, out, notes)
	}
	q.stop(t)
	if code, out, notes := ended(t, program(t, "--data", fresh, "restore", file)); code != 0 || !strings.Contains(out, "what was there is in "+fresh) {
		t.Errorf("restored again: exit %d, %s, %s", code, out, notes)
	}
}

func TestBackupAndRestoreSayWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if code, _, notes := invoke(t, "--data", dir, "chat", "count to two"); code != 0 {
		t.Fatal(notes)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("words ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"backup of nothing":       {[]string{"--data", filepath.Join(dir, "nothing"), "backup", filepath.Join(dir, "b")}, "no database"},
		"backup into nowhere":     {[]string{"--data", dir, "backup", filepath.Join(dir, "nowhere", "b")}, "may write to"},
		"restore of nothing":      {[]string{"--data", dir, "restore", filepath.Join(dir, "nothing")}, "no such file"},
		"restore of a text":       {[]string{"--data", dir, "restore", text}, fmt.Sprintf("restore %s", text)},
		"restore of the database": {[]string{"--data", dir, "restore", dir}, "is not a file"},
	} {
		code, _, notes := invoke(t, c.args...)
		if code != 1 || !strings.Contains(notes, c.want) {
			t.Errorf("%s: exit %d, %s; want %q", name, code, notes, c.want)
		}
	}
	if code, out, notes := invoke(t, "--data", dir, "check"); code != 0 {
		t.Errorf("check: exit %d, %s, %s", code, out, notes)
	}
}
