package tasks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/item"
)

const (
	defaultPage = 20
	largestPage = 1000
)

// row is a task in a list: all but its output.
type row struct {
	TaskID    string          `json:"task_id"`
	Status    string          `json:"status"`
	ThreadID  string          `json:"thread_id"`
	Previous  string          `json:"previous_task_id,omitempty"`
	Assistant string          `json:"assistant"`
	Graph     string          `json:"graph,omitempty"`
	CreatedAt string          `json:"created_at"`
	EndedAt   string          `json:"ended_at,omitempty"`
	Attempt   int             `json:"attempt,omitempty"`
	Metadata  json.RawMessage `json:"metadata"`
	Error     *event.Error    `json:"error,omitempty"`
	Usage     *item.Usage     `json:"usage,omitempty"`
}

func rowOf(r *run.Run) row {
	row := row{
		TaskID: r.ID, Status: statusWord(r.Status), ThreadID: r.Thread, Assistant: r.Assistant, Graph: r.Request.Graph,
		CreatedAt: stamp(r.CreatedAt), EndedAt: stamp(r.EndedAt), Attempt: r.Attempt, Metadata: r.Request.Metadata, Error: r.Error,
	}
	var w wireWords
	if json.Unmarshal(r.Request.Wire, &w) == nil { // another dialect's words are none of ours
		row.Previous = w.Previous
	}
	if jsonvalue.IsNull(row.Metadata) {
		row.Metadata = json.RawMessage("{}")
	}
	if !r.Usage.IsZero() {
		row.Usage = &r.Usage
	}
	return row
}

// page is the answer to GET /tasks.
type page struct {
	Tasks  []row `json:"tasks"`
	Total  int   `json:"total"` // of all pages
	Limit  int   `json:"limit"`
	Offset int   `json:"offset"`
}

func (s *Service) list(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	q, err := queryOf(r.URL)
	if err != nil {
		return err
	}
	if q.Assistant != "" {
		a, err := s.assistant(r.Context(), who, q.Assistant)
		if err != nil {
			return err
		}
		q.Assistant = a.ID
	}
	runs, total, err := s.opt.Store.SearchRuns(r.Context(), who, q)
	if err != nil {
		return err
	}
	page := page{Tasks: make([]row, len(runs)), Total: total, Limit: q.Limit, Offset: q.Offset}
	for i := range runs {
		page.Tasks[i] = rowOf(&runs[i])
	}
	w.Header().Set("X-Pagination-Total", strconv.Itoa(total))
	return edge.Answer(w, http.StatusOK, page)
}

// queryOf reads the filters from the address. A name that is none of them is refused: a misspelt filter would
// otherwise show everything.
func queryOf(u *url.URL) (run.RunQuery, error) {
	q := run.RunQuery{Limit: defaultPage}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return q, run.Invalidf("query", "%v", err)
	}
	for name, given := range values {
		value := given[len(given)-1]
		switch name {
		case "status":
			for _, words := range given {
				if q.Statuses, err = appendStatuses(q.Statuses, words); err != nil {
					return q, err
				}
			}
		case "thread_id":
			q.Thread = value
		case "assistant":
			q.Assistant = value
		case "metadata":
			if value == "" || edge.WantObject(name, json.RawMessage(value)) != nil || jsonvalue.IsNull(json.RawMessage(value)) {
				return q, run.Invalidf(name, `must be a JSON object, as {"customer":"7"}`)
			}
			if err := edge.CheckJSON([]byte(value)); err != nil {
				return q, run.Invalidf(name, "cannot be matched: %v", err)
			}
			q.Metadata = json.RawMessage(value)
		case "order":
			if value != "asc" && value != "desc" {
				return q, run.Invalidf(name, "must be asc or desc, not %q", value)
			}
			q.Asc = value == "asc"
		case "limit":
			if q.Limit, err = strconv.Atoi(value); err != nil || q.Limit < 0 || q.Limit > largestPage {
				return q, run.Invalidf(name, "must be a number from 0 to %d, not %q", largestPage, value)
			}
		case "offset":
			if q.Offset, err = strconv.Atoi(value); err != nil || q.Offset < 0 {
				return q, run.Invalidf(name, "must be a number from 0, not %q", value)
			}
		default:
			return q, run.Invalidf(name, "is not a filter; there are status, thread_id, assistant, metadata, order, limit, offset")
		}
	}
	return q, nil
}

// appendStatuses reads words of this protocol, several with commas between them.
func appendStatuses(dst []run.Status, words string) ([]run.Status, error) {
	for word := range strings.SplitSeq(words, ",") {
		status, ok := statusOfWord(word)
		if !ok {
			return nil, run.Invalidf("status", "%q is none of %s", word, statusWords())
		}
		dst = append(dst, status)
	}
	return dst, nil
}

func statusOfWord(word string) (run.Status, bool) {
	for _, w := range statuses {
		if w.word == word {
			return w.status, true
		}
	}
	return "", false
}

func statusWords() string {
	var words []string
	for _, w := range statuses {
		words = append(words, w.word)
	}
	return fmt.Sprint(strings.Join(words, ", "))
}
