package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/faults"
	"github.com/tributary-ai/tributary/internal/journal"
	runs "github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/transcript"
)

const leadThread = "0190a000-0000-7000-8000-00000000001e"

// unknown is what a model is told of a call that may not be made twice, and in which the process died.
const unknown = "The outcome of this call is unknown"

// TestTheLeadAgentKilledAndGoneOn kills the server (SIGKILL) while its lead agent tells the story of command mortal, when a reader has seen
// some frame of it; another goes on to the same end. Those around the payments that a person approved are among the frames: each payment is made
// once, or its outcome is told as unknown, and never twice.
func TestTheLeadAgentKilledAndGoneOn(t *testing.T) {
	whole := tellLead(t, 0)
	for _, want := range []string{"All is done, and it is written down.", `["/mnt/user-data/outputs/water.md"]`, `title: "Look at water"`, `goal: achieved`} {
		if !strings.Contains(whole.digest, want) {
			t.Errorf("the story without a kill does not have %s:\n%s", want, whole.digest)
		}
	}
	if len(whole.paid) != 2 || whole.file != "Water is wet." || len(whole.around) == 0 {
		t.Fatalf("paid %q, the file says %q, %d frames are around payments", whole.paid, whole.file, len(whole.around))
	}
	rng := rand.New(rand.NewPCG(seedOf(t), 7))
	points := whole.around
	for range 6 {
		points = append(points, 1+rng.IntN(whole.frames*9/10)) // another telling may have a few frames less
	}
	slices.Sort(points)
	for _, n := range slices.Compact(points) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			tellLead(t, n).mustBe(t, whole)
		})
	}
}

// TestSoakTheLeadAgentKilledAtEveryFrame tries every frame.
func TestSoakTheLeadAgentKilledAtEveryFrame(t *testing.T) {
	soak(t)
	whole := tellLead(t, 0)
	for n := 1; n <= whole.frames; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			tellLead(t, n).mustBe(t, whole)
		})
	}
}

// leadEnd is what a story left.
type leadEnd struct {
	digest string   // of the thread
	paid   []string // calls, once for each payment
	frames int
	around []int // the frames at which payments are told of
	file   string
}

func (got leadEnd) mustBe(t *testing.T, whole leadEnd) {
	t.Helper()
	lost := unknownCalls(got.digest)
	for _, call := range []string{"pay_1", "pay_2"} {
		made := 0
		for _, id := range got.paid {
			if id == call {
				made++
			}
		}
		if made > 1 || made == 0 && !slices.Contains(lost, call) {
			t.Errorf("the payment %s was made %d times; the outcomes of %q are not known", call, made, lost)
		}
	}
	if len(lost) > 0 {
		t.Logf("the outcomes of %q are told as unknown; paid %q", lost, got.paid)
		return // the model was told other things, and the story may go on otherwise
	}
	if got.digest != whole.digest || got.file != whole.file {
		t.Errorf("the file says %q, want %q; the thread has\n%s\nwant\n%s", got.file, whole.file, got.digest, whole.digest)
	}
}

