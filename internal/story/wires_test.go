package story

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/item"
)

// Clients that know nothing of us show a tool's content as it is: a list of texts is "[object Object]" on their pages. So it is a
// list only where something in it is no text; its parts, and what people see in their place, are in the artifact.
func TestAToolsMessageIsATextWhereItCanBe(t *testing.T) {
	texts, parts := 0, 0
	each(t, func(t *testing.T, _ string, rec *Recording) {
		for _, d := range Dialects() {
			for _, r := range d.Streams(rec) {
				frames, err := d.Project(rec, r)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range slices.Concat(frames...) {
					var v any
					if err := json.Unmarshal(f.Data, &v); err != nil || d.Name == "task" {
						continue
					}
					messagesIn(v, func(m map[string]any) {
						if m["type"] != "tool" {
							return
						}
						artifact, _ := m["artifact"].(map[string]any)
						inner, _ := artifact["content"].([]any)
						switch content := m["content"].(type) {
						case string:
							texts++
							var joined []string
							for _, p := range inner {
								joined = append(joined, p.(map[string]any)["text"].(string))
							}
							if parts += len(inner); inner != nil && strings.Join(joined, "\n") != content {
								t.Errorf("%s, %s: the content is %q, its parts are %q", d.Name, f.ID, content, joined)
							}
						case []any:
							if !slices.ContainsFunc(content, func(p any) bool { return p.(map[string]any)["type"] != "text" }) {
								t.Errorf("%s, %s: a list of texts: %v", d.Name, f.ID, content)
							}
						}
						if m["blocks"] != nil {
							t.Errorf("%s, %s: what people see is not in the artifact: %v", d.Name, f.ID, m)
						}
					})
				}
			}
		}
	})
	if !*update && (texts < 1000 || parts < 100) {
		t.Errorf("only %d texts with %d parts were looked at", texts, parts)
	}
}

// marks are the pool's tags, and what somebody could take for one.
var marks = regexp.MustCompile(`(?i)<\s*/?\s*referencable-item`)

// What a model reads of a tool has the pool's marks in it and no others: each pair around what has its number.
func TestNoToolForgesAMark(t *testing.T) {
	numbers, escapes := 0, 0
	each(t, func(t *testing.T, _ string, rec *Recording) {
		for _, st := range rec.States {
			var values struct{ Messages []item.Message }
			if json.Unmarshal(st.Values, &values) != nil {
				continue // a graph without messages
			}
			for _, m := range values.Messages {
				if m.Role != item.Tool {
					continue
				}
				open := 0
				for _, b := range m.Content {
					escapes += strings.Count(b.Text, "&lt;")
					switch {
					case !task.IsReferenceTag(b):
						if marks.MatchString(b.Text) {
							t.Errorf("%s: the model reads %q", st.ID, b.Text)
						}
						if b.Ref != open {
							t.Errorf("%s: %q has number %d and stands in %d", st.ID, b.Text, b.Ref, open)
						}
					case strings.HasPrefix(b.Text, "</"):
						open = 0
					default:
						open = b.Ref
						numbers++
						if open == 0 || b.Text != fmt.Sprintf("<referencable-item>\nID: %d", open) {
							t.Errorf("%s: the mark of %d is %q", st.ID, open, b.Text)
						}
					}
				}
				if open != 0 {
					t.Errorf("%s: %d is not closed", st.ID, open)
				}
			}
		}
	})
	if !*update && (numbers == 0 || escapes == 0) {
		t.Errorf("%d numbers and %d escapes were looked at", numbers, escapes)
	}
}

// The object of a task with content is the object without it, and the content is what the thread has for the model.
func TestContentStandsBesideWhatPeopleSee(t *testing.T) {
	compared := 0
	each(t, func(t *testing.T, _ string, rec *Recording) {
		held := map[string]bool{} // what the model reads of calls, by call and content
		for _, st := range rec.States {
			var values struct{ Messages []item.Message }
			_ = json.Unmarshal(st.Values, &values) // a graph without messages has none
			for _, m := range values.Messages {
				if m.Role == item.Tool {
					held[m.CallID+" "+textsOf(m.Content)] = true
				}
			}
		}
		for _, r := range rec.Runs {
			var f transcript.Fold
			for i := range r.Events {
				_ = f.Apply(&r.Events[i]) // laws are checked by a test of their own
			}
			root, _ := f.Task("")
			var plain, whole map[string]any
			if err := json.Unmarshal(task.Object(r.ID, root), &plain); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(task.WithContent(r.ID, root), &whole); err != nil {
				t.Fatal(err)
			}
			withoutContent(whole)
			if !reflect.DeepEqual(plain, whole) {
				t.Errorf("%s: without its content it is\n%v\nand it is\n%v", r.ID, whole, plain)
			}
			for res := range f.Results() {
				if !held[res.CallID+" "+textsOf(res.Content)] && len(res.Content) > 0 && !rec.lost(res.CallID) {
					t.Errorf("%s: no state has the content of call %s: %q", r.ID, res.CallID, textsOf(res.Content))
				}
				compared++
			}
		}
	})
	if !*update && compared < 20 {
		t.Errorf("only %d results were compared", compared)
	}
}

