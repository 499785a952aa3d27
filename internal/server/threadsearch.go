package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/tributary-ai/tributary/internal/run"
)

type threadSearch struct {
	page
	IDs       []string          `json:"ids"`
	Metadata  json.RawMessage   `json:"metadata"`
	Values    json.RawMessage   `json:"values"`
	Status    string            `json:"status"`
	SortBy    string            `json:"sort_by"`
	SortOrder string            `json:"sort_order"`
	Select    []string          `json:"select"`
	Extract   map[string]string `json:"extract"`
}

// query checks a search and turns it into the store's words.
func (q *threadSearch) query() (run.ThreadQuery, error) {
	out := run.ThreadQuery{Status: run.ThreadStatus(q.Status), SortBy: q.SortBy}
	if q.Status != "" {
		if _, err := oneOf("status", q.Status, "idle", "busy", "interrupted", "error"); err != nil {
			return out, err
		}
	}
	for _, err := range []error{wantMetadata("metadata", q.Metadata), wantObject("values", q.Values), selection(q.Select, threadMembers...)} {
		if err != nil {
			return out, err
		}
	}
	if !isNull(q.Metadata) {
		out.Metadata = q.Metadata
	}
	if len(q.IDs) > maxLimit {
		return out, run.Invalidf("ids", "are more than %d", maxLimit)
	}
	for i, id := range q.IDs {
		id, err := parseID("ids."+strconv.Itoa(i), id)
		if err != nil {
			return out, err
		}
		out.IDs = append(out.IDs, id)
	}
	var err error
	out.Asc, err = sorted(q.SortBy, q.SortOrder, "thread_id", "status", "created_at", "updated_at")
	return out, err
}

func (s *Server) searchThreads(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req threadSearch
	if err := decode(w, r, &req); err != nil {
		return err
	}
	q, err := req.query()
	if err != nil {
		return err
	}
	if q.Limit, q.Offset, err = req.bounds(10); err != nil {
		return err
	}
	paths, err := parsePaths(req.Extract)
	if err != nil {
		return err
	}
	threads, total, err := s.findThreads(r.Context(), who, q, req.Values)
	if err != nil {
		return err
	}
	out := list{}
	for _, th := range threads {
		names := req.Select
		if len(paths) > 0 {
			names = nil // paths may lead anywhere
		}
		o, err := s.threadJSON(r.Context(), th, names)
		if err != nil {
			return err
		}
		extracted, err := extract(o, paths)
		if err != nil {
			return err
		}
		o = o.pick(req.Select)
		if extracted != nil {
			o = append(o, member{"extracted", extracted})
		}
		out = append(out, o)
	}
	paginate(w, total, q.Offset, len(out))
	s.answer(w, http.StatusOK, out)
	return nil
}

func (s *Server) countThreads(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req threadSearch
	if err := decode(w, r, &req); err != nil {
		return err
	}
	q, err := req.query()
	if err != nil {
		return err
	}
	_, total, err := s.findThreads(r.Context(), who, q, req.Values)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, total)
	return nil
}

// findThreads searches, also by values. Values are not columns: where they are asked for, the threads that match
// otherwise are looked through one by one.
func (s *Server) findThreads(ctx context.Context, who run.Identity, q run.ThreadQuery, values json.RawMessage) ([]run.Thread, int, error) {
	if len(fields(values)) == 0 {
		return s.opt.Store.SearchThreads(ctx, who, q)
	}
	var want any
	if err := json.Unmarshal(values, &want); err != nil {
		return nil, 0, run.Invalidf("values", "%v", err)
	}
	var found []run.Thread
	total := 0
	each := q
	each.Limit, each.Offset = maxLimit, 0
	for {
		some, _, err := s.opt.Store.SearchThreads(ctx, who, each)
		if err != nil {
			return nil, 0, err
		}
		for _, th := range some {
			snap, err := s.opt.Store.Load(ctx, th.ID, "", "")
			if isGone(err) {
				continue
			}
			if err != nil {
				return nil, 0, err
			}
			if !within(snap.Values, want) {
				continue
			}
			if total++; total > q.Offset && len(found) < q.Limit {
				found = append(found, th)
			}
		}
		if len(some) < each.Limit {
			return found, total, nil
		}
		each.Offset += len(some)
	}
}

// within reports that the values have all that is wanted.
func within(values map[string]json.RawMessage, want any) bool {
	for key, w := range want.(map[string]any) {
		var have any
		if raw, ok := values[key]; !ok || json.Unmarshal(raw, &have) != nil || !covers(have, w) {
			return false
		}
	}
	return true
}

// covers compares as PostgreSQL's @> does: objects may have more members, lists more elements.
func covers(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		for k, v := range w {
			if !ok || !covers(h[k], v) {
				return false
			}
		}
		return ok
	case []any:
		h, ok := have.([]any)
		for _, v := range w {
			hit := false
			for _, x := range h {
				hit = hit || covers(x, v)
			}
			if !hit {
				return false
			}
		}
		return ok
	}
	return reflect.DeepEqual(have, want)
}

// path leads into a JSON value: member names and positions in lists, of which -1 is the last.
type path []any

var pathPart = regexp.MustCompile(`^([^.\[\]]*)((?:\[-?\d{1,9}\])*)(?:\.|$)`)

// parsePaths reads "values.messages[-1].content".
func parsePaths(texts map[string]string) (map[string]path, error) {
	if len(texts) > 10 {
		return nil, run.Invalidf("extract", "has more than 10 paths")
	}
	out := map[string]path{}
	for name, text := range texts {
		var p path
		for rest := text; rest != ""; {
			m := pathPart.FindStringSubmatch(rest)
			if m == nil || m[0] == "" {
				return nil, run.Invalidf("extract."+clip(name), "%q is not a path like values.messages[-1].content", clip(text))
			}
			if m[1] != "" {
				p = append(p, m[1])
			}
			for _, n := range regexp.MustCompile(`-?\d+`).FindAllString(m[2], -1) {
				i, err := strconv.Atoi(n)
				if err != nil {
					return nil, run.Invalidf("extract."+clip(name), "%v", err)
				}
				p = append(p, i)
			}
			rest = rest[len(m[0]):]
		}
		out[name] = p
	}
	return out, nil
}

// extract reads the places that paths lead to; null where there is nothing.
func extract(o object, paths map[string]path) (map[string]any, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("read a thread back: %w", err)
	}
	out := map[string]any{}
	for name, p := range paths {
		out[name] = p.in(root)
	}
	return out, nil
}

func (p path) in(v any) any {
	for _, step := range p {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step < 0 {
				step += len(l)
			}
			if step < 0 || step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}
