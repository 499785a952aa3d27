package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" { // see program
		main()
	}
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "TRIBUTARY_API_KEY", "TRIBUTARY_CONFIG", "TRIBUTARY_DATA", "TRIBUTARY_ADDR"} {
		_ = os.Unsetenv(key)
	}
	goleak.VerifyTestMain(m)
}

// invoke runs the program as a shell would.
func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = command(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestChatStreamsAnAnswerWithoutKeyOrNetwork(t *testing.T) {
	dir := t.TempDir()
	code, out, notes := invoke(t, "--data", dir, "chat", "count", "to", "fifteen")
	if want := "one\ntwo\nthree\n"; code != 0 || !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "fifteen\n") {
		t.Fatalf("exit %d, %q, %s", code, out, notes)
	}
	thread := regexp.MustCompile(`thread (\S+)`).FindStringSubmatch(notes)
	if thread == nil {
		t.Fatalf("the notes do not name the thread: %s", notes)
	}
	if code, out, notes := invoke(t, "--data", dir, "chat", "-q", "--thread", thread[1], "count to two"); code != 0 || out != "one\ntwo\n" || notes != "" {
		t.Errorf("quietly in the same thread: exit %d, %q, %q", code, out, notes)
	}
}

func TestChatAsksWhatStandardInputSays(t *testing.T) {
	var out, notes strings.Builder
	code := command(t.Context(), []string{"--data", t.TempDir(), "chat", "-q"}, strings.NewReader("count to\ntwo"), &out, &notes)
	if code != 0 || out.String() != "one\ntwo\n" {
		t.Errorf("exit %d, %q, %s", code, out.String(), notes.String())
	}
}

func TestChatNamesWhatTheAnswerCites(t *testing.T) {
	code, out, notes := invoke(t, "--data", t.TempDir(), "chat", "how does a reader resume?")
	cited := regexp.MustCompile(`\[\^(\d+)\]`).FindAllStringSubmatch(out, -1)
	if code != 0 || len(cited) == 0 {
		t.Fatalf("exit %d, %q, %s", code, out, notes)
	}
	for _, c := range cited {
		if n := strings.Count(notes, "["+c[1]+"] "); n != 1 {
			t.Errorf("the notes name source %s %d times: %s", c[1], n, notes)
		}
	}
}

