package tributary_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

const teamChildEnv = "TRIBUTARY_TEAM_CHILD"

const teamThread = "00000000-0000-7000-8000-00000000000a"

// A real process is killed with SIGKILL when it has told its n-th event, and another goes on. What somebody saw stays, the team ends
// once, each expert has one result with its whole text, and what was said to one of them was said once, and heard.
func TestAKilledProcessLosesNothingOfATeam(t *testing.T) {
	for n := 2; ; n += 9 {
		dir := t.TempDir()
		saw, done := teamLife(t, dir, n)
		if done {
			if n < 20 {
				t.Errorf("the team has ended after %d events: the test is too kind", n)
			}
			return
		}
		whole, done := teamLife(t, dir, 0)
		if !done {
			t.Fatalf("killed after %d events: the second process did not end the team", n)
		}
		mustAgree(t, "the team's", saw, whole)
		mustBeWhole(t, n, whole)
	}
}

// teamLife starts a process and kills it when it has told n events; for 0 it lives.
func teamLife(t *testing.T, dir string, n int) (lines []string, done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), teamChildEnv+"="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewReaderSize(out, 1<<20); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		if line == "done\n" {
			done = true
			continue
		}
		if lines = append(lines, strings.TrimSuffix(line, "\n")); len(lines) == n {
			_ = cmd.Process.Signal(syscall.SIGKILL)
		}
	}
	// One that was killed at its last event may have been quicker.
	if err := cmd.Wait(); done && err != nil && (n == 0 || len(lines) < n) {
		t.Errorf("the process ended with %v", err)
	}
	return lines, done
}

func mustBeWhole(t *testing.T, n int, lines []string) {
	t.Helper()
	var events []event.Envelope
	var raw []wire.Frame
	p := teamwire.New()
	for _, line := range lines {
		var env event.Envelope
		if err := json.Unmarshal([]byte(line), &env); err != nil {
			t.Fatal(err)
		}
		events = append(events, env)
		var err error
		if raw, err = p.Project(raw, &env); err != nil {
			t.Fatal(err)
		}
	}
	if err := transcript.Check(slices.Values(events)); err != nil {
		t.Errorf("killed after %d events: %v", n, err)
	}
	results, spoken := map[string]string{}, 0
	for i, data := range raw {
		var f teamwire.Frame
		if err := json.Unmarshal(data.Data, &f); err != nil {
			t.Fatal(err)
		}
		if (f.Type == "team_formed") != (i == 0) || (f.Type == "team_dissolved") != (i == len(raw)-1) {
			t.Errorf("killed after %d events: frame %d of %d is %s", n, i, len(raw), f.Type)
		}
		switch f.Type {
		case "expert_result":
			if results[f.Expert] != "" {
				t.Errorf("killed after %d events: %s has two results", n, f.Expert)
			}
			results[f.Expert] = *f.Content
		case "team_spoken":
			spoken++
		case "team_synthesis":
			results["lead"] = *f.Content
		}
	}
	// Words that come when she has just ended are for the lead, who reads all of them.
	heard := results["ada"] == adaHeard
	if spoken > 1 || heard && spoken == 0 || (results["lead"] == leadHeard) != (spoken == 1) || !heard && results["ada"] != adaSays || results["ben"] != benSays {
		t.Errorf("killed after %d events: %d words, and the results are %q", n, spoken, results)
	}
}

// From here on: the process that is killed.

const (
	adaSays  = "Rivers rise when it rains."
	adaHeard = "Rivers rise, and I mind the tides."
	benSays  = "Seas fall when it does not."

	leadHeard = "Both are so, and we mind the tides."
)

// teamChild asks a team, or goes on with it, speaks to Ada when she has begun, and prints what a follower sees.
func teamChild(dir string) error {
	ctx := context.Background()
	m := scripted.New(func(req model.Request) scripted.Script {
		heard := slices.ContainsFunc(req.Messages, func(m item.Message) bool { return strings.HasPrefix(m.ID, "spoken_") })
		say := scripted.Every(4 * time.Millisecond)
		switch {
		case strings.HasPrefix(req.System, "You are ada,") && heard:
			return say.Words(adaHeard)
		case strings.HasPrefix(req.System, "You are ada,"):
			return say.Words(adaSays)
		case strings.HasPrefix(req.System, "You are ben,"):
			return say.Words(benSays)
		}
		if strings.Contains(req.Messages[0].Text(), "Mind the tides.") {
			return say.Words(leadHeard)
		}
		return say.Words("Both are so.")
	})
	rt, err := tributary.Open(ctx, tributary.Options{Dir: dir, Team: true, Models: tributary.OneModel(m), MaxAttempts: 100})
	if err != nil {
		return err
	}
	runs, _, err := rt.Runs(ctx, "", tributary.RunQuery{Thread: teamThread})
	if err != nil {
		return err
	}
	events := rt.Stream(ctx, tributary.Request{Assistant: tributary.TeamGraph, Thread: teamThread, Text: "What does water do?",
		Configurable: json.RawMessage(`{"team":{"experts":[{"name":"ada","role":"rivers"},{"name":"ben","role":"seas"}]}}`)})
	if len(runs) > 0 {
		events = rt.Follow(ctx, "", runs[0].ID, tributary.Position{})
	}
	for env, err := range events {
		if err != nil {
			return err
		}
		line, err := json.Marshal(env)
		if err != nil {
			return err
		}
		fmt.Println(string(line))
		if _, speaks := env.Event.(event.TextDelta); speaks && env.Task == "views.ada" {
			err := rt.Speak(ctx, "", env.Run, tributary.Words{ID: "w1", To: "ada", Text: "Mind the tides."}) // again and again
			if err != nil && !errors.Is(err, tributary.ErrNotListening) {
				return err
			}
		}
	}
	fmt.Println("done")
	return rt.Close(ctx)
}
