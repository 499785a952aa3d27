package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

// stubborn answers each call with the next of its bodies, and then always with the last.
func stubborn(t *testing.T, bodies ...string) string {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		body := bodies[0]
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "tributary.yaml")
	text := fmt.Sprintf("models: [{name: mine, provider: acme, model: m, base_url: %q}]\nretry: {backoff: 1ms}\nmemory: {enabled: false}\n", server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func pieceOf(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

const finished = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// What cannot be taken back is not printed before it is whole.
func TestABrokenTryIsNotGluedToTheNext(t *testing.T) {
	for _, flags := range [][]string{{"-q"}, nil} {
		config := stubborn(t, pieceOf(`{"content":"Half an ans"}`), pieceOf(`{"content":"Half an answer."}`)+finished)
		code, out, notes := invoke(t, append([]string{"--config", config, "--data", t.TempDir(), "chat", "say half"}, flags...)...)
		if code != 0 || out != "Half an answer.\n" {
			t.Errorf("%v: exit %d, %q, %s", flags, code, out, notes)
		}
	}
}

func TestReasoningAndWebCitationsAreShown(t *testing.T) {
	answer := pieceOf(`{"reasoning_content":"Let me look."}`) + pieceOf(`{"content":"3.20 m."}`) +
		pieceOf(`{"annotations":[{"type":"url_citation","url_citation":{"url":"https://example.org/level","title":"The level","start_index":0,"end_index":7}}]}`) + finished
	config := stubborn(t, answer)
	code, out, notes := invoke(t, "--config", config, "--data", t.TempDir(), "chat", "how high?")
	if code != 0 || out != "3.20 m.\n" || !strings.Contains(notes, "∴ Let me look.\n") || !strings.Contains(notes, "· The level  https://example.org/level\n") {
		t.Errorf("exit %d, %q, %s", code, out, notes)
	}
	code, out, notes = invoke(t, "--config", config, "--data", t.TempDir(), "chat", "--json", "how high?")
	if code != 0 || notes != "" {
		t.Fatalf("exit %d, %s", code, notes)
	}
	var kinds []string
	var end struct{ Thread, Text string }
	for line := range strings.Lines(out) {
		var e struct{ Event string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if kinds = append(kinds, e.Event); e.Event == "end" {
			_ = json.Unmarshal([]byte(line), &end)
		}
	}
	if got := strings.Join(kinds, " "); got != "reasoning text source end" || end.Text != "3.20 m." || end.Thread == "" {
		t.Errorf("got %s, %+v", got, end)
	}
}

func TestAThreadThatIsNotThereIsAMistake(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"0197c1d2-0000-7000-8000-000000000000", "a/b", "nonsense"} {
		code, out, notes := invoke(t, "--data", dir, "chat", "--thread", id, "hi")
		if code != 1 || out != "" || !strings.Contains(notes, fmt.Sprintf("there is no thread %q; tributary threads lists", id)) {
			t.Errorf("%s: exit %d, %q, %s", id, code, out, notes)
		}
	}
	code, _, notes := invoke(t, "--data", dir, "threads")
	if code != 1 || !strings.Contains(notes, "there are no conversations yet") {
		t.Errorf("a thread was made: exit %d, %s", code, notes)
	}
}

func TestNothingIsNoQuestion(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, args := range map[string][]string{"nothing": {"chat"}, "blank": {"chat", " "}} {
		var out, notes strings.Builder
		code := command(t.Context(), append([]string{"--data", t.TempDir()}, args...), null, &out, &notes)
		if code != 1 || !strings.Contains(notes.String(), "there is no question") {
			t.Errorf("%s: exit %d, %s", name, code, notes.String())
		}
	}
}

// full is an output without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

func TestAnOutputThatCannotBeWrittenIsAMistake(t *testing.T) {
	for _, args := range [][]string{{"chat", "count to two"}, {"chat", "--json", "count to two"}, {"models"}, {"version"}} {
		var notes strings.Builder
		code := command(t.Context(), append([]string{"--data", t.TempDir()}, args...), strings.NewReader(""), full{}, &notes)
		if code != 1 || !strings.HasSuffix(notes.String(), "tributary: the output cannot be written: write /dev/stdout: no space left on device; free some space where it goes, or send it somewhere else\n") {
			t.Errorf("%v: exit %d, %s", args, code, notes.String())
		}
	}
}

func TestThreadsAreListedAndSearched(t *testing.T) {
	dir := t.TempDir()
	for _, question := range []string{"count to two", "count to fifteen", "count to three"} {
		if code, _, notes := invoke(t, "--data", dir, "chat", question); code != 0 {
			t.Fatal(notes)
		}
	}
	code, out, notes := invoke(t, "--data", dir, "threads")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 4 || !strings.Contains(strings.ToLower(lines[1]), "count to three") || !strings.Contains(strings.ToLower(lines[3]), "count to two") {
		t.Fatalf("exit %d, %s%s", code, out, notes)
	}
	code, out, notes = invoke(t, "--data", dir, "threads", "--json", "COUNT", "thirteen")
	var line threadLine
	if err := json.Unmarshal([]byte(out), &line); code != 0 || err != nil || line.Messages != 2 || !strings.Contains(line.Found, "fifteen") {
		t.Fatalf("exit %d, %v, %s%s", code, err, out, notes)
	}
	if code, out, notes := invoke(t, "--data", dir, "chat", "-q", "--thread", line.Thread, "count to one"); code != 0 || out != "one\n" {
		t.Errorf("exit %d, %q, %s", code, out, notes)
	}
	if code, _, notes := invoke(t, "--data", dir, "threads", "--most", "1"); code != 0 || !strings.Contains(notes, "1 of 3; --most lists more") {
		t.Errorf("exit %d, %s", code, notes)
	}
	if code, _, notes := invoke(t, "--data", dir, "threads", "crocodile"); code != 1 || !strings.Contains(notes, `in none of 3 conversations was "crocodile" said; try fewer words`) {
		t.Errorf("exit %d, %s", code, notes)
	}
}

// patient answers a question when it is told to, or never.
type patient struct{ asked chan string }

func (p patient) find(context.Context, string) error { return nil }

func (p patient) ask(ctx context.Context, pr *printer, q question) error {
	pr.thread = "t-1"
	p.asked <- q.text
	if q.text == "wait" {
		<-ctx.Done()
		return errStopped
	}
	if q.text == "fail" {
		return errors.New("no")
	}
	return nil
}

// Ctrl-C stops an answer and not the conversation; pressed twice while nothing is asked, it ends that.
func TestInterruptsInAConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &interrupts{}
		ctx := context.WithValue(t.Context(), interruptsKey{}, i)
		typed, keyboard := io.Pipe()
		var out, notes strings.Builder
		e := &env{ctx: ctx, stdin: typed, stdout: &out, stderr: &notes, config: Config{Data: "/somewhere"}}
		a := patient{make(chan string)}
		done := make(chan error)
		go func() { done <- (chatCmd{}).converse(newPrinter(e, false, false, ""), a) }()
		say := func(line string) {
			if _, err := io.WriteString(keyboard, line+"\n"); err != nil {
				t.Error(err)
			}
			if got := <-a.asked; got != line {
				t.Errorf("asked %q, want %q", got, line)
			}
			synctest.Wait()
		}
		press := func() {
			if !i.pass() {
				t.Error("Ctrl-C is not the conversation's")
			}
			synctest.Wait()
		}
		say("wait")
		press()
		say("fail") // the conversation goes on
		say("again")
		press()
		press()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if i.pass() {
			t.Error("Ctrl-C was not given back")
		}
		_ = keyboard.Close()
		if got := notes.String(); !regexp.MustCompile(`(?s)× stopped\n.*tributary: no\n.*Ctrl-C again ends the conversation.*Come back with: tributary --data /somewhere chat --thread t-1\n$`).MatchString(got) {
			t.Errorf("the notes are %s", got)
		}
	})
}