func TestConversationStaysInOneThread(t *testing.T) {
	config, err := loadConfig("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out, notes strings.Builder
	e := &env{ctx: t.Context(), stdin: strings.NewReader("count to two\ncount to three\n\nnobody hears this\n"), stdout: &out, stderr: &notes, config: config}
	rt, err := e.open(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	if err := (chatCmd{}).converse(&printer{env: e}, local{rt}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "one\ntwo\none\ntwo\nthree\n" {
		t.Errorf("the answers are %q", out.String())
	}
	threads := regexp.MustCompile(`· thread (\S+)`).FindAllStringSubmatch(notes.String(), -1)
	if len(threads) != 2 || threads[0][1] != threads[1][1] {
		t.Errorf("the notes are %s", notes.String())
	}
}

func TestEventsPrintsAJournal(t *testing.T) {
	dir := t.TempDir()
	if code, _, notes := invoke(t, "--data", dir, "chat", "count to two"); code != 0 {
		t.Fatal(notes)
	}
	run := latestRun(t, dir)
	code, out, notes := invoke(t, "--data", dir, "events", run)
	if code != 0 || !strings.Contains(out, "run_started") || !strings.Contains(out, "run_ended") {
		t.Fatalf("exit %d, %s, %s", code, out, notes)
	}
	code, out, notes = invoke(t, "--data", dir, "events", "--json", "--follow", "--after", "1", run)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, notes)
	}
	seq := uint64(1)
	for line := range strings.Lines(out) {
		var e struct{ Seq uint64 }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != seq+1 {
			t.Fatalf("after %d comes %s", seq, line)
		}
		seq = e.Seq
	}
	_, whole, _ := invoke(t, "--data", dir, "events", run)
	if code, out, notes := invoke(t, "--data", dir, "events"); code != 0 || out != whole {
		t.Errorf("without an id: exit %d, %s, %s; want the newest run's journal", code, out, notes)
	}
	for _, args := range [][]string{{"nothing"}, {"--follow", "nothing"}, {"--follow", "--after", "7", "nothing"}} {
		code, _, notes := invoke(t, append([]string{"--data", dir, "events"}, args...)...)
		if code != 1 || !strings.Contains(notes, `no run "nothing"`) {
			t.Errorf("%v, an unknown run: exit %d, %s", args, code, notes)
		}
	}
}

// Every mistake is one sentence on standard error and exit code 1; never a stack trace.
func TestMistakesAreToldInOneSentence(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	data := "--data=" + filepath.Join(dir, "data")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"taken port":           {[]string{data, "serve", "--addr", taken.Addr().String()}, "--addr"},
		"folder below a file":  {[]string{"--data", filepath.Join(file("f", ""), "x"), "chat", "hi"}, "data folder"},
		"config typo":          {[]string{data, "--config", file("typo.yaml", "addr: localhost:1\nprot: 3\n"), "serve"}, `line 2: there is no setting "prot"`},
		"config type":          {[]string{data, "--config", file("type.yaml", "max_runs: many\n"), "serve"}, "line 1"},
		"config syntax":        {[]string{data, "--config", file("syntax.yaml", "addr: [\n"), "serve"}, "line"},
		"config missing":       {[]string{data, "--config", filepath.Join(dir, "none.yaml"), "serve"}, "none.yaml"},
		"config value":         {[]string{data, "--config", file("value.yaml", "durability: maybe\n"), "serve"}, "durability"},
		"model without name":   {[]string{data, "--config", file("model.yaml", "models:\n  - provider: openai\n"), "chat", "hi"}, "name"},
		"open to the world":    {[]string{data, "serve", "--addr", "0.0.0.0:0"}, "TRIBUTARY_API_KEY"},
		"bad address":          {[]string{data, "serve", "--addr", "nonsense"}, "host and a port"},
		"unknown flag":         {[]string{"events", "--nosuch"}, "tributary events --help"},
		"no runs yet":          {[]string{"--data", filepath.Join(dir, "empty"), "events"}, "tributary chat"},
		"unknown command":      {[]string{"frobnicate"}, "--help"},
		"unknown model":        {[]string{data, "chat", "--model", "gpt-99", "hi"}, "gpt-99"},
		"no such docs":         {[]string{data, "serve", "--docs", filepath.Join(dir, "nowhere")}, "nowhere"},
		"question is missing":  {[]string{data, "chat"}, "question"},
		"thread is not a uuid": {[]string{data, "chat", "--thread", "a/b", "hi"}, "thread"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, notes := invoke(t, c.args...)
			last := notes[strings.LastIndex(strings.TrimSuffix(notes, "\n"), "\n")+1:]
			if code != 1 || !strings.HasPrefix(last, "tributary: ") || !strings.Contains(last, c.want) || strings.Contains(notes, "goroutine ") {
				t.Errorf("exit %d, %q; want one sentence with %q", code, notes, c.want)
			}
		})
	}
}

// Whoever stops a program that is still starting is not told what it was doing.
func TestStoppedWhileItStarts(t *testing.T) {
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "a.md"), []byte("# A\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, notes strings.Builder
	code := command(ctx, []string{"--data", t.TempDir(), "serve", "--addr", "127.0.0.1:0", "--docs", docs}, strings.NewReader(""), &out, &notes)
	if code != 1 || notes.String() != "tributary: stopped\n" {
		t.Errorf("exit %d, %q", code, notes.String())
	}
}

func TestModelsSaysWhyOneCannotBeUsed(t *testing.T) {
	code, out, notes := invoke(t, "--data", t.TempDir(), "models")
	if code != 0 || !strings.Contains(out, "OPENAI_API_KEY is not set") || !regexp.MustCompile(`(?m)^offline .*ready$`).MatchString(out) {
		t.Errorf("exit %d, %s, %s", code, out, notes)
	}
	t.Setenv("OPENAI_API_KEY", "sk-canary-1234567890")
	code, out, notes = invoke(t, "--data", t.TempDir(), "models")
	if code != 0 || !regexp.MustCompile(`(?m)^openai .*ready$`).MatchString(out) || strings.Contains(out+notes, "canary") {
		t.Errorf("with a key: exit %d, %s, %s", code, out, notes)
	}
}