// lost tells of calls whose results no state was made with: the graph they were made in ended first.
func (rec *Recording) lost(call string) bool {
	for _, st := range rec.States {
		if strings.Contains(string(st.Values), fmt.Sprintf("%q", call)) {
			return false
		}
	}
	return true
}

func textsOf(blocks []item.Block) string {
	var b strings.Builder
	for _, bl := range blocks {
		fmt.Fprintf(&b, "%s %q %d\n", bl.Type, bl.Text, bl.Ref)
	}
	return b.String()
}

// withoutContent removes what the model reads from items, at every depth.
func withoutContent(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			withoutContent(e)
		}
	case map[string]any:
		if v["type"] == "tool_result" || v["type"] == "message" {
			delete(v, "content")
		}
		for _, e := range v {
			withoutContent(e)
		}
	}
}

// Whatever an answer cites can be had, in the same words in which people were shown it: also where an earlier run of the thread, or a
// sub-agent, found it.
func TestWhatIsCitedCanBeFetched(t *testing.T) {
	if *update {
		t.Skip("the files are being written")
	}
	cited, across := 0, 0
	for _, s := range All {
		if rec, err := Load(s.Name); err != nil || !cites(rec) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			w := &World{t: t, dir: t.TempDir()}
			f := newFront(t, w)
			defer w.close()
			s.Happens(w)
			shown := map[int][]string{} // by number, what people saw under it
			for i, r := range w.told {
				var object any
				f.ask("GET", "/tasks/"+r.id, "", &object)
				before := len(shown)
				numbers := map[int]bool{}
				referencesIn(object, shown, numbers)
				var got struct {
					References []struct {
						ID     int
						Blocks []struct{ Text string } `json:"block_list"`
					}
				}
				f.ask("GET", "/tasks/"+r.id+"/references", "", &got)
				var ids []int
				for _, ref := range got.References {
					ids = append(ids, ref.ID)
					var texts []string
					for _, b := range ref.Blocks {
						texts = append(texts, b.Text)
					}
					if !slices.Contains(shown[ref.ID], strings.Join(texts, "\n")) {
						t.Errorf("run %d: %d is %q, people saw %q", i+1, ref.ID, texts, shown[ref.ID])
					}
				}
				if want := slices.Sorted(maps.Keys(numbers)); !slices.Equal(ids, want) {
					t.Errorf("run %d: it cites %v, and %v can be had", i+1, want, ids)
				}
				if cited += len(ids); i > 0 && len(shown) == before {
					across += len(ids)
				}
			}
		})
	}
	if cited == 0 || across == 0 {
		t.Errorf("%d citations, %d of them of something that an earlier run found", cited, across)
	}
}

func cites(rec *Recording) bool {
	return slices.ContainsFunc(rec.Runs, func(r Run) bool {
		return slices.ContainsFunc(r.Events, func(env event.Envelope) bool {
			e, ok := env.Event.(event.ItemEnded)
			m, isMessage := e.Item.(item.Message)
			return ok && isMessage && slices.ContainsFunc(m.Content, func(b item.Block) bool {
				return slices.ContainsFunc(b.Annotations, func(a item.Annotation) bool { return a.Type == item.ReferenceToBlock })
			})
		})
	})
}

// referencesIn notes what a task's object shows under numbers, and which numbers it cites.
func referencesIn(v any, shown map[int][]string, cited map[int]bool) {
	switch v := v.(type) {
	case []any:
		var run []string // adjacent blocks with one number
		at := 0.0
		for _, e := range append(slices.Clone(v), nil) {
			b, _ := e.(map[string]any)
			n, _ := b["id"].(float64)
			if n != at && at != 0 {
				shown[int(at)] = append(shown[int(at)], strings.Join(run, "\n"))
				run = nil
			}
			if at = n; n != 0 {
				text, _ := b["text"].(string)
				run = append(run, text)
			}
			referencesIn(e, shown, cited)
		}
	case map[string]any:
		if n, ok := v["reference_id"].(float64); ok && v["type"] == "reference_to_block" {
			cited[int(n)] = true
		}
		for _, e := range v {
			referencesIn(e, shown, cited)
		}
	}
}

// ask makes a request to the process that is alive, and reads its answer.
func (f *front) ask(method, path, body string, into any) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		f.t.Fatalf("%s %s: %s %v: %s", method, path, res.Status, err, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		f.t.Fatalf("%s %s: %v: %s", method, path, err, data)
	}
}
