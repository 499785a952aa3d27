package chat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

func (w *world) answer(method, path, body string) (int, string) {
	w.Helper()
	res := w.do(method, path, body)
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// writer is a world whose runtime has a model that writes.
func writer(t *testing.T, play func(model.Request) scripted.Script) *world {
	t.Helper()
	return open(t, tributary.Options{Models: tributary.OneModel(scripted.New(play))})
}

func TestTheDeskTellsWhatThereIs(t *testing.T) {
	w := writer(t, play)
	for path, want := range map[string]string{
		"/api/config":              `{"rag":{"provider":""},"models":{"basic":[],"reasoning":[]}}`,
		"/api/rag/config":          `{"provider":""}`,
		"/api/rag/resources?query": `{"resources":[]}`,
	} {
		if code, got := w.answer("GET", path, ""); code != http.StatusOK || got != want {
			t.Errorf("GET %s is answered with %d %s, want %s", path, code, got, want)
		}
	}
}

func TestAPromptIsEnhancedOrStaysAsItIs(t *testing.T) {
	w := writer(t, func(req model.Request) scripted.Script {
		if strings.Contains(req.Messages[0].Text(), "rivers") {
			return scripted.Say("Here: <enhanced_prompt>Why do rivers bend, and how fast?</enhanced_prompt>")
		}
		return scripted.Say("I do not know how.")
	})
	for prompt, want := range map[string]string{"rivers": "Why do rivers bend, and how fast?", "lakes": "lakes"} {
		if code, got := w.answer("POST", "/api/prompt/enhance", `{"prompt":"`+prompt+`"}`); code != http.StatusOK || got != `{"result":"`+want+`"}` {
			t.Errorf("%s is answered with %d %s, want %s", prompt, code, got, want)
		}
	}
}

func TestProseStreamsItsLinesWhole(t *testing.T) {
	const text = "One.\n\nTwo: \"three\".\n"
	w := writer(t, func(model.Request) scripted.Script { return scripted.Say(text) })
	code, got := w.answer("POST", "/api/prose/generate", `{"prompt":"x","option":"longer"}`)
	said := ""
	for frame := range strings.SplitSeq(strings.TrimSuffix(got, "\n\n"), "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(frame, "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				t.Fatalf("a line %q", line)
			}
			lines = append(lines, data)
		}
		said += strings.Join(lines, "\n")
	}
	if code != http.StatusOK || said != text {
		t.Errorf("%d, read %q, want %q", code, said, text)
	}
}

func TestAReportIsJudgedByItsForm(t *testing.T) {
	w := writer(t, play)
	body, _ := json.Marshal(map[string]string{"query": "rivers", "content": `# Rivers

## Key Points
- They bend. [^1]

## Overview
See [a page](https://example.com/a) and ![a picture](https://example.com/p.png).

## References
[^1]: Meanders, <https://example.com/b>
`})
	code, got := w.answer("POST", "/api/report/evaluate", string(body))
	const want = `{"metrics":{"word_count":29,"citation_count":2,"unique_sources":2,"image_count":1,"section_count":3,"section_coverage_score":0.75,` +
		`"sections_found":["key_points","overview","citations"],"sections_missing":["analysis"],"has_title":true,"has_key_points":true,"has_overview":true,"has_citations_section":true},` +
		`"score":5.3,"grade":"D"}`
	if code != http.StatusOK || got != want {
		t.Errorf("%d\n%s, want\n%s", code, got, want)
	}
}

func TestWhatTheDeskCannotDoItSays(t *testing.T) {
	w := open(t, tributary.Options{}) // the offline model cannot write
	for path, c := range map[string]struct{ body, says string }{
		"/api/tts":                 {`{"text":"x"}`, "speech"},
		"/api/podcast/generate":    {`{"content":"x"}`, "speech"},
		"/api/mcp/server/metadata": {`{"transport":"sse","url":"https://example.com"}`, "mcp.requests"},
		"/api/prompt/enhance":      {`{"prompt":"x"}`, "models"},
		"/api/prose/generate":      {`{"prompt":"x"}`, "models"},
		"/api/report/evaluate":     {`{"content":"x","use_llm":true}`, "models"},
	} {
		var p struct{ Detail string }
		if code, got := w.answer("POST", path, c.body); code != http.StatusNotImplemented || json.Unmarshal([]byte(got), &p) != nil || !strings.Contains(p.Detail, c.says) {
			t.Errorf("POST %s is answered with %d %s, want 501 and a word about %s", path, code, got, c.says)
		}
	}
	for _, body := range []string{`{"transport":"stdio","command":"sh"}`, `{"transport":"stdio"}`, `{"transport":"sse","url":"https://example.com","args":["-c"]}`, `{"url":"https://example.com","env":{"A":"b"}}`} {
		if code, got := w.answer("POST", "/api/mcp/server/metadata", body); code != http.StatusForbidden {
			t.Errorf("%s is answered with %d %s, want 403", body, code, got)
		}
	}
	for _, body := range []string{`{"transport":"sse"}`, `{"url":"https://example.com","timeout_seconds":0}`, `{"url":"https://example.com","timeout_seconds":3601}`} {
		if code, got := w.answer("POST", "/api/mcp/server/metadata", body); code != http.StatusUnprocessableEntity {
			t.Errorf("%s is answered with %d %s, want 422", body, code, got)
		}
	}
}
