package faults_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to damage what the server keeps

	"github.com/tributary-ai/tributary/internal/faults"
)

// archive is a data folder whose every answer is known.
type archive struct {
	w      *world
	runs   []evidence
	bodies map[string][]byte // by path
	data   []byte            // of the database
}

// paths are what is asked about a run beside its streams.
func paths(e *evidence) []string {
	t := "/threads/" + e.thread
	return []string{t, t + "/runs", t + "/state", t + "/history", t + "/runs/" + e.Run + "/join", "/tasks/" + e.Run, "/tasks/" + e.Run + "/model-view"}
}

// newArchive runs a few runs, notes all that is said of them, and stops the server.
func newArchive(ctx context.Context, t *testing.T) *archive {
	t.Helper()
	a := &archive{w: newWorld(t), bodies: map[string][]byte{}}
	a.runs = a.w.drive(ctx, load{
		runs: 12, wires: func(int) []faults.Dialect { return []faults.Dialect{faults.TaskSSE, faults.LangGraph} },
		order: func(_ int, key string) faults.Order { return faults.Order{Key: key, Words: 40, GapMS: 1, Effect: true} },
	}, calm())
	a.w.judge(ctx, a.runs)
	for i := range a.runs {
		for _, path := range paths(&a.runs[i]) {
			code, body, _, err := a.w.host.call(ctx, "GET", path, "")
			if err != nil || code != 200 {
				t.Fatalf("%s: %d %v", path, code, err)
			}
			a.bodies[path] = body
		}
	}
	if err := a.w.host.stop(15 * time.Second); err != nil {
		t.Fatal(err)
	}
	var err error
	if a.data, err = os.ReadFile(filepath.Join(a.w.data, "tributary.db")); err != nil {
		t.Fatal(err)
	}
	return a
}

