// Package documents serves the search in local documents that agents use as a tool, for people and programs.
//
// An empty list is an answer: it says that the documents do not answer, and which words none of them has.
package documents

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Passage is a stretch of a document.
type Passage struct {
	Title    string   `json:"title"`
	Trail    []string `json:"trail" doc:"the headings that it stands under, outermost first"`
	Path     string   `json:"path"`
	Anchor   string   `json:"anchor" doc:"of the innermost heading; empty before the first"`
	Position string   `json:"position" doc:"as in line 12 or page 3"`
	Snippet  string   `json:"snippet" doc:"the part with most hits, each between « and »"`
	Text     string   `json:"text"`
}

// Found is what a search found.
type Found struct {
	Passages []Passage
	Missing  []string // words that no document has; looked for only where there are no passages
}

// Search finds passages.
type Search func(ctx context.Context, query string, limit int) (Found, error)

const (
	defaultLimit = 6
	mostLimit    = 20
	longestQuery = 1000
)

// Mount adds the route.
func Mount(t *edge.Routes, search Search) {
	t.Section("documents", "Search in local documents")
	t.Handle("GET /documents/search", search.serve, edge.Doc{
		Summary: "Find the passages that answer a question; none if the documents do not",
		Query:   jsonvalue.Object{{"q", edge.Text("a question, or its words")}, {"limit", defaultLimit}},
		Answer:  jsonvalue.Object{{"passages", []Passage{}}, {"missing", []string{}}},
		Fails:   []int{422},
	})
}

func (s Search) serve(w http.ResponseWriter, r *http.Request, _ run.Identity) error {
	q := r.URL.Query()
	query, limit := strings.TrimSpace(q.Get("q")), defaultLimit
	switch {
	case query == "":
		return run.Invalidf("q", "is required: what to look for")
	case utf8.RuneCountInString(query) > longestQuery || !utf8.ValidString(query):
		return run.Invalidf("q", "must be text of at most %d characters", longestQuery)
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostLimit {
			return run.Invalidf("limit", "must be a number from 1 to %d", mostLimit)
		}
		limit = n
	}
	found, err := s(r.Context(), query, limit)
	if err != nil {
		return err
	}
	passages, missing := found.Passages, found.Missing
	if passages == nil {
		passages = []Passage{}
	}
	for i := range passages {
		if passages[i].Trail == nil {
			passages[i].Trail = []string{}
		}
	}
	if missing == nil {
		missing = []string{}
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"passages", passages}, {"missing", missing}})
}
