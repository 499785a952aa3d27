package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

func TestMain(m *testing.M) {
	providertest.ServeElsewhere()
	// OpenCensus comes with the SDK, which is the judge in these tests, and starts a worker that never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func client(t testing.TB, srv *httptest.Server, change ...func(*Options)) *Model {
	o := Options{Model: "gemini-test", Key: NewKey(canary), BaseURL: srv.URL + "/v1beta", HTTPClient: srv.Client()}
	for _, c := range change {
		c(&o)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// recordings lists the recorded answers as payloads, whatever their framing was.
func recordings(t testing.TB) map[string][][]byte {
	out := map[string][][]byte{}
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings")
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		var payloads [][]byte
		switch {
		case strings.HasSuffix(name, ".jsonl"):
			payloads = bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
		case strings.HasSuffix(name, ".array.json"):
			var list []json.RawMessage
			if err := json.Unmarshal(raw, &list); err != nil {
				t.Fatal(err)
			}
			for _, one := range list {
				payloads = append(payloads, one)
			}
		case strings.HasSuffix(name, ".sse"):
			r := eventstream.NewReader(bytes.NewReader(raw))
			for ev, err := r.Next(); err == nil; ev, err = r.Next() {
				payloads = append(payloads, bytes.Clone(ev.Data))
			}
		default:
			t.Fatalf("%s is framed in no known way", name)
		}
		out[name] = payloads
	}
	return out
}

// framings are the two ways in which the API sends payloads.
var framings = map[string]func([][]byte) (media string, body []byte){
	"sse": func(payloads [][]byte) (string, []byte) {
		var b bytes.Buffer
		for _, p := range payloads {
			var one bytes.Buffer
			_ = json.Compact(&one, p)
			b.WriteString("data: " + one.String() + "\r\n\r\n")
		}
		return "text/event-stream", b.Bytes()
	},
	"array": func(payloads [][]byte) (string, []byte) {
		return "application/json; charset=UTF-8", append(append([]byte("["), bytes.Join(payloads, []byte("\n,\r\n"))...), "\n]\n"...)
	},
}

func playing(t testing.TB, payloads [][]byte) *httptest.Server {
	media, body := framings["sse"](payloads)
	return providertest.Replay(t, media, [][]byte{body})
}

// TestRecordedStreams says what each recording holds, in facts read off the file by a person.
func TestRecordedStreams(t *testing.T) {
	type facts struct {
		begins, ends string // of the whole text
		blocks       int
		thought      string
		signatures   int // on reasoning items
		calls        []item.ToolCall
		signedCalls  int
		notes        int
		usage        item.Usage
		finish       item.Finish
		model        string
	}
	all := recordings(t)
	for name, want := range map[string]facts{
		"text.chunks.jsonl": {begins: "There are **3**", ends: "st**r**awbe**rr**y", blocks: 1, signatures: 1,
			usage: item.Usage{InputTokens: 9, OutputTokens: 208, ReasoningTokens: 185}, finish: item.FinishStop, model: "gemini-3-pro-preview"},
		"tool-call-gemini3.chunks.jsonl": {calls: []item.ToolCall{{Name: "weather", Arguments: `{"location":"San Francisco"}`}}, signedCalls: 1,
			usage: item.Usage{InputTokens: 29, OutputTokens: 819, ReasoningTokens: 804}, finish: item.FinishToolCalls, model: "gemini-3-pro-preview"},
		"stream-tool-args.chunks.jsonl": {signedCalls: 1,
			calls: []item.ToolCall{{Name: "getWeather", Arguments: `{"location":"Boston"}`}, {Name: "getWeather", Arguments: `{"location":"San Francisco"}`}},
			usage: item.Usage{InputTokens: 26, OutputTokens: 155, ReasoningTokens: 132}, finish: item.FinishToolCalls, model: "gemini-3.1-pro-preview"},
		"tools-json-array.array.json": {thought: "**Generating Pelican Names**", signedCalls: 1,
			calls: []item.ToolCall{{Name: "pelican_name_generator", Arguments: `{}`}},
			usage: item.Usage{InputTokens: 32, OutputTokens: 54, ReasoningTokens: 42}, finish: item.FinishToolCalls, model: "gemini-2.5-flash"},
		"web-search-grounding.sse": {begins: "### Weather in", ends: "throughout the day.", blocks: 1, notes: 9,
			usage: item.Usage{InputTokens: 119, OutputTokens: 653, ReasoningTokens: 412}, finish: item.FinishStop, model: "gemini-2.5-pro"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := providertest.Collect(t, client(t, playing(t, all[name])), providertest.Hello)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(got.Texts, "")
			if !strings.HasPrefix(text, want.begins) || !strings.HasSuffix(text, want.ends) || len(got.Texts) != want.blocks {
				t.Errorf("text in %d blocks: %q", len(got.Texts), text)
			}
			signatures, thought, signed := 0, "", 0
			for _, r := range got.Reasoning {
				thought += item.JoinText(r.Summary)
				if r.Signature != "" {
					signatures++
				}
			}
			for i, c := range got.Calls {
				if c.Signature != "" {
					signed++
					got.Calls[i].Signature = ""
				}
			}
			if !strings.HasPrefix(thought, want.thought) || (thought == "") != (want.thought == "") || signatures != want.signatures || signed != want.signedCalls {
				t.Errorf("thought %q, %d signatures, %d on calls", thought, signatures, signed)
			}
			if !reflect.DeepEqual(got.Calls, want.calls) || len(got.Notes) != want.notes {
				t.Errorf("calls %+v, %d annotations", got.Calls, len(got.Notes))
			}
			if got.Usage != want.usage {
				t.Errorf("usage %+v, want %+v", got.Usage, want.usage)
			}
			if f := (model.Finish{Reason: want.finish, Raw: "STOP", Model: want.model}); *got.Finish != f {
				t.Errorf("finish %+v, want %+v", *got.Finish, f)
			}
		})
	}
}

