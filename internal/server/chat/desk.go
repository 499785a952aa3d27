package chat

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/documents"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// Write has a model write a text, outside of any run.
type Write func(ctx context.Context, who run.Identity, system, text string) iter.Seq2[string, error]

// ErrNoModel says that nobody can write.
var ErrNoModel = errors.New("there is no language model")

// Desk is what stands around the conversation of DeerFlow's page: small jobs, each in one request.
type Desk struct {
	Write     Write            // nil: nobody can
	Model     string           // the name of the one that writes, where it is known
	Documents documents.Search // nil: there are none
	Speak     Speak            // nil: nobody reads aloud
	Ask       Ask              // nil: nobody asks MCP servers
}

// provider is the name of our documents among DeerFlow's.
const provider = "documents"

// longestText bounds what a job is about, in bytes.
const longestText = 1 << 20

// MountDesk adds the routes.
func MountDesk(t *edge.Routes, d Desk) {
	rag := jsonvalue.Object{{"provider", ""}}
	t.Handle("GET /api/config", d.config, edge.Doc{Summary: "What there is: documents and models", Answer: jsonvalue.Object{
		{"rag", rag}, {"models", jsonvalue.Object{{"basic", []string{}}, {"reasoning", []string{}}}},
	}})
	t.Handle("GET /api/rag/config", d.ragConfig, edge.Doc{Summary: "Whether there are documents", Answer: rag})
	t.Handle("GET /api/rag/resources", d.resources, edge.Doc{
		Summary: "Find documents", Query: jsonvalue.Object{{"query", edge.Text("words; without them nothing is found")}}, Answer: jsonvalue.Object{{"resources", []resource{}}},
	})
	t.Handle("POST /api/report/evaluate", d.evaluate, edge.Doc{Summary: "Judge a report by its form", Body: reportRequest{}, Answer: evaluation{}})
	t.Handle("POST /api/prompt/enhance", d.enhance, edge.Doc{Summary: "Say a question better", Body: promptRequest{}, Answer: jsonvalue.Object{{"result", ""}}})
	t.Handle("POST /api/prose/generate", d.prose, edge.Doc{Summary: "Write a text on, or otherwise", Body: proseRequest{}, Stream: true})
	t.Handle("POST /api/tts", d.tts, edge.Doc{Summary: "Read a text aloud", Body: speechRequest{}, Status: []int{}})
	t.Handle("POST /api/podcast/generate", d.podcast, edge.Doc{Summary: "Make a podcast of a report, or its script", Body: podcastRequest{}, Status: []int{}})
	t.Handle("POST /api/ppt/generate", d.slides, edge.Doc{Summary: "Make slides of a report", Body: slidesRequest{}, Status: []int{}})
	t.Handle("POST /api/mcp/server/metadata", d.server, edge.Doc{
		Summary: "List the tools of an MCP server that has an address, where requests may bring servers", Body: serverRequest{}, Answer: serverAnswer{}, Fails: []int{403},
	})
}

func (d Desk) provider() string {
	if d.Documents == nil {
		return ""
	}
	return provider
}

func (d Desk) config(w http.ResponseWriter, _ *http.Request, _ run.Identity) error {
	basic := []string{}
	if d.Model != "" {
		basic = append(basic, d.Model)
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{
		{"rag", jsonvalue.Object{{"provider", d.provider()}}}, {"models", jsonvalue.Object{{"basic", basic}, {"reasoning", []string{}}}},
	})
}

func (d Desk) ragConfig(w http.ResponseWriter, _ *http.Request, _ run.Identity) error {
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"provider", d.provider()}})
}

func (d Desk) resources(w http.ResponseWriter, r *http.Request, _ run.Identity) error {
	query, list := strings.TrimSpace(r.URL.Query().Get("query")), []resource{}
	if len(query) > 1000 || strings.ToValidUTF8(query, "") != query {
		return run.Invalidf("query", "must be text of at most 1000 bytes")
	}
	if d.Documents != nil && query != "" {
		found, err := d.Documents(r.Context(), query, 20)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, p := range found.Passages {
			if !seen[p.Path] {
				seen[p.Path] = true
				list = append(list, resource{URI: "rag://" + provider + "/" + p.Path, Title: p.Title, Description: p.Snippet})
			}
		}
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"resources", list}})
}

type promptRequest struct {
	Prompt  string `json:"prompt" required:"true"`
	Context string `json:"context"`
	Style   string `json:"report_style"`
}

