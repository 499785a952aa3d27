package anthropic

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What is sent for an answer that is not streamed, and where to, is in a file to be read.
func TestAWholeAnswerIsAskedForWithoutAStream(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"whole":        func(*Options) {},
		"whole-vertex": func(o *Options) { o.Project, o.Location = "p", "europe-west1" },
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			srv := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.Method + " " + r.URL.String() + "\n" + string(body) + "\n"
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(fixture(t, "whole/thinking-tool.json"))
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
			if want := string(fixture(t, "whole/"+name+".request")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The answers are as the API's reference shows them.
func TestAWholeAnswerIsRead(t *testing.T) {
	for name, want := range map[string]providertest.Answer{
		"thinking-tool.json": {
			Texts:     []string{"Let me look."},
			Reasoning: []item.Reasoning{{Summary: item.Text("They want the weather."), Signature: "EqQBCgIYAhIM"}, {Encrypted: "EmwKAhgBEgy3va3"}},
			Calls:     []item.ToolCall{{CallID: "toolu_01", Name: "weather", Arguments: `{"city": "Paris"}`}, {CallID: "toolu_02", Name: "now", Arguments: `{}`}},
			Usage:     item.Usage{InputTokens: 433, OutputTokens: 79, CachedTokens: 20, CacheWriteTokens: 10},
			Finish:    &model.Finish{Reason: item.FinishToolCalls, Raw: "tool_use", Model: "claude-sonnet-4-5-20250929"},
		},
		"search-cited.json": {
			Texts: []string{"The Nile is 6,650 km long."},
			Notes: []model.Annotation{{Annotation: item.Annotation{Type: item.URLCitation, End: 26, URL: "https://example.com/nile", Title: "Nile", Quote: "about 6,650 km"}}},
			Kept:  []string{"server_tool_use", "web_search_tool_result", containerType},
			Usage: item.Usage{InputTokens: 1200, OutputTokens: 50}, Finish: &model.Finish{Reason: item.FinishStop, Raw: "end_turn", Model: "claude-sonnet-4-5-20250929"},
		},
		"refused.json": {
			Usage:  item.Usage{InputTokens: 9, OutputTokens: 1},
			Finish: &model.Finish{Reason: item.FinishRefusal, Raw: "refusal", Model: "claude-fable-5", Message: "This touches on weapons."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for cut, pieces := range providertest.Cuts {
				srv := providertest.Replay(t, "application/json", pieces(fixture(t, "whole/"+name)))
				got, _, err := providertest.Collect(t, client(t, srv), model.Request{Messages: providertest.Hello.Messages, Whole: true})
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("cut %s: %v\ngot  %+v\nwant %+v", cut, err, got, want)
				}
			}
		})
	}
}

// A message is understood as its stream is: each recording, put together by the SDK, gives the same answer. A server that does not stream
// although it is asked to is understood, too.
func TestAWholeAnswerMeansWhatItsStreamMeans(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.sse")
	tried := 0
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "SYNTHETIC") || strings.HasPrefix(name, "incomplete") {
			continue // there is no message that is like it
		}
		tried++
		t.Run(name, func(t *testing.T) {
			srv := providertest.Replay(t, media, [][]byte{fixture(t, name)})
			want, _, err := providertest.Collect(t, client(t, srv), providertest.Hello)
			if err != nil {
				t.Fatal(err)
			}
			c := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(srv.URL), option.WithHTTPClient(srv.Client()))
			stream := c.Messages.NewStreaming(context.Background(), sdk.MessageNewParams{})
			defer func() { _ = stream.Close() }()
			var msg sdk.Message
			for stream.Next() {
				if err := msg.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := msg.Accumulate(sdk.MessageStreamEventUnion{Type: "message_stop"}); err != nil { // the SDK does not see a last line without an end
				t.Fatal(err)
			}
			for _, whole := range []bool{true, false} {
				answering := providertest.Replay(t, "application/json", [][]byte{[]byte(msg.RawJSON())})
				got, _, err := providertest.Collect(t, client(t, answering), model.Request{Messages: providertest.Hello.Messages, Whole: whole})
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range []*providertest.Answer{&got, &want} {
					for i := range a.Calls {
						a.Calls[i].Arguments = meant(t, a.Calls[i].Arguments)
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("whole %v: got  %+v\nwant %+v", whole, got, want)
				}
			}
		})
	}
	if tried < 5 {
		t.Errorf("only %d recordings were tried", tried)
	}
}

// meant is JSON without how it is spelled.
func meant(t *testing.T, raw string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestABrokenWholeAnswerIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		limit int
		class model.Class
	}{
		"cut off":            {`{"type":"message","content":[{"type":"text","text":"Hal`, 0, model.Broken},
		"without a reason":   {`{"type":"message","content":[{"type":"text","text":"Hal"}],"stop_reason":null}`, 0, model.Broken},
		"an error":           {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded ` + canary + `"}}`, 0, model.Overloaded},
		"larger than wanted": {`{"type":"message","content":[{"type":"text","text":"` + strings.Repeat("x", 100) + `"}],"stop_reason":"end_turn"}`, 100, model.TooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			srv := providertest.Replay(t, "application/json", [][]byte{[]byte(c.body)})
			m := client(t, srv, func(o *Options) { o.Limits.EventBytes = c.limit })
			_, parts, err := providertest.Collect(t, m, model.Request{Messages: providertest.Hello.Messages, Whole: true})
			providertest.Check(t, err, c.class, 0)
			if len(parts) != 0 {
				t.Errorf("%d parts of an answer that is none", len(parts))
			}
		})
	}
}