func TestHowTheBytesWereCutAndFramedDoesNotMatter(t *testing.T) {
	for name, payloads := range recordings(t) {
		_, want, err := providertest.Collect(t, client(t, playing(t, payloads)), providertest.Hello)
		if err != nil {
			t.Fatal(err)
		}
		for framing, frame := range framings {
			media, body := frame(payloads)
			for way, cut := range providertest.Cuts {
				t.Run(strings.Join([]string{name, framing, way}, "/"), func(t *testing.T) {
					_, got, err := providertest.Collect(t, client(t, providertest.Replay(t, media, cut(body)), func(o *Options) { o.Array = framing == "array" }), providertest.Hello)
					if err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("parts differ from those of the uncut body:\ngot  %#v\nwant %#v", got, want)
					}
				})
			}
		}
	}
}

// The two recordings that came in their own framing, byte for byte.
func TestRecordedFraming(t *testing.T) {
	for _, name := range []string{"tools-json-array.array.json", "web-search-grounding.sse"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		_, want, err := providertest.Collect(t, client(t, playing(t, recordings(t)[name])), providertest.Hello)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := providertest.Collect(t, client(t, providertest.Replay(t, "", slices.Collect(slices.Chunk(raw, 3)))), providertest.Hello)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %#v\nwant %#v", name, err, got, want)
		}
	}
}

// Indices on the wire count bytes, ours count code points: the text has degree signs before most segments.
func TestGroundingMarksTheTextThatItNames(t *testing.T) {
	payloads := recordings(t)["web-search-grounding.sse"]
	got, _, err := providertest.Collect(t, client(t, playing(t, payloads)), providertest.Hello)
	if err != nil {
		t.Fatal(err)
	}
	var last struct {
		Candidates []struct {
			GroundingMetadata struct {
				GroundingSupports []struct {
					Segment               struct{ Text string }
					GroundingChunkIndices []int
				}
			}
		}
	}
	if err := json.Unmarshal(payloads[len(payloads)-1], &last); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range last.Candidates[0].GroundingMetadata.GroundingSupports {
		for range s.GroundingChunkIndices {
			want = append(want, s.Segment.Text)
		}
	}
	var marked []string
	for _, n := range got.Notes {
		marked = append(marked, string([]rune(got.Texts[n.Block])[n.Start:n.End]))
		if n.Type != item.URLCitation || !strings.HasPrefix(n.URL, "https://") || n.Title == "" {
			t.Errorf("annotation %+v", n)
		}
	}
	if !reflect.DeepEqual(marked, want) {
		t.Errorf("marked %q\nwant %q", marked, want)
	}
}

