package story

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/wire"
)

// Law 7 as clients meet it, over HTTP: while a story happens, a reader follows each of its runs in all modes over connections
// that break again and again, and that processes take down with them when they die. Afterwards, on a process that knows of
// the runs only from disk, every mode, every pair of modes and all modes together are cut and resumed with Last-Event-ID. Whatever
// is put together so is the uncut stream, which is what the projection alone makes of the journal.
func TestCutAnywhereOverHTTP(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	for i, s := range All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(7, uint64(i)))
			w := &World{t: t, dir: t.TempDir()}
			subgraphs := i%2 == 0
			if subgraphs {
				w.wire = json.RawMessage(`{"stream_subgraphs":true}`)
			}
			f := newFront(t, w)
			defer w.close()
			live := f.watch(rnd, s.Name == "power-loss")
			s.Happens(w)
			read := live()
			w.serve(w.graph)

			rec := w.record()
			for _, modes := range combinations(i) {
				d := LangGraph(strings.Join(modes, ","), subgraphs, modes...)
				for _, r := range rec.Runs {
					uncut, err := d.Project(rec, r)
					if err != nil {
						t.Fatal(err)
					}
					f.hold(d.Name, r.ID, slices.Concat(uncut...), read[r.ID], len(modes), rnd)
				}
			}
		})
	}
}

// hold compares what is read of a run in some modes with the uncut stream.
func (f *front) hold(modes, id string, uncut, live []wire.Frame, n int, rnd *rand.Rand) {
	f.t.Helper()
	var after []int
	switch {
	case n == len(Modes):
		f.same("followed live", id, modes, live, uncut)
		fallthrough
	case n == 1 && len(uncut) > 5:
		after = []int{-1, rnd.IntN(len(uncut)), len(uncut) - 1} // after the last there is only the end
	case n == 1:
		for k := range len(uncut) + 1 {
			after = append(after, k-1)
		}
	default:
		after = []int{rnd.IntN(len(uncut))}
	}
	for _, k := range after {
		last := "-1"
		if k >= 0 {
			last = uncut[k].ID
		}
		rest, _, err := f.get(f.t.Context(), id, modes, last, 0)
		if err != nil {
			f.t.Fatalf("%s of %s, cut after %s: %v", modes, id, last, err)
		}
		f.same("cut after "+last, id, modes, slices.Concat(uncut[:k+1], rest), uncut)
	}
}

// combinations are all modes together, each alone, and a quarter of the pairs: another with each story, and so each with several.
// Where there is little time it is a third of those alone, and a twelfth of the pairs.
func combinations(story int) [][]string {
	out := [][]string{Modes}
	pairs, few := story, 1
	if testing.Short() {
		few = 3
	}
	for i, a := range Modes {
		if (story+i)%few == 0 {
			out = append(out, []string{a})
		}
		for _, b := range Modes[i+1:] {
			if pairs++; pairs%(4*few) == 0 {
				out = append(out, []string{a, b})
			}
		}
	}
	return out
}

// front is a real server before a story's world, whichever of its processes is alive.
type front struct {
	t   *testing.T
	w   *World
	url string

	mu   sync.Mutex
	now  *server.Server
	next chan struct{} // closed when there is another process
}

func newFront(t *testing.T, w *World) *front {
	f := &front{t: t, w: w, next: make(chan struct{})}
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		now, _ := f.process()
		now.ServeHTTP(rw, r)
	}))
	f.url = h.URL
	w.opened = f.opened
	t.Cleanup(h.Close)
	return f
}

