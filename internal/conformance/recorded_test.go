package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/conformance/graphs"
	"github.com/tributary-ai/tributary/internal/run"
)

// step is a recorded request with its answer. The files in testdata/recorded were recorded from LangGraph's JS server; each
// is a scenario, whose steps may overlap in time.
type step struct {
	Name            string            `json:"name"`
	Method          string            `json:"method"`
	Path            string            `json:"path"`
	Headers         map[string]string `json:"headers"`
	Body            json.RawMessage   `json:"body"`
	Closed          bool              `json:"closed"` // by the client, after what was recorded
	Start           float64           `json:"start"`  // ms
	End             float64           `json:"end"`
	Status          int               `json:"status"`
	ResponseHeaders map[string]string `json:"response_headers"`
	Kind            string            `json:"kind"` // json, sse, txt
	Response        string            `json:"response"`

	// What came of it here. loose says that where it was cut, or joined, was a matter of time.
	loose  bool
	got    response
	frames []frame
	begun  chan struct{} // the answer has begun, and of a run's stream a good part is there
	ended  chan struct{}
}

// TestRecordedRequestsAreAnsweredAlike sends what was recorded and compares the answers: ids and times are masked, everything
// else is equal, but for the differences that are listed with their reasons.
func TestRecordedRequestsAreAnsweredAlike(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	var mu sync.Mutex
	used := map[string]bool{}
	t.Run("scenario", func(t *testing.T) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, d := range replay(t, file) {
					full := name + "/" + d
					mu.Lock()
					reason := deliberate(full, used)
					mu.Unlock()
					if reason == "" {
						t.Error(full)
					}
				}
			})
		}
	})
	for _, d := range differences {
		if !used[d.name] && !d.race && !t.Failed() {
			t.Errorf("the difference %q no longer exists; take it off the list", d.name)
		}
	}
}

// replay runs a scenario and returns what differs.
func replay(t *testing.T, file string) []string {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []*step
	if err := json.Unmarshal(raw, &steps); err != nil {
		t.Fatal(err)
	}
	onlyGraphs(t, steps)
	s := start(t, options{likeJS: true})
	ids := &idMap{to: map[string]string{}, changed: make(chan struct{})}
	// A stream that stays open longer was recorded to end, and the comparison will tell.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, st := range steps {
		if i > 0 && st.Start-steps[i-1].End >= 1000 || strings.HasSuffix(file, "on-disconnect-cancel.json") && strings.HasPrefix(st.Name, "03") {
			s.settle(ctx) // the recorder waited until all was over
		}
		ids.await(ctx, string(st.Body))
		for _, before := range steps[:i] {
			if before.End > st.Start+1 {
				<-before.begun
			} else {
				<-before.ended
			}
		}
		st.begun, st.ended = make(chan struct{}), make(chan struct{})
		wg.Go(func() { st.send(ctx, t, s, ids) })
		if i+1 == len(steps) || steps[i+1].Start >= st.End-1 {
			<-st.ended
		}
	}
	wg.Wait()
	var out []string
	for i, st := range steps {
		path, _, _ := strings.Cut(st.Path, "?")
		st.loose = st.Headers["last-event-id"] == "" && st.Method == "GET" && strings.HasSuffix(path, "/stream")
		for _, after := range steps[i+1:] {
			st.loose = st.loose || after.Start < st.End-1 && !strings.HasSuffix(st.Path, "/stream/events")
		}
		for _, d := range st.compare() {
			out = append(out, st.Name+": "+d)
		}
	}
	return out
}