// The SDK's own decoder is the judge of what a recording means.
func TestMeansTheSameToTheSDK(t *testing.T) {
	for name, payloads := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			srv := playing(t, payloads)
			got, _, err := providertest.Collect(t, client(t, srv), providertest.Hello)
			if err != nil {
				t.Fatal(err)
			}
			got.Notes = nil // judged by TestGroundingMarksTheTextThatItNames
			for i := range got.Reasoning {
				got.Reasoning[i].Signature = ""
			}
			want, err := accumulate(srv)
			if err != nil {
				t.Fatal(err)
			}
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			if !bytes.Equal(g, w) {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		})
	}
}

// accumulate asks srv through the SDK alone.
func accumulate(srv *httptest.Server) (providertest.Answer, error) {
	var a providertest.Answer
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: srv.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL}})
	if err != nil {
		return a, err
	}
	var texts, thoughts strings.Builder
	signed := false
	args := []map[string]any{}
	for resp, err := range c.Models.GenerateContentStream(context.Background(), "m", genai.Text("hello"), nil) {
		if err != nil {
			return a, err
		}
		if u := resp.UsageMetadata; u != nil && u.PromptTokenCount > 0 {
			a.Usage = item.Usage{
				InputTokens:  int(u.PromptTokenCount + u.ToolUsePromptTokenCount),
				OutputTokens: int(u.CandidatesTokenCount + u.ThoughtsTokenCount), ReasoningTokens: int(u.ThoughtsTokenCount),
				CachedTokens: int(u.CachedContentTokenCount)}
		}
		cand := resp.Candidates[0]
		for _, p := range cand.Content.Parts {
			switch {
			case p.FunctionCall != nil:
				f := p.FunctionCall
				if f.Name != "" {
					a.Calls = append(a.Calls, item.ToolCall{Name: f.Name})
					args = append(args, map[string]any{})
					// The SDK decodes the signature; JSON writes it as it was.
					b, _ := json.Marshal(p.ThoughtSignature)
					_ = json.Unmarshal(b, &a.Calls[len(a.Calls)-1].Signature)
				}
				into := args[len(args)-1]
				for k, v := range f.Args {
					into[k] = v
				}
				for _, pa := range f.PartialArgs {
					key := strings.TrimPrefix(pa.JsonPath, "$.")
					so, _ := into[key].(string)
					into[key] = so + pa.StringValue
				}
			case p.Thought:
				thoughts.WriteString(p.Text)
			default:
				texts.WriteString(p.Text)
				signed = signed || len(p.ThoughtSignature) > 0
			}
		}
		if cand.FinishReason != "" {
			a.Finish = &model.Finish{Raw: string(cand.FinishReason), Reason: item.FinishStop, Model: resp.ModelVersion}
		}
	}
	for i := range a.Calls {
		b, err := json.Marshal(args[i])
		if err != nil {
			return a, err
		}
		a.Calls[i].Arguments = string(b)
		a.Finish.Reason = item.FinishToolCalls
	}
	if texts.Len() > 0 {
		a.Texts = []string{texts.String()}
	}
	if thoughts.Len() > 0 || signed {
		a.Reasoning = []item.Reasoning{{Summary: item.Text(thoughts.String())}}
	}
	return a, nil
}

func TestOtherWaysToSayTheSame(t *testing.T) {
	for name, chunks := range recordings(t) {
		kind, body := framings["sse"](chunks)
		t.Run(name, func(t *testing.T) { subject.Undistorted(t, kind, body) })
	}
}
