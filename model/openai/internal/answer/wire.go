package answer

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
)

// chunk is one payload of a streamed chat completion, and only what we read of it. Ollama's own API streams
// objects of another shape; their fields are here too, since they do not collide.
type chunk struct {
	Model   json.RawMessage `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    *struct {
		Usage *usage          `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`

	Message    *delta `json:"message"`  // Ollama, /api/chat
	Response   text   `json:"response"` // Ollama, /api/generate
	Thinking   text   `json:"thinking"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`
	PromptEval int    `json:"prompt_eval_count"`
	Eval       int    `json:"eval_count"`
}

func (c *chunk) reset() {
	clear(c.Choices[:cap(c.Choices)])
	*c = chunk{Model: c.Model[:0], Error: c.Error[:0], Choices: c.Choices[:0]}
}

type choice struct {
	Index   int    `json:"index"`
	Delta   delta  `json:"delta"`
	Message *delta `json:"message"` // of an answer that is not streamed
	Finish  text   `json:"finish_reason"`
	Usage   *usage `json:"usage"` // Kimi
}

type delta struct {
	Content     text         `json:"content"`
	Refusal     text         `json:"refusal"`
	ReasoningC  text         `json:"reasoning_content"` // DeepSeek, Qwen, Kimi, xAI, vLLM
	Reasoning   text         `json:"reasoning"`         // Groq, OpenRouter, newer vLLM
	Details     []detail     `json:"reasoning_details"` // OpenRouter
	Thinking    text         `json:"thinking"`          // Ollama
	ToolCalls   []toolCall   `json:"tool_calls"`
	Function    *function    `json:"function_call"` // before there were tools
	Annotations []annotation `json:"annotations"`
	Images      []struct {
		URL imageURL `json:"image_url"`
	} `json:"images"` // OpenRouter
}

type toolCall struct {
	Index    *int     `json:"index"`
	ID       text     `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      text      `json:"name"`
	Arguments arguments `json:"arguments"`
}

type detail struct {
	Type      string          `json:"type"`
	ID        text            `json:"id"`
	Index     *int            `json:"index"`
	Text      text            `json:"text"`
	Summary   text            `json:"summary"`
	Data      json.RawMessage `json:"data"`
	Signature text            `json:"signature"`
	Format    text            `json:"format"`
}

type imageURL struct {
	URL string `json:"url"`
}

// annotation is a citation: flat on the Responses wire, nested on Chat Completions.
type annotation struct {
	Type  string `json:"type"`
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	URL   string `json:"url"`
	Title string `json:"title"`
	Inner *struct {
		Start int    `json:"start_index"`
		End   int    `json:"end_index"`
		URL   string `json:"url"`
		Title string `json:"title"`
		Quote string `json:"content"` // OpenRouter
	} `json:"url_citation"`
}

// citation returns the annotation if it is one of a web page.
func (a annotation) citation() (item.Annotation, bool) {
	out := item.Annotation{Type: item.URLCitation, Start: a.Start, End: a.End, URL: a.URL, Title: a.Title}
	if in := a.Inner; in != nil {
		out.Start, out.End, out.URL, out.Title, out.Quote = in.Start, in.End, in.URL, in.Title, in.Quote
	}
	return out, a.Type == "url_citation" && out.URL != ""
}

// usage has the names of both wires.
type usage struct {
	Prompt      int          `json:"prompt_tokens"`
	Completion  int          `json:"completion_tokens"`
	Input       int          `json:"input_tokens"`
	Output      int          `json:"output_tokens"`
	Total       int          `json:"total_tokens"`
	PromptD     usageDetails `json:"prompt_tokens_details"`
	CompletionD usageDetails `json:"completion_tokens_details"`
	InputD      usageDetails `json:"input_tokens_details"`
	OutputD     usageDetails `json:"output_tokens_details"`
	CacheHit    int          `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached      int          `json:"cached_tokens"`           // Kimi
}

type usageDetails struct {
	Cached     int `json:"cached_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
	Reasoning  int `json:"reasoning_tokens"`
}

func (u *usage) usage() item.Usage {
	out := item.Usage{
		InputTokens:      max(u.Prompt, u.Input),
		OutputTokens:     max(u.Completion, u.Output),
		CachedTokens:     max(u.PromptD.Cached, u.InputD.Cached, u.CacheHit, u.Cached),
		CacheWriteTokens: max(u.PromptD.CacheWrite, u.InputD.CacheWrite),
		ReasoningTokens:  max(u.CompletionD.Reasoning, u.OutputD.Reasoning),
	}
	// xAI counts thinking beside the completion, and only the total has both.
	if rest := u.Total - out.InputTokens; u.Total > 0 && rest == out.OutputTokens+out.ReasoningTokens {
		out.OutputTokens = rest
	}
	return out
}

// text is a string, null, or a list of parts with text in them.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	if s, ok := plain(data); ok {
		*t = text(s)
		return nil
	}
	*t = ""
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text text   `json:"text"`
		}
		if err := json.Unmarshal(data, &parts); err != nil {
			return nil // a list of something else has no text
		}
		var b strings.Builder
		for _, p := range parts {
			if p.Type == "text" || p.Type == "output_text" {
				b.WriteString(string(p.Text))
			}
		}
		*t = text(b.String())
	}
	return nil
}

// arguments is a string of JSON, or the JSON itself, as some servers send it.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	if s, ok := plain(data); ok {
		*a = arguments(s)
		return nil
	}
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(a))
	case 'n':
		*a = ""
	default:
		*a = arguments(data)
	}
	return nil
}

// plain returns a JSON string that needs no unescaping; most pieces of an answer are such strings.
func plain(data []byte) (string, bool) {
	if len(data) < 2 || data[0] != '"' || bytes.IndexByte(data, '\\') >= 0 || !utf8.Valid(data) {
		return "", false
	}
	return string(data[1 : len(data)-1]), true
}

// isNull reports a field that was absent or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// unquoted returns the string that a raw field is, or nothing.
func unquoted(raw json.RawMessage) string {
	var s text
	if len(raw) > 0 && s.UnmarshalJSON(raw) != nil {
		return ""
	}
	return string(s)
}
