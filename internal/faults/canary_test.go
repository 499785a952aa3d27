package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// canaries are secrets in every place where one can be; each has a word by which a leak is told from others.
var canaries = map[string]string{
	"key":      "sk-canary-key-5d1f0c7b9a",
	"header":   "canary-header-93be71d20c",
	"env":      "canary-env-header-77ac01",
	"userinfo": "canary-userinfo-41f6e0b8",
	"query":    "canary-query-c0ffee1234",
	"server":   "canary-server-key-88d2aa",
	"request":  "canary-request-token-6b1",
}

// TestKeysAreSeenNowhere puts canary keys into the configuration, the environment, headers, base URLs and the error texts of providers,
// lets runs succeed and fail in many ways with the log at its most talkative, and looks for the canaries in every log line,
// stream, answer and file.
func TestKeysAreSeenNowhere(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	p := startProvider(t)
	more := fmt.Sprintf(`, headers: {X-Secret: %q, X-From-Env: $CANARY_HEADER}, first_timeout: 1s, idle_timeout: 1s`, canaries["header"])
	dead := "127.0.0.1:1" // nobody may listen there
	urls := []struct{ provider, url string }{
		{"openai", p.URL() + "/v1"},
		{"openai", "http://user:" + canaries["userinfo"] + "@" + p.Host() + "/v1"},
		{"openai", "http://" + p.Host() + "/v1?key=" + canaries["query"]},
		{"openai", "http://user:" + canaries["userinfo"] + "@" + dead + "/v1?key=" + canaries["query"]},
		{"anthropic", p.URL()},
		{"anthropic", "http://user:" + canaries["userinfo"] + "@" + dead + "/?key=" + canaries["query"]},
	}
	var models []modelEntry
	var orders []faults.Order
	for _, u := range urls {
		for _, f := range leaks(u.url) {
			models = append(models, modelEntry{fmt.Sprintf("m%d", len(models)), u.provider, u.url, more})
			orders = append(orders, faults.Order{Words: 8, GapMS: 1, Faults: thrice(f)})
		}
	}
	w := newReal(t, p, models, "", "FAULTS_KEY="+canaries["key"], "CANARY_HEADER="+canaries["env"], "TRIBUTARY_API_KEY="+canaries["server"])
	w.host.kill()
	w.host.program.args = append(w.host.program.args, "--log-level", "debug")
	w.host.mustStart(t)
	w.host.client.Transport = withHeaders{w.host.client.Transport, http.Header{
		"X-Api-Key": {canaries["server"]}, "Authorization": {"Bearer " + canaries["request"]}, "X-My-Token": {canaries["request"]}, "Cookie": {"session=" + canaries["request"]},
	}}

	quiet := make(chan struct{})
	close(quiet)
	all := w.drive(ctx, load{
		runs:  len(models),
		model: func(i int) string { return models[i].name },
		order: func(i int, key string) faults.Order {
			o := orders[i]
			o.Key = key
			if o.Faults[0].Text != "" {
				for n := range o.Faults {
					// The order travels in the conversation, where users' words belong; so the canaries travel in disguise.
					o.Faults[n].Text = faults.Disguise(o.Faults[n].Text)
				}
			}
			return o
		},
		wires: func(int) []faults.Dialect { return []faults.Dialect{faults.TaskSSE, faults.LangGraph} },
	}, quiet)
	failed := 0
	for i := range all {
		if all[i].err != nil {
			t.Errorf("model %s at %s: %v", models[i].name, models[i].provider, all[i].err)
			continue
		}
		if bytes.Contains(all[i].Object, []byte(`"status":"failed"`)) {
			failed++
		}
		mustBeClean(t, "the object of a task", all[i].Object)
		for _, r := range all[i].Readings {
			for _, f := range r.Frames {
				mustBeClean(t, "a stream: "+r.Who, f.Data)
			}
		}
	}
	if failed < len(models)/2 {
		t.Errorf("only %d of %d runs failed: nothing was put to the test", failed, len(models))
	}
	sent := fmt.Sprint(p.Headers())
	for _, place := range []string{"key", "header", "env"} {
		if !strings.Contains(sent, canaries[place]) {
			t.Errorf("the %s never reached the provider: nothing was put to the test", place)
		}
	}
	w.lookEverywhere(ctx, all)
}

// leaks are the ways in which a provider may tell what it was sent.
func leaks(url string) []faults.Fault {
	text := strings.Join([]string{"Incorrect API key provided:", canaries["key"], "sent with", canaries["header"], canaries["env"]}, " ")
	for _, place := range []string{"userinfo", "query"} {
		if strings.Contains(url, canaries[place]) { // what it was not sent it cannot tell
			text += " to " + canaries[place]
		}
	}
	return []faults.Fault{
		{}, {Kind: faults.Status, Code: 401, Text: text}, {Kind: faults.Status, Code: 400, Text: text}, {Kind: faults.Status, Code: 500, Text: text},
		{Kind: faults.Inside, After: 3, Text: text}, {Kind: faults.Reset, After: 3},
	}
}

// lookEverywhere asks every route that could tell of something, and reads every file.
func (w *world) lookEverywhere(ctx context.Context, all []evidence) {
	t := w.t
	t.Helper()
	ask := func(method, path, body string) {
		_, data, header, err := w.host.call(ctx, method, path, body)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
		mustBeClean(t, method+" "+path, data)
		mustBeClean(t, "the headers of "+method+" "+path, fmt.Append(nil, header))
	}
	for _, path := range []string{"/info", "/ok", "/tasks?limit=1000", "/nothing"} {
		ask("GET", path, "")
	}
	for _, path := range []string{"/assistants/search", "/threads/search", "/store/namespaces", "/store/items/search"} {
		ask("POST", path, `{}`)
	}
	for i := range all {
		for _, path := range []string{"", "/state", "/history", "/runs", "/runs/" + all[i].Run, "/runs/" + all[i].Run + "/join"} {
			ask("GET", "/threads/"+all[i].thread+path, "")
		}
		ask("GET", "/tasks/"+all[i].Run+"/model-view", "")
	}
	ask("POST", "/tasks", `{"input":"x","model":"unknown"}`)
	if err := w.host.stop(15 * time.Second); err != nil {
		t.Errorf("stop: %v", err)
	}
	mustBeClean(t, "the log", []byte(w.host.log.String()))
	cmd := exec.Command(w.host.program.path, "models", "--config", w.host.program.args[2])
	cmd.Env = append(os.Environ(), w.host.program.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("tributary models: %v: %s", err, out)
	}
	mustBeClean(t, "tributary models", out)
	files := 0
	err = filepath.WalkDir(w.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		mustBeClean(t, "the file "+filepath.Base(path), data)
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files were read: %v", files, err)
	}
}

// mustBeClean looks for canaries, also as JSON would escape them.
func mustBeClean(t testing.TB, where string, data []byte) {
	t.Helper()
	for place, canary := range canaries {
		quoted, _ := json.Marshal(canary) // a string always encodes
		for _, form := range [][]byte{[]byte(canary), bytes.Trim(quoted, `"`)} {
			if i := bytes.Index(data, form); i >= 0 {
				t.Errorf("%s shows the canary of the %s: …%.200q", where, place, data[max(0, i-80):])
				return
			}
		}
	}
}

// withHeaders adds headers to every request.
type withHeaders struct {
	http.RoundTripper
	header http.Header
}

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.header {
		r.Header[name] = values
	}
	return h.RoundTripper.RoundTrip(r)
}

func (h withHeaders) CloseIdleConnections() {
	if c, ok := h.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
