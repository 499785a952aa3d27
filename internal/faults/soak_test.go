package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// soak skips a test unless somebody has time for it.
func soak(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("FAULTS_SOAK") == "" {
		t.Skip("takes minutes; run it with make soak")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// calm is what drive is given where nobody disturbs the server.
func calm() <-chan struct{} {
	quiet := make(chan struct{})
	close(quiet)
	return quiet
}

// mount makes a file system in a file: small, and gone after the test. It needs root.
func mount(t *testing.T, megabytes int) (dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	dir = t.TempDir()
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(int64(megabytes)<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", args[0], err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// TestSoakFullDisk fills the disk under a server that streams. It must live, answer 503 at once, still serve what it has, and go on
// without a restart when there is room again; no run may be lost.
func TestSoakFullDisk(t *testing.T) {
	ctx := soak(t)
	w := &world{t: t, seed: seedOf(t), data: filepath.Join(mount(t, 48), "data"), provider: startProvider(t)}
	w.host = newHost(t, mortal(t, w.data, w.provider.URL()))
	w.host.mustStart(t)
	w.warm(ctx)
	order := func(_ int, key string) faults.Order {
		return faults.Order{Key: key, Words: 200, GapMS: 20, Effect: true}
	}
	type result struct{ all []evidence }
	quiet := make(chan struct{})
	done := make(chan result, 1)
	go func() {
		done <- result{w.drive(ctx, load{runs: 20, order: order, wires: mixedWires}, quiet)}
	}()
	w.busy(ctx)
	wait(ctx, time.Second)
	free := fill(t, filepath.Dir(w.data))
	t.Log("the disk is full")

	// There is no room for a new block; in its own files the server may find a little, when it begins its log anew. A run is
	// refused at once, or accepted, and then it is a promise like any other.
	refused := 0
	var accepted []string
	for range 10 {
		began := time.Now()
		code, body, _, err := w.host.call(ctx, "POST", "/runs",
			`{"assistant_id":"agent","on_completion":"keep","input":{"messages":[{"role":"user","content":"{\"key\":\"full\",\"words\":1}"}]}}`)
		if took := time.Since(began); err != nil || took > time.Second {
			t.Errorf("with a full disk: %d %v after %v", code, err, took)
		}
		var run struct {
			ID string `json:"run_id"`
		}
		switch {
		case code == http.StatusServiceUnavailable && strings.Contains(string(body), `"error"`):
			refused++
		case code == http.StatusOK && json.Unmarshal(body, &run) == nil && run.ID != "":
			accepted = append(accepted, run.ID)
		default:
			t.Errorf("with a full disk: %d %s", code, body)
		}
		wait(ctx, 200*time.Millisecond)
	}
	t.Logf("%d runs were refused and %d accepted", refused, len(accepted))
	if refused == 0 {
		t.Error("the disk was not full: nothing was put to the test")
	}
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		if code, body, _, err := w.host.call(ctx, "GET", path, ""); err != nil || code != want {
			t.Errorf("%s with a full disk: %d %s %v, want %d", path, code, body, err, want)
		}
	}
	if code, _, _, err := w.host.call(ctx, "GET", "/tasks?limit=5", ""); err != nil || code != http.StatusOK {
		t.Errorf("reading with a full disk: %d %v", code, err)
	}
	if !w.host.alive() {
		t.Fatal("the server has died of it")
	}
	free()
	close(quiet)
	until := time.Now().Add(20 * time.Second)
	for {
		code, _, _, err := w.host.call(ctx, "POST", "/tasks", `{"input":"{\"key\":\"room\",\"words\":1}","stream":true}`)
		if err == nil && code == http.StatusOK {
			t.Logf("works again after %v", time.Since(until.Add(-20*time.Second)).Round(time.Millisecond))
			break
		}
		if time.Now().After(until) {
			t.Fatalf("20 seconds after there was room again: %d %v", code, err)
		}
		wait(ctx, 50*time.Millisecond)
	}
	w.judge(ctx, (<-done).all)
	for _, id := range accepted {
		if code, body, _, err := w.host.call(ctx, "GET", "/tasks/"+id, ""); err != nil || code != http.StatusOK || !strings.Contains(string(body), `"status":"completed"`) {
			t.Errorf("run %s was accepted with a full disk and is now %d %v %s", id, code, err, body)
		}
	}
}

// fill uses up all room on a disk; free gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 64<<10)
	for {
		if _, err := f.Write(block); err != nil {
			if len(block) > 512 { // to the last bit
				block = block[:len(block)/2]
				continue
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			break
		}
	}
	_ = f.Sync() // it may say once more that there is no room
	return func() {
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			t.Error(err)
		}
	}
}

// TestSoakTerminated asks the server to end again and again in the middle of 200 runs. Each time it must end in good order within its
// drain time, and the next process must go on: no run fails.
func TestSoakTerminated(t *testing.T) {
	ctx := soak(t)
	w := newWorld(t)
	before := w.warm(ctx)
	rng := rand.New(rand.NewPCG(w.seed, 2))
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		for i := range 8 {
			w.busy(ctx)
			wait(ctx, 300*time.Millisecond+time.Duration(rng.IntN(900))*time.Millisecond)
			began := time.Now()
			if err := w.host.stop(15 * time.Second); err != nil {
				t.Errorf("terminated: %v", err)
			}
			t.Logf("time %d: ended within %v", i+1, time.Since(began).Round(time.Millisecond))
			if err := w.host.start(); err != nil {
				t.Errorf("restart: %v", err)
				return
			}
		}
	}()
	all := w.drive(ctx, load{
		runs: 200, spread: 5 * time.Second, wires: mixedWires,
		order: func(_ int, key string) faults.Order {
			return faults.Order{Key: key, Words: 60, GapMS: 40, Effect: true}
		},
	}, quiet)
	w.judge(ctx, all)
	t.Log(w.host.revival(all))
	w.flat(ctx, before)
}

// hold holds a server that was killed to the bars.
func (r revival) hold(t *testing.T) {
	t.Helper()
	if up := r.starts.most(); up > upWithin {
		t.Errorf("back up only %v after a restart; the bar is %v", up, upWithin)
	}
	if quiet := r.silence.most(); quiet > quietAtMost {
		t.Errorf("a reader heard nothing for %v while there was a server; the bar is %v: %s", quiet, quietAtMost, r.where)
	}
}

// TestSoakThousand is TestKilledServer with a thousand runs.
func TestSoakThousand(t *testing.T) {
	soak(t)
	w := newWorld(t)
	w.tell(10 * time.Second)
	killed(t, w, 1000, 3).hold(t)
}

// TestSoakSeeds is TestKilledServer with as many seeds as -seeds says, one after the other.
func TestSoakSeeds(t *testing.T) {
	soak(t)
	for i := range *seeds {
		ok := t.Run(fmt.Sprint(i+1), func(t *testing.T) { killed(t, newWorld(t), 200, 5).hold(t) })
		t.Logf("%d of %d seeds: %s", i+1, *seeds, map[bool]string{true: "held", false: "broken"}[ok])
	}
}

var (
	seeds    = flag.Int("seeds", 20, "how many seeds TestSoakSeeds tries")
	mixedFor = flag.Duration("for", 2*time.Hour, "how long TestSoakMix goes on")
)

// TestSoakMix lets everything happen at once for as long as -for says: kills, pauses, readers that leave, providers that fail. Afterwards the
// server must hold no more than before.
func TestSoakMix(t *testing.T) {
	soak(t)
	ctx, cancel := context.WithTimeout(t.Context(), *mixedFor+10*time.Minute)
	defer cancel()
	w := newWorld(t)
	w.tell(time.Minute)
	before := w.warm(ctx)
	rng := rand.New(rand.NewPCG(w.seed, 3))
	kinds := []faults.Fault{{Kind: faults.Reset, After: 9}, {Kind: faults.Cut, After: 5}, {Kind: faults.Garbage, After: 7}, {Kind: faults.Status, Code: 500}}
	for round, until := 0, time.Now().Add(*mixedFor); time.Now().Before(until) && !t.Failed(); round++ {
		l := load{
			runs: 50 + rng.IntN(150), spread: 2 * time.Second, leave: 0.01 * float64(rng.IntN(5)), wires: mixedWires,
			order: func(i int, key string) faults.Order {
				o := faults.Order{Key: fmt.Sprintf("r%d%s", round, key), Words: 20 + i%60, GapMS: 10 + i%40, Effect: i%3 > 0}
				if i%7 == 0 {
					o.Faults = kinds[i%len(kinds):][:1]
				}
				return o
			},
		}
		w.seed = rng.Uint64()
		w.judge(ctx, w.drive(ctx, l, w.disturb(ctx, rng.IntN(4), 300*time.Millisecond, 2*time.Second)))
	}
	t.Log(w.progress())
	w.flat(ctx, before)
}

// tell logs now and then how far a world is, until the test ends.
func (w *world) tell(every time.Duration) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.Tick(every); ; {
			select {
			case <-tick:
				w.t.Log(w.progress())
			case <-stop:
				return
			}
		}
	}()
	w.t.Cleanup(func() { close(stop); <-stopped })
}

// progress says how far a world is.
func (w *world) progress() string {
	w.host.mu.Lock()
	kills := len(w.host.downs)
	w.host.mu.Unlock()
	s := fmt.Sprintf("%d runs begun, %d read to their end, %d restarts", w.begun.Load(), w.ended.Load(), kills)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if u, err := w.host.holding(ctx); err == nil {
		s += fmt.Sprintf("; the server holds %v", u)
	}
	return s
}
