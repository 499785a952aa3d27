package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

type criteria struct {
	edge.Criteria
	IDs     []string          `json:"ids"`
	Values  json.RawMessage   `json:"values" type:"object" doc:"what their values must contain"`
	Status  string            `json:"status" enum:"idle,busy,interrupted,error"`
	Extract map[string]string `json:"extract" doc:"paths to show, as values.messages[-1].content, by a name of yours"`
}

// read reads a search and turns it into the store's words.
func (q *criteria) read(w http.ResponseWriter, r *http.Request) (out run.ThreadQuery, err error) {
	if err := edge.Decode(w, r, q); err != nil {
		return out, err
	}
	out = run.ThreadQuery{Status: run.ThreadStatus(q.Status), SortBy: q.SortBy}
	if q.Status != "" {
		if _, err := edge.OneOf("status", q.Status, "idle", "busy", "interrupted", "error"); err != nil {
			return out, err
		}
	}
	if out.Asc, err = q.Check(members, "thread_id", "status", "created_at", "updated_at"); err != nil {
		return out, err
	}
	out.Metadata = q.Metadata
	if err := edge.WantObject("values", q.Values); err != nil {
		return out, err
	}
	if len(q.IDs) > edge.MaxLimit {
		return out, run.Invalidf("ids", "are more than %d", edge.MaxLimit)
	}
	for i, id := range q.IDs {
		id, err := edge.ParseThread("ids."+strconv.Itoa(i), id)
		if err != nil {
			return out, err
		}
		out.IDs = append(out.IDs, id)
	}
	return out, nil
}

// searching lets a search be carried out.
func (s *Service) searching(r *http.Request, who run.Identity, q run.ThreadQuery, values json.RawMessage) edge.Finder[run.Thread] {
	return func(limit, offset int) ([]run.Thread, int, error) {
		q.Limit, q.Offset = limit, offset
		return s.find(r.Context(), who, q, values)
	}
}

func (s *Service) search(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req criteria
	q, err := req.read(w, r)
	if err != nil {
		return err
	}
	paths, err := parsePaths(req.Extract)
	if err != nil {
		return err
	}
	return edge.AnswerPage(w, &req.Criteria, s.searching(r, who, q, req.Values), func(th run.Thread) (jsonvalue.Object, error) {
		names := req.Select
		if len(paths) > 0 {
			names = nil // paths may lead anywhere
		}
		o, err := s.toJSON(r.Context(), th, names)
		if err != nil {
			return nil, err
		}
		extracted, err := extract(o, paths)
		if err != nil {
			return nil, err
		}
		o = o.Pick(req.Select)
		if extracted != nil {
			o = append(o, jsonvalue.Member{"extracted", extracted})
		}
		return o, nil
	})
}

// counted is what a count looks through.
func (s *Service) counted(w http.ResponseWriter, r *http.Request, who run.Identity) (*edge.Criteria, edge.Finder[run.Thread], error) {
	var req criteria
	q, err := req.read(w, r)
	return &req.Criteria, s.searching(r, who, q, req.Values), err
}

// find searches, also by values. Values are not columns: where they are asked for, the threads that match
// otherwise are looked through one by one.
func (s *Service) find(ctx context.Context, who run.Identity, q run.ThreadQuery, values json.RawMessage) ([]run.Thread, int, error) {
	if len(jsonvalue.Fields(values)) == 0 {
		return s.opt.Store.SearchThreads(ctx, who, q)
	}
	var want any
	if err := json.Unmarshal(values, &want); err != nil {
		return nil, 0, run.Invalidf("values", "%v", err)
	}
	var found []run.Thread
	total := 0
	each := q
	each.Limit, each.Offset = edge.MaxLimit, 0
	for {
		some, _, err := s.opt.Store.SearchThreads(ctx, who, each)
		if err != nil {
			return nil, 0, err
		}
		for _, th := range some {
			snap, err := s.opt.Store.Load(ctx, th.ID, "", "")
			if errors.Is(err, graph.ErrNoCheckpoint) {
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
				return nil, run.Invalidf("extract."+edge.Clip(name), "%q is not a path like values.messages[-1].content", edge.Clip(text))
			}
			if m[1] != "" {
				p = append(p, m[1])
			}
			for _, n := range regexp.MustCompile(`-?\d+`).FindAllString(m[2], -1) {
				i, err := strconv.Atoi(n)
				if err != nil {
					return nil, run.Invalidf("extract."+edge.Clip(name), "%v", err)
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
func extract(o jsonvalue.Object, paths map[string]path) (map[string]any, error) {
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
