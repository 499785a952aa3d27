package tributary_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// The process under test is this test binary, started again with childEnv set to a data folder.
const (
	childEnv  = "TRIBUTARY_CRASH_CHILD"
	crashRuns = 50
	crashes   = 5
)

// TestKilledProcessLosesNothing kills a real process with SIGKILL, again and again, in the middle of 50 concurrent
// runs, and restarts it on the same data. Then: every accepted run has ended well; what a follower had read is a
// prefix of what is read afterwards; the deltas of the final message are its text; and the tool, which appends a
// line to a file, did so at most once per call.
func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	saw := map[string][]string{} // lines by run, as followers received them, over all lives
	for life := 0; ; life++ {
		limit := time.Duration(0)
		if life < crashes {
			limit = time.Duration(50+rng.IntN(250)) * time.Millisecond
		}
		got, done := lifeOf(t, dir, limit)
		for run, lines := range got {
			mustAgree(t, run, saw[run], lines)
			if len(lines) > len(saw[run]) {
				saw[run] = lines
			}
		}
		if done {
			t.Logf("%d lives, %d events seen", life+1, count(saw))
			if life < crashes {
				t.Errorf("all runs ended before the process was killed %d times: the test is too kind", crashes)
			}
			break
		}
	}
	if len(saw) != crashRuns {
		t.Fatalf("%d runs were seen, want %d", len(saw), crashRuns)
	}
	mustHaveEnded(t, dir, saw)
	mustHaveActedOnce(t, dir)
}

func count(saw map[string][]string) (n int) {
	for _, lines := range saw {
		n += len(lines)
	}
	return n
}

// lifeOf starts the process and reads what its followers see until it is done, or is killed some time after it was
// first heard of: a slow machine must not make it die before it has begun.
func lifeOf(t *testing.T, dir string, limit time.Duration) (saw map[string][]string, done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	saw = map[string][]string{}
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if err != nil { // what has no newline was not received whole
			break
		}
		if limit > 0 && len(saw) == 0 {
			timer := time.AfterFunc(limit, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
			defer timer.Stop()
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "done":
			done = true
		case "event":
			run, data, _ := strings.Cut(rest, " ")
			saw[run] = append(saw[run], data)
		default:
			t.Errorf("the process says %q", line)
		}
	}
	_, _ = io.Copy(io.Discard, r)
	if err := cmd.Wait(); done && err != nil {
		t.Errorf("the process ended with %v", err)
	}
	return saw, done
}

// mustAgree says that of two readings of a run one is a prefix of the other.
func mustAgree(t *testing.T, run string, a, b []string) {
	t.Helper()
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("event %d of run %s was seen as\n%s\nand then as\n%s", i+1, run, a[i], b[i])
		}
	}
}

func mustHaveEnded(t *testing.T, dir string, saw map[string][]string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	j := journal.Open(db, journal.Options{})
	defer j.Close()
	attempts := 0
	for run, lines := range saw {
		var events []event.Envelope
		var final []string
		for env, err := range j.Read(t.Context(), run, 0) {
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(env)
			if err != nil {
				t.Fatal(err)
			}
			events, final = append(events, env), append(final, string(line))
		}
		if len(lines) > len(final) {
			t.Fatalf("a reader of run %s saw %d events of which %d are left", run, len(lines), len(final))
		}
		mustAgree(t, run, lines, final)
		if err := transcript.Check(slices.Values(events)); err != nil {
			t.Fatalf("run %s: %v", run, err)
		}
		end, ok := events[len(events)-1].Event.(event.RunEnded)
		if !ok || end.Status != event.Success {
			t.Fatalf("run %s ends with %+v", run, events[len(events)-1].Event)
		}
		var fold transcript.Fold
		for i := range events {
			_ = fold.Apply(&events[i])
		}
		if got := fold.FinalText(""); got != finalAnswer {
			t.Errorf("run %s answers %q", run, got)
		}
		attempts += fold.Attempt()
	}
	if attempts <= crashRuns {
		t.Errorf("no run was taken up again: the test is too kind")
	}
	t.Logf("%d attempts for %d runs", attempts, crashRuns)
}

func mustHaveActedOnce(t *testing.T, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		seen[line]++
		if seen[line] > 1 {
			t.Errorf("the tool acted twice on %q", line)
		}
	}
	t.Logf("%d effects", len(seen))
}

// From here on: the process that is killed.

const finalAnswer = "The effect was had, and this is the answer of several words that a reader would wait for."

// crashModel asks for the tool first, and answers when it has its result. It is slow enough to be killed in the middle.
func crashModel() model.Model {
	return scripted.New(func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == item.Tool {
			return scripted.Every(10 * time.Millisecond).Words(finalAnswer)
		}
		return scripted.Every(10*time.Millisecond).Think("this needs an effect").Words("Let me see to it first.").Call("call_1", "effect", `{"what":"a line in a file"}`)
	})
}

type effectArgs struct {
	What string `json:"what"`
}

// effect appends a line to a file: something that no crash takes back.
func effect(dir string) tool.Tool {
	return tool.FuncOfCall("effect", "has an effect", func(_ context.Context, c tool.Call, _ effectArgs) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintf(f, "%s %s\n", c.Run, c.ID)
		time.Sleep(20 * time.Millisecond) // a moment in which to die between effect and outcome
		return "done", err
	})
}

// crashChild starts what is left of the runs, follows all of them, and prints what its followers see.
func crashChild(dir string) error {
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Dir: dir, Models: tributary.OneModel(crashModel()), Tools: []tool.Tool{effect(dir)}})
	if err != nil {
		return err
	}
	// Accepted runs are noted by the test's own bookkeeping: one thread per run, found again by its id.
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := bufio.NewWriter(os.Stdout)
	show := func(env event.Envelope) {
		line, err := json.Marshal(env)
		if err != nil {
			panic(err)
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "event %s %s\n", env.Run, line)
		_ = out.Flush()
	}
	for i := range crashRuns {
		thread := fmt.Sprintf("00000000-0000-7000-8000-%012d", i)
		wg.Add(1)
		go func() {
			defer wg.Done()
			runs, _, err := rt.Runs(ctx, "", tributary.RunQuery{Thread: thread})
			events := rt.Stream(ctx, tributary.Request{Thread: thread, Text: "have an effect"})
			if err == nil && len(runs) > 0 {
				events = rt.Follow(ctx, "", runs[0].ID, tributary.Position{})
			}
			for env, err := range events {
				if err != nil {
					fmt.Fprintln(os.Stderr, "follow:", err)
					return
				}
				show(env)
			}
		}()
	}
	wg.Wait()
	if err := rt.Close(ctx); err != nil {
		return err
	}
	_, err = os.Stdout.Write(bytes.Join([][]byte{[]byte("done"), nil}, []byte("\n")))
	return err
}
