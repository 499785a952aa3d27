// Package items serves LangGraph's store: what is remembered across threads, under namespaces.
//
// An item that is not there is null and no error, as in LangGraph's own servers. There is no vector index: a query finds
// words.
package items

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Service serves items.
type Service struct{ store run.Items }

// New serves the items of a store.
func New(store run.Items) *Service { return &Service{store} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Section("store", "What is remembered across threads, under namespaces")
	t.Handle("PUT /store/items", s.put, edge.Doc{Summary: "Put an item", Body: putting{}, Status: []int{204}})
	t.Handle("GET /store/items", s.get, edge.Doc{
		Summary: "Get an item; null where there is none", Answer: &Item{}, Fails: []int{400},
		Query: jsonvalue.Object{{"namespace", edge.Text("its labels with dots between them")}, {"key", ""}, {"refresh_ttl", false}},
	})
	t.Handle("DELETE /store/items", s.remove, edge.Doc{Summary: "Delete an item", Body: place{}, Status: []int{204}})
	t.Handle("POST /store/items/search", s.search, edge.Doc{
		Summary: "Search items below a namespace", Body: searching{}, Answer: jsonvalue.Object{{"items", []Item{}}},
	})
	t.Handle("POST /store/namespaces", s.namespaces, edge.Doc{
		Summary: "List namespaces", Body: listing{}, Answer: jsonvalue.Object{{"namespaces", [][]string{}}},
	})
}

