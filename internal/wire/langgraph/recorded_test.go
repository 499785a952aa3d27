package langgraph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

// seen is a frame as a client reads it.
type seen struct {
	Name string
	Data any
}

func TestFramesAreThoseOfTheRecordedServer(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/recorded/*")
	if err != nil || len(scenarios) == 0 {
		t.Fatal("no recordings", err)
	}
	s := serve(t)
	var all []exchange
	for _, dir := range scenarios {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, x := range replay(t, s, dir) {
				if wrong := x.compare(-1); wrong != "" {
					t.Error(wrong)
				}
				all = append(all, x)
			}
		})
	}
	t.Run("every difference is there", func(t *testing.T) {
		for i, d := range differences {
			if !slices.ContainsFunc(all, func(x exchange) bool { return x.compare(i) != "" }) {
				t.Errorf("nothing differs any more by %q; take it off the list", d.name)
			}
		}
	})
}

// exchange is a request that was made to both servers.
type exchange struct {
	name         string
	theirs, ours []byte // lists of frames, as JSON
}

// replay makes the requests of a scenario.
func replay(t *testing.T, s *server, dir string) (out []exchange) {
	steps, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string]*thread{}
	asked := map[string]string{} // their interrupts → ours
	for _, step := range steps {
		name := filepath.Base(dir) + "/" + filepath.Base(step)
		var recorded struct {
			Path string
			Body struct {
				Assistant       string          `json:"assistant_id"`
				Input           json.RawMessage `json:"input"`
				Command         json.RawMessage `json:"command"`
				Config          json.RawMessage `json:"config"`
				Modes           []string        `json:"stream_mode"`
				Subgraphs       bool            `json:"stream_subgraphs"`
				InterruptBefore json.RawMessage `json:"interrupt_before"`
				InterruptAfter  json.RawMessage `json:"interrupt_after"`
				Checkpoint      *struct {
					ID string `json:"checkpoint_id"`
				} `json:"checkpoint"`
			}
		}
		if err := json.Unmarshal(read(t, step+"/request.json"), &recorded); err != nil {
			t.Fatal(err)
		}
		body := recorded.Body
		th := threads[recorded.Path]
		if th == nil {
			th = s.thread()
			threads[recorded.Path] = th
		}
		th.t = t
		req := run.Request{
			Graph: body.Assistant, Config: body.Config,
			InterruptBefore: names(t, body.InterruptBefore), InterruptAfter: names(t, body.InterruptAfter),
		}
		if string(body.Input) != "null" {
			req.Input = body.Input
		}
		for theirs, ours := range asked {
			body.Command = bytes.ReplaceAll(body.Command, []byte(theirs), []byte(ours))
		}
		req.Command = body.Command
		if body.Checkpoint != nil {
			req.Checkpoint = th.checkpointLike(body.Checkpoint.ID)
		}
		modes, err := langgraph.ParseModes(body.Modes)
		if err != nil {
			t.Fatal(err)
		}
		theirs := parseSSE(t, read(t, step+"/response.sse"))
		frames := th.run(req).project(t, langgraph.Options{Modes: modes, Subgraphs: body.Subgraphs})
		ours := decode(t, frames)
		match(asked, theirs, ours)
		out = append(out, exchange{name, encode(t, theirs), encode(t, ours)})
	}
	return out
}

func encode(t *testing.T, frames []seen) []byte {
	t.Helper()
	b, err := json.Marshal(frames)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (x exchange) sides() (theirs, ours []seen) {
	if err := errors.Join(json.Unmarshal(x.theirs, &theirs), json.Unmarshal(x.ours, &ours)); err != nil {
		panic(err) // we have just written it
	}
	return theirs, ours
}

// checkpointLike finds our checkpoint for one of theirs, whose ids tell the step.
func (th *thread) checkpointLike(theirs string) string {
	step := -1
	if n := theirs[19:23]; n != "ffff" {
		fmt.Sscanf(n, "8%03x", &step)
	}
	for _, st := range th.runs[0].Saved {
		if st.Step == step {
			return st.ID
		}
	}
	th.t.Fatalf("no checkpoint at step %d", step)
	return ""
}

// match notes which of our interrupts asks the same as one of theirs.
func match(asked map[string]string, theirs, ours []seen) {
	byValue := map[string]string{}
	for _, side := range []struct {
		frames []seen
		f      func(id, value string)
	}{
		{ours, func(id, value string) { byValue[value] = id }},
		{theirs, func(id, value string) { asked[id] = byValue[value] }},
	} {
		for _, f := range side.frames {
			m, _ := f.Data.(map[string]any)
			list, _ := m["__interrupt__"].([]any)
			for _, one := range list {
				i := one.(map[string]any)
				value, _ := json.Marshal(i["value"])
				side.f(i["id"].(string), string(value))
			}
		}
	}
}

// compare says where the two sides differ, but for the differences on the list without the one named.
func (x exchange) compare(without int) string {
	theirs, ours := x.sides()
	for i, d := range differences {
		if i == without || d.only != nil && !slices.Contains(d.only, x.name) {
			continue
		}
		if d.theirs != nil {
			theirs = d.theirs(theirs)
		}
		if d.ours != nil {
			ours = d.ours(ours)
		}
	}
	theirs, ours = mask(theirs), mask(ours)
	for i := range max(len(theirs), len(ours)) {
		switch {
		case i >= len(ours):
			return fmt.Sprintf("%s: frame %d is missing: %s", x.name, i, show(theirs[i]))
		case i >= len(theirs):
			return fmt.Sprintf("%s: frame %d is too much: %s", x.name, i, show(ours[i]))
		case !reflect.DeepEqual(theirs[i], ours[i]):
			return fmt.Sprintf("%s: frame %d\n got %s\nwant %s", x.name, i, show(ours[i]), show(theirs[i]))
		}
	}
	return ""
}

func show(f seen) string {
	b, _ := json.Marshal(f.Data)
	return f.Name + " " + string(b)
}

var (
	anID  = regexp.MustCompile(`(msg_|fco_|call_|run-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})(-tool-call_\d+)?|msg_[0-9a-f]{24}|call_\d{4}`)
	aTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// mask replaces ids by their order of appearance, so that two streams are equal only if they use the same id for the same
// thing, and times by a word.
func mask(frames []seen) []seen {
	ids := map[string]string{}
	replace := func(s string) string {
		s = anID.ReplaceAllStringFunc(s, func(id string) string {
			if ids[id] == "" {
				ids[id] = fmt.Sprintf("<%d>", len(ids))
			}
			return ids[id]
		})
		return aTime.ReplaceAllString(s, "<time>")
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return replace(v)
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				value := v[k]
				switch k {
				case "assistant_id": // theirs is a hash of the graph's name
					value = "<assistant>"
				case "run_id": // of a runnable: nobody compares them across frames
					value = "<run>"
				}
				delete(v, k)
				v[replace(k)] = walk(value)
			}
		}
		return v
	}
	out := make([]seen, len(frames))
	for i, f := range frames {
		out[i] = seen{replace(f.Name), walk(f.Data)}
	}
	return out
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func names(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func parseSSE(t *testing.T, stream []byte) []seen {
	t.Helper()
	var out []seen
	for block := range strings.SplitSeq(string(stream), "\n\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		var f seen
		for line := range strings.SplitSeq(block, "\n") {
			switch key, value, _ := strings.Cut(line, ": "); key {
			case "event":
				f.Name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &f.Data); err != nil {
					t.Fatal(err)
				}
			}
		}
		out = append(out, f)
	}
	return out
}

func decode(t *testing.T, frames []wire.Frame) []seen {
	t.Helper()
	out := make([]seen, len(frames))
	for i, f := range frames {
		if bytes.ContainsAny(f.Data, "\r\n") {
			t.Fatalf("frame %s has a line end", f.ID)
		}
		out[i].Name = f.Name
		if err := json.Unmarshal(f.Data, &out[i].Data); err != nil {
			t.Fatalf("frame %s: %v: %s", f.ID, err, f.Data)
		}
	}
	return out
}