// wantText checks the one member that a job cannot do without.
func wantText(field, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return run.Invalidf(field, "is required")
	case len(text) > longestText:
		return run.Invalidf(field, "is longer than %d bytes", longestText)
	}
	return nil
}

// enhance answers with the question as it is where nothing better comes, as DeerFlow does.
func (d Desk) enhance(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q promptRequest
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	if err := wantText("prompt", q.Prompt); err != nil {
		return err
	}
	const system = "You improve questions that are put to a researcher. Make the question clear and complete, keep its language and its meaning, and add no facts. " +
		"Answer with the question alone, between <enhanced_prompt> and </enhanced_prompt>."
	text := "<question>\n" + q.Prompt + "\n</question>\n"
	if q.Context != "" {
		text += "<context>\n" + q.Context + "\n</context>\n"
	}
	if q.Style != "" {
		text += "The report will be written in the style " + edge.Clip(strings.ToLower(q.Style)) + ".\n"
	}
	said, err := d.written(r.Context(), who, system, text)
	if errors.Is(err, ErrNoModel) {
		return noModel(w)
	}
	result := q.Prompt
	if _, after, ok := strings.Cut(said, "<enhanced_prompt>"); ok && err == nil {
		if inner, _, closed := strings.Cut(after, "</enhanced_prompt>"); closed && strings.TrimSpace(inner) != "" {
			result = strings.TrimSpace(inner)
		}
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"result", result}})
}

func (d Desk) written(ctx context.Context, who run.Identity, system, text string) (string, error) {
	if d.Write == nil {
		return "", ErrNoModel
	}
	var out strings.Builder
	for piece, err := range d.Write(ctx, who, system, text) {
		if err != nil {
			return "", err
		}
		out.WriteString(piece)
	}
	return out.String(), nil
}

type proseRequest struct {
	Prompt  string `json:"prompt" required:"true"`
	Option  string `json:"option" enum:"continue,improve,shorter,longer,fix,zap"`
	Command string `json:"command" doc:"what zap is to do"`
}

// orders are what the options mean.
var orders = map[string]string{
	"continue": "Write the text on, in its own voice, by a few sentences. Answer with what follows and not with the text itself.",
	"improve":  "Write the text better: clear, correct, in the same voice.",
	"shorter":  "Write the text shorter, without losing what it says.",
	"longer":   "Write the text at greater length, without inventing facts.",
	"fix":      "Correct spelling and grammar, and change nothing else.",
	"zap":      "Do with the text what the command says.",
}

func (d Desk) prose(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var q proseRequest
	if err := edge.Decode(w, r, &q); err != nil {
		return err
	}
	if err := wantText("prompt", q.Prompt); err != nil {
		return err
	}
	option, err := edge.OneOf("option", q.Option, "continue", "improve", "shorter", "longer", "fix", "zap")
	if err != nil {
		return err
	}
	text := "<text>\n" + q.Prompt + "\n</text>\n"
	if q.Command != "" {
		text += "<command>\n" + q.Command + "\n</command>\n"
	}
	if d.Write == nil {
		return noModel(w)
	}
	out := http.NewResponseController(w)
	begun := false
	for piece, err := range d.Write(r.Context(), who, "You are an editor. "+orders[option]+" Answer with the text alone, in its language.", text) {
		switch {
		case errors.Is(err, ErrNoModel):
			return noModel(w)
		case err != nil && begun:
			panic(http.ErrAbortHandler) // a text that is cut off must not look whole
		case err != nil:
			return failed(w)
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", sse.ContentType)
			w.Header().Set("Cache-Control", "no-cache")
		}
		var frame bytes.Buffer
		for line := range strings.SplitSeq(strings.ReplaceAll(piece, "\r", ""), "\n") {
			frame.WriteString("data: " + line + "\n")
		}
		frame.WriteByte('\n')
		if _, err := w.Write(frame.Bytes()); err != nil {
			return nil // the client has gone
		}
		if err := out.Flush(); err != nil {
			return nil
		}
	}
	return nil
}

// explain answers that something cannot be had here. Other answers of this class hide their reason.
func explain(w http.ResponseWriter, status int, why string) error {
	return edge.Answer(w, status, edge.Problem{Error: http.StatusText(status), Detail: why})
}

func noModel(w http.ResponseWriter) error {
	return explain(w, http.StatusNotImplemented, "there is no language model; name one under models in the configuration, or set the key of a provider, as OPENAI_API_KEY")
}

func failed(w http.ResponseWriter) error {
	return explain(w, http.StatusBadGateway, "the model could not write the text; try again")
}
