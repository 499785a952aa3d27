package threads

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// A search through texts reads the newest state of every thread that it looks at, so it is bounded in both.
const (
	mostLookedThrough = 2000
	defaultMatches    = 20
	mostMatches       = 100
	longestText       = 200
	around            = 80 // letters that are shown before and after a match
)

// Match is a place in a thread's messages, the newest of that thread.
type Match struct {
	Thread  string `json:"thread_id"`
	Message string `json:"message_id"`
	Type    string `json:"type" doc:"human, ai or tool"`
	Before  string `json:"before"`
	Match   string `json:"match"`
	After   string `json:"after"`
}

// searchText finds the threads of the caller whose messages have some words in this order, whatever their case.
func (s *Service) searchText(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	q := r.URL.Query()
	text := strings.Join(strings.Fields(q.Get("q")), " ")
	switch {
	case text == "":
		return run.Invalidf("q", "is required: the words to look for")
	case !utf8.ValidString(text) || utf8.RuneCountInString(text) > longestText:
		return run.Invalidf("q", "must be text of at most %d characters", longestText)
	}
	limit := defaultMatches
	if given := q.Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > mostMatches {
			return run.Invalidf("limit", "must be a number from 1 to %d", mostMatches)
		}
		limit = n
	}
	words := strings.Split(text, " ")
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	want, err := regexp.Compile(`(?i)` + strings.Join(words, `\s+`))
	if err != nil {
		return run.Invalidf("q", "cannot be looked for: %v", err)
	}
	found, complete, err := s.lookThrough(r, who, want, limit)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"matches", found}, {"complete", complete}})
}

// lookThrough reads threads, newest first. It is complete if there is none that it did not read.
func (s *Service) lookThrough(r *http.Request, who run.Identity, want *regexp.Regexp, limit int) ([]Match, bool, error) {
	ctx := r.Context()
	found := []Match{}
	for offset := 0; offset < mostLookedThrough; offset += edge.MaxLimit {
		some, _, err := s.opt.Store.SearchThreads(ctx, who, run.ThreadQuery{SortBy: "updated_at", Limit: edge.MaxLimit, Offset: offset})
		if err != nil {
			return nil, false, err
		}
		for i, th := range some {
			snap, err := s.opt.Store.Load(ctx, th.ID, "", "")
			if errors.Is(err, graph.ErrNoCheckpoint) {
				continue
			}
			if err != nil {
				return nil, false, err
			}
			m, ok := matchIn(snap.Values["messages"], want)
			if !ok {
				continue
			}
			m.Thread = th.ID
			if found = append(found, m); len(found) == limit {
				return found, i == len(some)-1 && len(some) < edge.MaxLimit, nil
			}
		}
		if len(some) < edge.MaxLimit {
			return found, true, nil
		}
	}
	return found, false, nil
}

// matchIn looks at messages from the newest back. What is no list of messages has no match.
func matchIn(messages json.RawMessage, want *regexp.Regexp) (Match, bool) {
	var list []struct {
		ID      string          `json:"id"`
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(messages, &list) != nil {
		return Match{}, false
	}
	for i := len(list) - 1; i >= 0; i-- {
		for _, text := range textsOf(list[i].Content) {
			at := want.FindStringIndex(text)
			if at == nil {
				continue
			}
			return Match{
				Message: list[i].ID, Type: list[i].Type,
				Before: lastLetters(text[:at[0]], around), Match: text[at[0]:at[1]], After: firstLetters(text[at[1]:], around),
			}, true
		}
	}
	return Match{}, false
}

// textsOf are the texts of a content in LangChain's form: a string, or a list of blocks of which some are text.
func textsOf(content json.RawMessage) []string {
	var one string
	if json.Unmarshal(content, &one) == nil {
		return []string{one}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var out []string
	for _, raw := range blocks {
		var b struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &one) == nil {
			out = append(out, one)
		} else if json.Unmarshal(raw, &b) == nil && b.Text != "" {
			out = append(out, b.Text)
		}
	}
	return out
}

func lastLetters(text string, most int) string {
	r := []rune(text[max(0, len(text)-4*most):]) // no letter has more than four bytes
	return oneLine(strings.TrimLeft(string(r[max(0, len(r)-most):]), "\ufffd"))
}

func firstLetters(text string, most int) string {
	r := []rune(text[:min(len(text), 4*most)])
	return oneLine(strings.TrimRight(string(r[:min(len(r), most)]), "\ufffd"))
}

var breaks = regexp.MustCompile(`\s+`)

func oneLine(text string) string { return breaks.ReplaceAllString(text, " ") }
