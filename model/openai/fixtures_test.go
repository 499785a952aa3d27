package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/model"
)

// Shapes that went wrong once, in files of our own. Each is what its golden file says, however it is cut.
func TestShapesInFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/shapes/*.sse")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	req := hello
	for _, name := range []string{"get_weather", "get_weather_today", "clock", "draw"} {
		req.Tools = append(req.Tools, model.Tool{Name: name})
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for cut, pieces := range cuts {
				o := options(t, serve(t, "text/event-stream", pieces(body)))
				o.ThinkOpened = strings.HasPrefix(name, "think-") && !strings.HasSuffix(name, "-not-known")
				a := collect(t, t.Context(), open(strings.HasPrefix(name, "responses-"), o), req)
				got := a.golden()
				if cut != "whole" {
					want, err := os.ReadFile("testdata/golden/shapes-" + name + ".txt")
					if err == nil && got != string(want) && !*update {
						t.Errorf("%s: got\n%s\nwant\n%s", cut, got, want)
					}
					continue
				}
				checkGolden(t, "shapes/"+name, got)
			}
		})
	}
}

// A tool whose name came whole is told at once, before its arguments.
func TestAToolsNameIsToldAsSoonAsItIsKnown(t *testing.T) {
	body := []byte(sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"draw","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`))
	req := hello
	req.Tools = []model.Tool{{Name: "draw"}}
	a := collect(t, t.Context(), Chat(options(t, serve(t, "text/event-stream", [][]byte{body}))), req)
	if first, ok := a.parts[0].(model.ToolCall); !ok || first.Name != "draw" || first.Arguments != "" {
		t.Errorf("the first part is %+v, want the name alone", a.parts[0])
	}
}

// A page that a proxy shows to people is no answer, and will be none at the next try.
func TestAWebPageIsToldAtOnce(t *testing.T) {
	page := [][]byte{bytes.Repeat([]byte("<!doctype html><html><head><title>Log in</title></head></html>\n"), 3)}
	for _, responses := range []bool{false, true} {
		a := collect(t, t.Context(), open(responses, options(t, serve(t, "text/html; charset=utf-8", page))), hello)
		want := `error: model_bad_request: the answer is a web page ("Log in") and not that of an API; check base_url, which most often ends in /v1` + "\n"
		if got := a.golden(); got != want || model.BadRequest.Retryable() {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestProviderToolsAreOfferedBesideOurs(t *testing.T) {
	for responses, want := range map[bool]string{
		false: `"tools":[{"type":"function","function":{"name":"draw","parameters":{"properties":{},"type":"object"}}},{"type":"web_search"}]`,
		true:  `"tools":[{"type":"function","name":"draw","parameters":{"properties":{},"type":"object"},"strict":false},{"type":"web_search"}]`,
	} {
		o := options(t, serve(t, "text/event-stream", nil))
		o.Tools = append(o.Tools, []byte(`{"type":"web_search"}`))
		var body string
		req := hello
		req.Tools, req.Sent = []model.Tool{{Name: "draw"}}, func(b []byte) { body = string(b) }
		for range open(responses, o).Stream(t.Context(), req) {
		}
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}