func TestVersion(t *testing.T) {
	if code, out, _ := invoke(t, "version"); code != 0 || !strings.HasPrefix(out, "tributary ") {
		t.Errorf("exit %d, %q", code, out)
	}
}

// served is the server as a user has it: started by the command, stopped by a signal.
type served struct {
	url  string
	stop func() int
	log  *syncBuilder
}

func serveOn(t *testing.T, dir string, args ...string) served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	pr, pw := io.Pipe()
	log := &syncBuilder{}
	code := make(chan int, 1)
	go func() {
		code <- command(ctx, append([]string{"--data", dir, "serve", "--addr", "127.0.0.1:0"}, args...), strings.NewReader(""), pw, log)
		_ = pw.Close()
	}()
	line, err := bufio.NewReader(pr).ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, pr) }()
	if err != nil {
		cancel()
		t.Fatalf("the server did not start: %v, %s", err, log)
	}
	stopped := false
	s := served{url: strings.TrimSpace(line[strings.Index(line, "http://"):]), log: log}
	s.stop = func() int {
		if stopped {
			return 0
		}
		stopped = true
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-code
	}
	t.Cleanup(func() { s.stop() })
	return s
}

type syncBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuilder) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuilder) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func get(t *testing.T, url string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestServeAnswersAndStopsInOrder(t *testing.T) {
	dir := t.TempDir()
	s := serveOn(t, dir)
	if status, body := get(t, s.url+"/ok"); status != 200 || body != `{"ok":true}` {
		t.Errorf("/ok: %d %s", status, body)
	}
	if status, body := get(t, s.url+"/info"); status != 200 || !strings.Contains(body, `"version"`) {
		t.Errorf("/info: %d %s", status, body)
	}
	if status, body := get(t, s.url+"/nowhere"); status != 404 || !json.Valid([]byte(body)) {
		t.Errorf("/nowhere: %d %s", status, body)
	}
	if status, _ := get(t, s.url+"/ok", "Host", "evil.example"); status != 403 {
		t.Errorf("another host's name: %d", status)
	}
	if status, _ := get(t, s.url+"/ok", "Origin", "https://evil.example"); status != 403 {
		t.Errorf("another origin: %d", status)
	}
	if code, _, notes := invoke(t, "--data", dir, "serve", "--addr", "127.0.0.1:0"); code != 1 || !strings.Contains(notes, "in use by another process") {
		t.Errorf("a second process on the same folder: exit %d, %s", code, notes)
	}
	start := time.Now()
	if code := s.stop(); code != 0 {
		t.Errorf("stopped with exit code %d: %s", code, s.log)
	}
	t.Logf("stopped after %v", time.Since(start))
	if _, err := os.Stat(filepath.Join(dir, addressFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the address of a server that has stopped is still there: %v", err)
	}
	if code, _, notes := invoke(t, "--data", dir, "chat", "hi"); code != 0 {
		t.Errorf("after the server has stopped: exit %d, %s", code, notes)
	}
}

func TestServeWithAKeyWantsToSeeIt(t *testing.T) {
	t.Setenv("TRIBUTARY_API_KEY", "secret-canary-0123")
	s := serveOn(t, t.TempDir())
	if status, body := get(t, s.url+"/threads/00000000-0000-7000-8000-000000000000/state"); status != 401 || strings.Contains(body, "canary") {
		t.Errorf("without a key: %d %s", status, body)
	}
	if status, _ := get(t, s.url+"/threads/00000000-0000-7000-8000-000000000000/state", "X-Api-Key", "secret-canary-0123"); status == 401 {
		t.Errorf("with the key: %d", status)
	}
	if strings.Contains(s.log.String(), "canary") {
		t.Errorf("the log shows the key: %s", s.log)
	}
}