func (st *step) send(ctx context.Context, t *testing.T, s *serving, ids *idMap) {
	defer close(st.ended)
	begun := sync.OnceFunc(func() { close(st.begun) })
	defer begun()
	var body any
	if len(st.Body) > 0 && string(st.Body) != "null" {
		text := string(st.Body)
		var plain string
		if json.Unmarshal(st.Body, &plain) == nil { // a body that is no JSON was recorded as a string
			text = plain
		}
		body = ids.replace(text)
	}
	var headers []string
	for k, v := range st.Headers {
		headers = append(headers, k, v)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := s.open(ctx, st.Method, ids.replace(st.Path), body, headers...)
	if err != nil {
		t.Errorf("%s: %v", st.Name, err)
		return
	}
	defer res.Body.Close()
	st.got = response{status: res.StatusCode, header: res.Header}
	ids.learn(st.ResponseHeaders["content-location"], res.Header.Get("Content-Location"))
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		st.got.body, _ = io.ReadAll(res.Body)
		ids.learnJSON(st.Response, string(st.got.body))
		return
	}
	want := allFrames(strings.NewReader(st.Response))
	if strings.HasSuffix(st.Path, "/stream/events") || len(want) == 0 {
		begun() // it is silent until somebody starts a run
	}
	_ = frames(res.Body, func(f frame) bool {
		if n := len(st.frames); n < len(want) && want[n].name == f.name {
			ids.learnJSON(want[n].data, f.data)
		}
		if st.frames = append(st.frames, f); len(st.frames) >= 6 {
			begun()
		}
		return !st.Closed || len(st.frames) < len(want)
	})
}

// compare lists what is not as it was recorded.
func (st *step) compare() []string {
	if st.got.status == 0 {
		return []string{"no answer"}
	}
	var out []string
	if st.got.status != st.Status {
		return []string{fmt.Sprintf("status: recorded %d, got %d", st.Status, st.got.status)}
	}
	for name, want := range st.ResponseHeaders {
		if name == "content-type" && st.Status >= 400 || name == "access-control-expose-headers" {
			continue
		}
		got := st.got.header.Get(name)
		if name == "content-type" {
			want, _, _ = strings.Cut(want, ";")
			got, _, _ = strings.Cut(got, ";")
		}
		if mask(want) != mask(got) {
			out = append(out, fmt.Sprintf("header %s: recorded %s, got %s", name, want, got))
		}
	}
	switch {
	case st.Status >= 400: // errors have forms of their own
	case st.Kind == "sse":
		out = append(out, st.compareFrames(allFrames(strings.NewReader(st.Response)))...)
	case st.Response != "":
		out = append(out, compareText("", st.Response, string(st.got.body))...)
	}
	return out
}

func (st *step) compareFrames(want []frame) []string {
	got := st.frames
	names := func(all []frame) (out []string) {
		for _, f := range all {
			out = append(out, mask(f.name))
		}
		return out
	}
	if a, b := slices.Compact(names(want)), slices.Compact(names(got)); st.loose && slices.Equal(a, b) && len(want) != len(got) {
		return nil
	}
	if a, b := names(want), names(got); !slices.Equal(a, b) {
		return []string{fmt.Sprintf("events: recorded %s, got %s", runs(a), runs(b))}
	}
	var out []string
	for i := range want {
		for _, d := range compareText("event "+strings.SplitN(want[i].name, "|", 2)[0], want[i].data, got[i].data) {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
		if want[i].id != got[i].id && want[i].id != "" {
			out = append(out, fmt.Sprintf("id of event %d: recorded %s, got %s", i, want[i].id, got[i].id))
		}
	}
	return out
}

// runs writes a list with repetitions counted.
func runs(names []string) string {
	var b strings.Builder
	for i := 0; i < len(names); {
		j := i
		for j < len(names) && names[j] == names[i] {
			j++
		}
		fmt.Fprintf(&b, " %s×%d", names[i], j-i)
		i = j
	}
	return b.String()
}

func compareText(at, want, got string) []string {
	var a, b any
	if json.Unmarshal([]byte(want), &a) != nil {
		if mask(strings.TrimSpace(want)) != mask(strings.TrimSpace(got)) {
			return []string{fmt.Sprintf("%s: recorded %.80s, got %.80s", at, want, got)}
		}
		return nil
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		return []string{fmt.Sprintf("%s: got no JSON: %.80s", at, got)}
	}
	return compareValue(at, a, b)
}

func compareValue(at string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: recorded an object, got %.80v", at, got)}
		}
		var out []string
		for k, v := range w {
			if x, ok := g[k]; ok {
				out = append(out, compareValue(at+"."+mask(k), v, x)...)
			} else if !hasMasked(g, k) {
				out = append(out, fmt.Sprintf("%s.%s: missing", at, mask(k)))
			}
		}
		for k := range g {
			if _, ok := w[k]; !ok && !hasMasked(w, k) {
				out = append(out, fmt.Sprintf("%s.%s: added", at, mask(k)))
			}
		}
		slices.Sort(out)
		return out
	case []any:
		g, ok := got.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: recorded a list, got %.80v", at, got)}
		}
		if len(w) != len(g) {
			return []string{fmt.Sprintf("%s: recorded %d elements, got %d", at, len(w), len(g))}
		}
		var out []string
		for i := range w {
			out = append(out, compareValue(at+"[]", w[i], g[i])...)
		}
		return slices.Compact(out)
	case string:
		g, ok := got.(string)
		if !ok || mask(w) != mask(g) {
			return []string{fmt.Sprintf("%s: recorded %.80q, got %.80v", at, w, got)}
		}
		return nil
	}
	if fmt.Sprint(want) != fmt.Sprint(got) && !strings.HasSuffix(at, "timestamp") {
		return []string{fmt.Sprintf("%s: recorded %.80v, got %.80v", at, want, got)}
	}
	return nil
}