// Item is what toJSON shows.
type Item struct {
	Namespace []string  `json:"namespace"`
	Key       string    `json:"key"`
	Value     any       `json:"value"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Score     any       `json:"score,omitempty" doc:"null; there where words were asked for, which are found or not"`
}

// wantNamespace checks the labels of a namespace. They must not contain what separates them in a query.
func wantNamespace(field string, labels []string, required bool) error {
	if required && len(labels) == 0 {
		return edge.RefuseField(http.StatusBadRequest, field, field+": Namespace is required")
	}
	if len(labels) > 32 {
		return run.Invalidf(field, "has more than 32 labels")
	}
	for i, l := range labels {
		if l == "" || strings.Contains(l, ".") {
			return run.Invalidf(fmt.Sprintf("%s.%d", field, i), "Namespace labels cannot be empty or contain periods. Received: %s", edge.Clip(l))
		}
		if err := edge.WantName(fmt.Sprintf("%s.%d", field, i), l); err != nil {
			return err
		}
	}
	return nil
}

// place is where an item is.
type place struct {
	Namespace []string `json:"namespace" required:"true"`
	Key       string   `json:"key" required:"true"`
}

func (n *place) check() error {
	if err := wantNamespace("namespace", n.Namespace, true); err != nil {
		return err
	}
	if n.Key == "" {
		return run.Invalidf("key", "is required")
	}
	return edge.WantName("key", n.Key)
}

func toJSON(it run.Item) jsonvalue.Object {
	return jsonvalue.Object{
		{"namespace", it.Namespace}, {"key", it.Key}, {"value", jsonvalue.OrNull(it.Value)},
		{"created_at", jsonvalue.Time(it.CreatedAt)}, {"updated_at", jsonvalue.Time(it.UpdatedAt)},
	}
}

type putting struct {
	place
	Value json.RawMessage `json:"value" required:"true" type:"object"`
	Index json.RawMessage `json:"index" doc:"accepted for clients that send it; there is no vector index"`
	TTL   *float64        `json:"ttl" doc:"minutes"`
}

func (s *Service) put(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req putting
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	if err := req.check(); err != nil {
		return err
	}
	if jsonvalue.IsNull(req.Value) {
		return run.Invalidf("value", "is required")
	}
	if err := edge.WantObject("value", req.Value); err != nil {
		return err
	}
	it := run.Item{Namespace: req.Namespace, Key: req.Key, Value: req.Value}
	if req.TTL != nil {
		if *req.TTL <= 0 || *req.TTL > 100*365*24*60 {
			return run.Invalidf("ttl", "must be a positive number of minutes")
		}
		it.ExpiresAt = time.Now().Add(minutes(*req.TTL))
		it.TTL = minutes(*req.TTL)
	}
	if err := s.store.PutItem(r.Context(), who, it); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func minutes(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	q := r.URL.Query()
	at := place{Key: q.Get("key")}
	if ns := q.Get("namespace"); ns != "" {
		at.Namespace = strings.Split(ns, ".")
	}
	if err := at.check(); err != nil {
		return err
	}
	refresh, err := refreshes(q.Get("refresh_ttl"))
	if err != nil {
		return err
	}
	it, err := s.store.Item(r.Context(), who, at.Namespace, at.Key, 0)
	if err == nil && refresh && it.TTL > 0 {
		it, err = s.store.Item(r.Context(), who, at.Namespace, at.Key, it.TTL)
	}
	switch {
	case errors.Is(err, run.ErrNotFound): // not an error in this API
		return edge.Answer(w, http.StatusOK, nil)
	case err != nil:
		return err
	}
	return edge.Answer(w, http.StatusOK, toJSON(it))
}

// refreshes reads whether reading an item puts its expiry off; it does unless the client says no.
func refreshes(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "", "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, run.Invalidf("refresh_ttl", "must be true or false")
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req place
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	if err := req.check(); err != nil {
		return err
	}
	if err := s.store.DeleteItem(r.Context(), who, req.Namespace, req.Key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type searching struct {
	edge.Page
	Prefix     []string        `json:"namespace_prefix"`
	Filter     json.RawMessage `json:"filter" type:"object" doc:"members of their values, with what they must be"`
	Query      string          `json:"query" doc:"words"`
	RefreshTTL *bool           `json:"refresh_ttl"`
}

func (s *Service) search(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req searching
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	limit, offset, err := req.Bounds(10)
	if err == nil {
		err = wantNamespace("namespace_prefix", req.Prefix, false)
	}
	if err == nil {
		err = edge.WantMetadata("filter", req.Filter)
	}
	if err != nil {
		return err
	}
	if len(jsonvalue.Fields(req.Filter)) > 100 {
		return run.Invalidf("filter", "has more than 100 keys")
	}
	if len(req.Query) > 4096 {
		return run.Invalidf("query", "is longer than 4096 bytes")
	}
	found, err := s.store.SearchItems(r.Context(), who, run.ItemQuery{
		Prefix: req.Prefix, Filter: req.Filter, Text: req.Query, Limit: limit, Offset: offset,
	})
	if err != nil {
		return err
	}
	out := jsonvalue.List{}
	for _, it := range found {
		o := toJSON(it)
		if req.Query != "" {
			o = append(o, jsonvalue.Member{"score", nil}) // words are found or not; there is no degree
		}
		out = append(out, o)
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"items", out}})
}

type listing struct {
	edge.Page
	Prefix   []string `json:"prefix"`
	Suffix   []string `json:"suffix"`
	MaxDepth *int     `json:"max_depth" doc:"cut namespaces to so many labels"`
}

func (s *Service) namespaces(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req listing
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	q := run.NamespaceQuery{Prefix: req.Prefix, Suffix: req.Suffix}
	var err error
	if q.Limit, q.Offset, err = req.Bounds(100); err != nil {
		return err
	}
	if req.MaxDepth != nil {
		if q.MaxDepth = *req.MaxDepth; q.MaxDepth < 1 {
			return run.Invalidf("max_depth", "must be at least 1")
		}
	}
	for field, labels := range map[string][]string{"prefix": req.Prefix, "suffix": req.Suffix} {
		if err := wantNamespace(field, labels, false); err != nil {
			return err
		}
	}
	found, err := s.store.Namespaces(r.Context(), who, q)
	if err != nil {
		return err
	}
	out := jsonvalue.List{}
	for _, ns := range found {
		out = append(out, ns)
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"namespaces", out}})
}
