package gemini

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func wholeAnswer(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/whole", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

var wholeHello = model.Request{Messages: providertest.Hello.Messages, Whole: true}

// What is sent for an answer that is not streamed, and where to, is in a file to be read.
func TestAWholeAnswerIsAskedForWithoutAStream(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"whole":        func(o *Options) { o.BaseURL += "?tag=a" },
		"whole-vertex": func(o *Options) { o.Project, o.Location = "p", "europe-west1" },
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			srv := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.Method + " " + r.URL.String() + "\n" + string(body) + "\n"
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(wholeAnswer(t, "thought-tool.json"))
			})
			req := model.Request{System: "Be brief.", Messages: []item.Message{user("Weather?")}, Tools: []model.Tool{{Name: "weather"}}, Whole: true}
			if _, _, err := providertest.Collect(t, client(t, srv, change), req); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata/whole", name+".request")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(wholeAnswer(t, name+".request")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The answers are as the API's reference shows them.
func TestAWholeAnswerIsRead(t *testing.T) {
	for name, want := range map[string]providertest.Answer{
		"thought-tool.json": {
			Texts:     []string{"Let me look."},
			Reasoning: []item.Reasoning{{Summary: item.Text("They want the weather.")}},
			Calls:     []item.ToolCall{{CallID: "fc-1", Name: "weather", Arguments: `{"city":"Paris"}`, Signature: "CiQB0e2Kb"}, {Name: "now", Arguments: `{}`}},
			Usage:     item.Usage{InputTokens: 29, OutputTokens: 95, CachedTokens: 4, ReasoningTokens: 80},
			Finish:    &model.Finish{Reason: item.FinishToolCalls, Raw: "STOP", Model: "gemini-3-pro-preview"},
		},
		"grounded.json": {
			Texts: []string{"The Nile is 6,650 km long."},
			Notes: []model.Annotation{{Annotation: item.Annotation{Type: item.URLCitation, End: 26, URL: "https://example.com/nile", Title: "Nile"}}},
			Usage: item.Usage{InputTokens: 9, OutputTokens: 11}, Finish: &model.Finish{Reason: item.FinishLength, Raw: "MAX_TOKENS", Model: "gemini-2.5-flash"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for cut, pieces := range providertest.Cuts {
				srv := providertest.Replay(t, "application/json", pieces(wholeAnswer(t, name)))
				got, _, err := providertest.Collect(t, client(t, srv), wholeHello)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("cut %s: %v\ngot  %+v\nwant %+v", cut, err, got, want)
				}
			}
		})
	}
}

// A whole answer is understood as its stream is: the chunks of each recording, put together into one.
func TestAWholeAnswerMeansWhatItsStreamMeans(t *testing.T) {
	for name, chunks := range recordings(t) {
		if name == "stream-tool-args.chunks.jsonl" {
			continue // arguments by path are for streams alone
		}
		t.Run(name, func(t *testing.T) {
			want, _, err := providertest.Collect(t, client(t, playing(t, chunks)), providertest.Hello)
			if err != nil {
				t.Fatal(err)
			}
			srv := providertest.Replay(t, "application/json", [][]byte{together(t, chunks)})
			got, _, err := providertest.Collect(t, client(t, srv), wholeHello)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v: got  %+v\nwant %+v", err, got, want)
			}
		})
	}
}

// together makes one answer of chunks: all parts, and of everything else what was said last.
func together(t *testing.T, chunks [][]byte) []byte {
	t.Helper()
	sum, candidate, parts := map[string]any{}, map[string]any{}, []any{}
	for _, raw := range chunks {
		var c map[string]any
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		for name, value := range c {
			if name != "candidates" {
				sum[name] = value
			}
		}
		list, _ := c["candidates"].([]any)
		for _, one := range list {
			for name, value := range one.(map[string]any) {
				if content, ok := value.(map[string]any); ok && name == "content" {
					more, _ := content["parts"].([]any)
					parts = append(parts, more...)
				} else {
					candidate[name] = value
				}
			}
		}
	}
	candidate["content"] = map[string]any{"role": "model", "parts": parts}
	sum["candidates"] = []any{candidate}
	out, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestABrokenWholeAnswerIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		class model.Class
		parts int
	}{
		"cut off":          {`{"candidates":[{"content":{"parts":[{"text":"Hal`, model.Broken, 0},
		"without a reason": {`{"candidates":[{"content":{"parts":[{"text":"Hal"}]}}]}`, model.Broken, 1},
		"an error":         {`{"error":{"code":503,"status":"UNAVAILABLE","message":"Overloaded ` + canary + `"}}`, model.Overloaded, 0},
		"a blocked prompt": {`{"promptFeedback":{"blockReason":"SAFETY"}}`, model.Refused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			srv := providertest.Replay(t, "application/json", [][]byte{[]byte(c.body)})
			_, parts, err := providertest.Collect(t, client(t, srv), wholeHello)
			providertest.Check(t, err, c.class, 0)
			if len(parts) != c.parts {
				t.Errorf("%d parts, want %d", len(parts), c.parts)
			}
		})
	}
}