func TestColoursAreForTerminalsAlone(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) || isTerminal(&output{to: null}) || isTerminal(&strings.Builder{}) || styled(null) {
		t.Error("what is no terminal is taken for one")
	}
	if got := harmless("a\x1b[31mb\a\u009bc\td\n"); got != "a[31mbc\td\n" {
		t.Errorf("got %q", got)
	}
}

func TestMistypedCommandLinesAreToldInOurWords(t *testing.T) {
	for want, args := range map[string][]string{
		"tributary: the question is missing (try tributary research --help)\n":                                                         {"research"},
		"tributary: unexpected argument chek (try tributary models list --help)\n":                                                     {"models", "chek"},
		"tributary: folder: stat /nope: no such file or directory (try tributary docs add --help)\n":                                   {"docs", "add", "/nope"},
		`tributary: --model: there is no model "nope"; the models are offline; tributary models says why others cannot be used` + "\n": {"chat", "--model", "nope", "hi"},
	} {
		code, out, notes := invoke(t, append([]string{"--data", t.TempDir()}, args...)...)
		if code != 1 || out != "" || notes != want {
			t.Errorf("%v: exit %d, %q, %q, want %q", args, code, out, notes, want)
		}
	}
}

// Colours that nobody wants are not drawn; what moves the cursor is.
func TestDrawnLinesObeyNoColor(t *testing.T) {
	for value, want := range map[string]string{"": "\r\x1b[2K\x1b[2ma\x1b[0m\n\x1b[J", "1": "\r\x1b[2Ka\n\x1b[J"} {
		t.Setenv("NO_COLOR", value)
		var out strings.Builder
		(&living{out: &out, live: true, width: 80}).draw([]string{"\x1b[2ma\x1b[0m"})
		if out.String() != want {
			t.Errorf("NO_COLOR=%s: got %q, want %q", value, out.String(), want)
		}
	}
}