// hasMasked finds a key that is an id.
func hasMasked(m map[string]any, key string) bool {
	masked := mask(key)
	if masked == key {
		return false
	}
	for k := range m {
		if mask(k) == masked {
			return true
		}
	}
	return false
}

var (
	idPattern        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_[0-9a-f]{24}|\b[0-9a-f]{32}\b|call_\d{4}`)
	interruptPattern = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	timePattern      = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
)

func mask(s string) string {
	return timePattern.ReplaceAllString(idPattern.ReplaceAllStringFunc(s, func(id string) string {
		if strings.HasPrefix(id, "msg_") || strings.HasPrefix(id, "call_") {
			return id[:4] + "…"
		}
		return "id"
	}), "time")
}

// systemIDs are those of the default assistants.
var systemIDs = func() map[string]bool {
	ids := map[string]bool{}
	for name := range graphs.All() {
		ids[run.DefaultAssistant(name)] = true
	}
	return ids
}()

// idMap knows which of our ids stands for which recorded one.
type idMap struct {
	mu      sync.Mutex
	to      map[string]string
	changed chan struct{} // closed when something was learned
}

func (m *idMap) learn(recorded, ours string) {
	a, b := idPattern.FindAllString(recorded, -1), idPattern.FindAllString(ours, -1)
	if len(a) != len(b) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
	for i := range a {
		// Ids of default assistants are the same everywhere.
		if _, known := m.to[a[i]]; !known && !systemIDs[a[i]] {
			m.to[a[i]] = b[i]
		}
	}
}

func (m *idMap) learnJSON(recorded, ours string) {
	var a, b any
	if json.Unmarshal([]byte(recorded), &a) == nil && json.Unmarshal([]byte(ours), &b) == nil {
		m.learnValue(a, b)
	}
}

func (m *idMap) learnValue(a, b any) {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		for k, v := range x {
			m.learnValue(v, y[k])
		}
	case []any:
		y, _ := b.([]any)
		for i := range x {
			if i < len(y) {
				m.learnValue(x[i], y[i])
			}
		}
	case string:
		if y, ok := b.(string); ok {
			m.learn(x, y)
		}
	}
}

// await returns when the ids of interrupts in a text are known, which a stream may still have to tell.
func (m *idMap) await(ctx context.Context, text string) {
	for _, id := range interruptPattern.FindAllString(text, -1) {
		for ctx.Err() == nil {
			m.mu.Lock()
			_, known := m.to[id]
			changed := m.changed
			m.mu.Unlock()
			if known {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

func (m *idMap) replace(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if ours, ok := m.to[id]; ok {
			return ours
		}
		return id
	})
}