// damaged starts the server on a damaged copy and compares all that it says with what was said before. It returns how many answers
// were right, refused, and not found.
func (a *archive) damaged(ctx context.Context, t *testing.T, what string, data []byte) (right, refused, missing int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tributary.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, mortal(t, dir, a.w.provider.URL()))
	if err := h.start(); err != nil {
		if said := h.log.String(); !strings.Contains(said, "mortal: ") {
			t.Errorf("%s: the server does not start, and does not say why: %s", what, said)
		}
		t.Logf("%s: does not start: %s", what, tail(h.log.String(), 300))
		return 0, 1, 0
	}
	defer h.kill()
	wrong := 0
	for i := range a.runs {
		e := &a.runs[i]
		for _, path := range paths(e) {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			code, body, _, err := h.call(limited, "GET", path, "")
			cancel()
			switch {
			case limited.Err() == context.DeadlineExceeded:
				_, stacks, _, _ := h.call(ctx, "GET", "/debug/pprof/goroutine?debug=2", "") // as a hint only
				t.Errorf("%s: %s does not answer: %s", what, path, handlers(string(stacks)))
			case err != nil || code >= 500:
				refused++
			case code == 404, code == 410, code == 409:
				missing++
			case bytes.Equal(body, a.bodies[path]):
				right++
			default:
				if wrong++; wrong <= 3 {
					t.Errorf("%s: %s answers %d %s", what, path, code, difference(a.bodies[path], body))
				}
			}
		}
		for _, known := range e.Readings[len(e.Readings)-2:] {
			switch got, whole := a.replay(ctx, t, what, h, e, known); {
			case whole:
				right++
			case got == 0:
				missing++
			default:
				refused++
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d answers are wrong", what, wrong)
	}
	if !h.alive() {
		t.Errorf("%s: the server died: %s", what, tail(h.log.String(), 1000))
	}
	if refused > 0 && !strings.Contains(h.log.String(), "level=ERROR") {
		t.Errorf("%s: %d answers were refused, and the log does not say why", what, refused)
	}
	return right, refused, missing
}

// handlers picks the goroutines that serve a request.
func handlers(stacks string) string {
	var out []string
	for _, g := range strings.Split(stacks, "\n\n") {
		if strings.Contains(g, "server.(*Server)") {
			out = append(out, tail(g, 1500))
		}
	}
	return strings.Join(out, "\n\n")
}

// replay reads a stream once, and holds every frame against what it was.
func (a *archive) replay(ctx context.Context, t *testing.T, what string, h *host, e *evidence, known faults.Reading) (got int, whole bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	rd := &reader{host: h, dialect: known.Dialect, thread: e.thread, run: e.Run}
	done, _ := rd.connection(ctx) // whether it is whole is judged by what came
	frames := rd.got.Frames
	for i, f := range frames {
		if i >= len(known.Frames) || f.ID != known.Frames[i].ID || !bytes.Equal(f.Data, known.Frames[i].Data) {
			var was []byte
			if i < len(known.Frames) {
				was = known.Frames[i].Data
			}
			t.Errorf("%s: event %s of run %s is now %s", what, f.ID, e.Run, difference(was, f.Data))
			return i, false
		}
	}
	if done && len(frames) < len(known.Frames) {
		t.Errorf("%s: run %s seems to end after %d of %d events", what, e.Run, len(frames), len(known.Frames))
	}
	return len(frames), len(frames) == len(known.Frames)
}

// difference shows where two texts part.
func difference(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("…%.60q where it was …%.60q", b[min(from, len(b)):], a[min(from, len(a)):])
}

// TestSoakDamagedText flips a bit in stored words: in every kind of place where a text is kept, one after the other. The text may be
// refused from then on, but it may never be served otherwise than it was.
func TestSoakDamagedText(t *testing.T) {
	ctx := soak(t)
	a := newArchive(ctx, t)
	rng := rand.New(rand.NewPCG(a.w.seed, 4))
	for round := range 12 {
		data := slices.Clone(a.data)
		flips := 0
		for i := range a.runs {
			word := fmt.Appendf(nil, "%s.1.%d", a.runs[i].Order.Key, 5+rng.IntN(30))
			var places []int
			for at := 0; ; {
				n := bytes.Index(data[at:], word)
				if n < 0 {
					break
				}
				places = append(places, at+n)
				at += n + 1
			}
			if len(places) == 0 {
				t.Errorf("the word %s is nowhere in the file: nothing was put to the test", word)
				continue
			}
			data[places[rng.IntN(len(places))]+len(word)-1] ^= 1 // another digit: valid JSON, wrong text
			flips++
		}
		right, refused, missing := a.damaged(ctx, t, fmt.Sprintf("round %d", round), data)
		t.Logf("%d words changed: %d answers right, %d refused, %d not found", flips, right, refused, missing)
	}
}

// TestSoakDamagedFile flips bits anywhere, and cuts the file off.
func TestSoakDamagedFile(t *testing.T) {
	ctx := soak(t)
	a := newArchive(ctx, t)
	rng := rand.New(rand.NewPCG(a.w.seed, 5))
	for round := range 15 {
		data := slices.Clone(a.data)
		for range 1 + rng.IntN(4) {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
		right, refused, missing := a.damaged(ctx, t, fmt.Sprintf("flipped, round %d", round), data)
		t.Logf("bits flipped: %d answers right, %d refused, %d not found", right, refused, missing)
	}
	for _, left := range []float64{0.99, 0.9, 0.5, 0.1, 0} {
		right, refused, missing := a.damaged(ctx, t, fmt.Sprintf("cut to %v", left), a.data[:int(left*float64(len(a.data)))])
		t.Logf("cut to %v: %d answers right, %d refused, %d not found", left, right, refused, missing)
	}
}

// TestStateThatBuildsOnItself damages the links between the pieces of a state so that they go round in a circle. Whoever asks for the
// state must get an error, and not wait for ever.
func TestStateThatBuildsOnItself(t *testing.T) {
	w := newWorld(t) // which may have to build the program first
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := w.drive(ctx, load{
		runs: 1, wires: func(int) []faults.Dialect { return []faults.Dialect{faults.TaskSSE} },
		order: func(_ int, key string) faults.Order { return faults.Order{Key: key, Words: 3, Effect: true} },
	}, calm())
	w.judge(ctx, all)
	if err := w.host.stop(15 * time.Second); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.data, "tributary.db"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := db.ExecContext(ctx, "UPDATE blobs SET base = version WHERE base <> 0")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%d pieces were damaged, %v: nothing was put to the test", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	w.host.mustStart(t)
	limited, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	code, body, _, err := w.host.call(limited, "GET", "/threads/"+all[0].thread+"/state", "")
	if err != nil || code != 503 { // it can be restored, so it is not available now
		t.Errorf("got %d %v %s", code, err, body)
	}
}