// tellLead tells the story in servers of which the first is killed when a reader has seen n frames; 0: none is.
func tellLead(t *testing.T, n int) leadEnd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	l := &leadStory{t: t, data: t.TempDir(), fatal: n}
	l.host = newHost(t, mortal(t, l.data, "http://127.0.0.1:1", "-lead"))
	l.host.mustStart(t)
	first := l.start(ctx, map[string]any{"input": map[string]any{"messages": []any{map[string]string{"role": "user", "content": "Look at water."}}}})
	if status := l.follow(ctx, first); status != "input_required" {
		t.Fatalf("the first run ended %s; it is to ask", status)
	}
	second := l.start(ctx, map[string]any{"command": map[string]any{"resume": l.answers(ctx)}})
	if status := l.follow(ctx, second); status != "completed" {
		t.Fatalf("the second run ended %s", status)
	}
	if n > 0 && l.kills == 0 {
		t.Logf("this time the story had only %d frames", l.seen)
	}
	out := leadEnd{digest: l.digest(ctx), frames: l.seen, around: l.around}
	l.host.kill()
	paid, err := os.ReadFile(filepath.Join(l.data, "paid"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out.paid = strings.Fields(string(paid))
	files, err := filepath.Glob(filepath.Join(l.data, "threads", "*", "*", "outputs", "water.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out.file += string(raw)
	}
	l.lawful(first, second)
	return out
}

// leadStory is the story while it is told.
type leadStory struct {
	t      *testing.T
	data   string
	host   *host
	fatal  int // the frame at which the server is killed; 0: none
	seen   int // frames, of both runs
	kills  int
	around []int
}

// start asks for a run. A server that is killed meanwhile has accepted it, or it has not: then it is asked again.
func (l *leadStory) start(ctx context.Context, request map[string]any) string {
	l.t.Helper()
	request["assistant_id"], request["if_not_exists"] = "agent", "create"
	request["config"] = map[string]any{"configurable": map[string]any{"is_plan_mode": true, "subagent_enabled": true, "goal": "water is looked at"}}
	body, err := json.Marshal(request)
	if err != nil {
		l.t.Fatal(err)
	}
	code, data, _, err := l.host.call(ctx, "POST", "/threads/"+leadThread+"/runs", string(body))
	var run struct {
		ID string `json:"run_id"`
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(data, &run) != nil {
		l.t.Fatalf("start: %d %v %s", code, err, data)
	}
	return run.ID
}

// follow reads a run to its end, over as many connections and servers as that takes, and kills one of them. It returns how the run ended.
func (l *leadStory) follow(ctx context.Context, run string) (status string) {
	l.t.Helper()
	last := -1
	for ctx.Err() == nil {
		err := l.connection(ctx, run, last, func(f faults.Frame) bool {
			if id, err := strconv.Atoi(f.ID); err != nil || id != last+1 {
				l.t.Fatalf("frame %q follows %d", f.ID, last)
			}
			last++
			l.seen++
			var said struct {
				Type string `json:"type"`
				Task string `json:"task_id"`
			}
			if err := json.Unmarshal(f.Data, &said); err != nil {
				l.t.Fatalf("%s: %v", f.Data, err)
			}
			if said.Type == "task.tool_progress" {
				l.around = append(l.around, l.seen)
			}
			if word, ok := strings.CutPrefix(said.Type, "task."); ok && said.Task == run && slices.Contains([]string{"completed", "failed", "canceled", "expired", "input_required"}, word) {
				status = word
			}
			if l.seen == l.fatal {
				l.host.kill()
				l.kills++
				return false
			}
			return true
		})
		if status != "" {
			break
		}
		if !l.host.alive() {
			l.host.mustStart(l.t)
		} else if err != nil && !errors.Is(err, io.EOF) {
			wait(ctx, 20*time.Millisecond)
		}
	}
	if !l.host.alive() { // it was killed at the last frame
		l.host.mustStart(l.t)
	}
	return status
}

func (l *leadStory) connection(ctx context.Context, run string, last int, add func(faults.Frame) bool) error {
	req, err := http.NewRequestWithContext(ctx, "GET", l.host.base()+"/tasks/"+run+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Last-Event-ID", strconv.Itoa(last))
	res, err := l.host.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		l.t.Fatalf("after %d: %s %s", last, res.Status, body)
	}
	return readSSE(res.Body, add)
}

// state is the thread's, as LangGraph's wire shows it.
func (l *leadStory) state(ctx context.Context) (s struct {
	Values map[string]json.RawMessage
	Tasks  []struct {
		Interrupts []struct {
			ID    string
			Value json.RawMessage
		}
	}
}) {
	l.t.Helper()
	code, data, _, err := l.host.call(ctx, "GET", "/threads/"+leadThread+"/state", "")
	if err != nil || code != http.StatusOK || json.Unmarshal(data, &s) != nil {
		l.t.Fatalf("state: %d %v %s", code, err, data)
	}
	return s
}

// answers approve what is to be approved, and answer what is asked.
func (l *leadStory) answers(ctx context.Context) map[string]string {
	l.t.Helper()
	out := map[string]string{}
	for _, task := range l.state(ctx).Tasks {
		for _, q := range task.Interrupts {
			out[q.ID] = "the blue one"
			if strings.Contains(string(q.Value), `"tool_approval"`) {
				out[q.ID] = "approve"
			}
		}
	}
	if len(out) != 3 {
		l.t.Fatalf("the thread asks %v; it is to ask for two payments and a choice", out)
	}
	return out
}

// digest is what the thread has: of the messages what they say, and the other fields as they are.
func (l *leadStory) digest(ctx context.Context) string {
	l.t.Helper()
	s := l.state(ctx)
	var msgs []struct {
		Type, Content, Name string
		CallID              string `json:"tool_call_id"`
		Calls               []struct {
			ID   string
			Name string
			Args json.RawMessage
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(s.Values["messages"], &msgs); err != nil {
		l.t.Fatalf("%v: %s", err, s.Values["messages"])
	}
	var b strings.Builder
	for _, m := range msgs {
		fmt.Fprintf(&b, "%s %s %.200q", m.Type, m.CallID, m.Content)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Args)
		}
		b.WriteByte('\n')
	}
	for _, f := range []string{"title", "todos", "artifacts", "delegations", "skill_context", "promoted"} {
		fmt.Fprintf(&b, "%s: %s\n", f, s.Values[f])
	}
	var goal struct{ Status, Reason string } // beside ids of messages, which are others each time
	if err := json.Unmarshal(s.Values["goal"], &goal); err != nil {
		l.t.Fatalf("%v: %s", err, s.Values["goal"])
	}
	fmt.Fprintf(&b, "goal: %s, %s\n", goal.Status, goal.Reason)
	return b.String()
}

// unknownCalls are the calls whose outcome is told as unknown.
func unknownCalls(digest string) (out []string) {
	for line := range strings.Lines(digest) {
		if fields := strings.Fields(line); strings.Contains(line, unknown) && len(fields) > 1 {
			out = append(out, fields[1])
		}
	}
	return out
}

// lawful holds the journals to the laws.
func (l *leadStory) lawful(ids ...string) {
	l.t.Helper()
	db, err := sqlite.Open(l.t.Context(), l.data, sqlite.Options{ReadOnly: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	log := journal.Open(db, journal.Options{})
	defer log.Close()
	for _, id := range ids {
		if r, err := db.Run(l.t.Context(), server.Local, id); err != nil || !slices.Contains([]runs.Status{runs.Success, runs.Interrupted}, r.Status) {
			l.t.Errorf("run %s is %s (%v)", id, r.Status, err)
		}
		var events []event.Envelope
		for env, err := range log.Read(l.t.Context(), id, 0) {
			if err != nil {
				l.t.Fatal(err)
			}
			events = append(events, env)
		}
		if err := transcript.Check(slices.Values(events)); err != nil {
			l.t.Errorf("run %s: %v", id, err)
		}
	}
}