// opened puts a server before a new process.
func (f *front) opened() {
	s, err := server.New(server.Options{
		Engine: f.w.eng, Journal: f.w.log, Store: f.w.store.DB, Graphs: only{f.w.graph},
		Identify: func(*http.Request) (run.Identity, error) { return reader, nil },
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = s
	close(f.next)
	f.next = make(chan struct{})
}

// process returns the server of the process that is alive, and what tells of the next.
func (f *front) process() (*server.Server, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.next
}

// only is a library of one graph.
type only struct{ g *graph.Graph }

func (o only) Names() []string { return []string{o.g.Name()} }

func (o only) Graph(context.Context, run.Identity, string, run.Request) (*graph.Graph, error) {
	return o.g, nil
}

// watch follows each run from when it begins. The function that it returns waits until all were read to their ends. Power
// that fails may take back what was read; then the reader begins anew, as it is told to.
func (f *front) watch(rnd *rand.Rand, powerFails bool) func() map[string][]wire.Frame {
	read := map[string][]wire.Frame{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	f.w.begun = func(id string) {
		rnd := rand.New(rand.NewPCG(rnd.Uint64(), 0))
		wg.Go(func() {
			frames, err := f.follow(id, rnd, powerFails)
			if err != nil {
				f.t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			read[id] = frames
		})
	}
	return func() map[string][]wire.Frame {
		wg.Wait()
		return read
	}
}

// errLost says that the server no longer has the position.
var errLost = errors.New("the position is lost")

// follow reads a run to its end over connections of a few frames each.
func (f *front) follow(id string, rnd *rand.Rand, powerFails bool) ([]wire.Frame, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	var all []wire.Frame
	last := "-1"
	for {
		_, next := f.process()
		most := 1 + rnd.IntN(9)
		frames, ended, err := f.get(ctx, id, strings.Join(Modes, ","), last, most)
		all = append(all, frames...)
		if len(all) > 0 {
			last = all[len(all)-1].ID
		}
		switch {
		case errors.Is(err, errLost) && powerFails:
			all, last = nil, "-1"
		case ctx.Err() != nil:
			return all, fmt.Errorf("run %s: %w after frame %s", id, ctx.Err(), last)
		case ended:
			return all, nil
		case err != nil: // the process died; there will be another
			select {
			case <-next:
			case <-ctx.Done():
			}
		}
	}
}

// get reads frames of a run: as many as most, if it is not 0, and all to its end otherwise. The error of a stream that broke
// comes with what was read before.
func (f *front) get(ctx context.Context, id, modes, last string, most int) (frames []wire.Frame, ended bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // breaks the connection
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/threads/"+f.w.thread()+"/runs/"+id+"/stream?stream_mode="+url.QueryEscape(modes), nil)
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Last-Event-ID", last)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, false, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusConflict:
		return nil, false, errLost
	default:
		body, _ := io.ReadAll(res.Body)
		return nil, false, fmt.Errorf("%s: %s", res.Status, body)
	}
	sc := bufio.NewScanner(res.Body)
	sc.Buffer(nil, 16<<20)
	var fr wire.Frame
	for sc.Scan() {
		key, value, _ := strings.Cut(sc.Text(), ": ")
		switch key {
		case "event":
			fr.Name = value
		case "data":
			fr.Data = []byte(value)
		case "id":
			fr.ID = value
		case "":
			if fr.ID == "" {
				continue // the line after a comment
			}
			frames = append(frames, fr)
			fr = wire.Frame{}
			if len(frames) == most {
				return frames, false, nil
			}
		}
	}
	return frames, sc.Err() == nil, sc.Err()
}

func (f *front) same(how, id, modes string, got, uncut []wire.Frame) {
	f.t.Helper()
	for i := range max(len(got), len(uncut)) {
		if i < len(got) && i < len(uncut) && got[i].ID == uncut[i].ID && got[i].Name == uncut[i].Name && string(got[i].Data) == string(uncut[i].Data) {
			continue
		}
		a, b := shown(got, i), shown(uncut, i)
		from := 0
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		f.t.Fatalf("%s of %s, %s: frame %d of %d, from column %d on:\n  got %s\nuncut %s of %d", modes, id, how, i+1, len(got), from+1, stretch(a, from), stretch(b, from), len(uncut))
	}
}

func shown(frames []wire.Frame, i int) string {
	if i >= len(frames) {
		return "(the end)"
	}
	return fmt.Sprintf("%s %s %s", frames[i].ID, frames[i].Name, frames[i].Data)
}
