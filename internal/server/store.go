package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// wantNamespace checks the labels of a namespace. They must not contain what separates them in a query.
func wantNamespace(field string, labels []string, required bool) error {
	if required && len(labels) == 0 {
		return &statusError{http.StatusBadRequest, field, field + ": Namespace is required"}
	}
	if len(labels) > 32 {
		return run.Invalidf(field, "has more than 32 labels")
	}
	for i, l := range labels {
		if l == "" || strings.Contains(l, ".") {
			return run.Invalidf(fmt.Sprintf("%s.%d", field, i), "Namespace labels cannot be empty or contain periods. Received: %s", clip(l))
		}
		if err := wantName(fmt.Sprintf("%s.%d", field, i), l); err != nil {
			return err
		}
	}
	return nil
}

type itemName struct {
	Namespace []string `json:"namespace"`
	Key       string   `json:"key"`
}

func (n *itemName) check() error {
	if err := wantNamespace("namespace", n.Namespace, true); err != nil {
		return err
	}
	if n.Key == "" {
		return run.Invalidf("key", "is required")
	}
	return wantName("key", n.Key)
}

func itemJSON(it run.Item) object {
	return object{
		{"namespace", it.Namespace}, {"key", it.Key}, {"value", orNull(it.Value)},
		{"created_at", stamp(it.CreatedAt)}, {"updated_at", stamp(it.UpdatedAt)},
	}
}

func (s *Server) putItem(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		itemName
		Value json.RawMessage `json:"value"`
		Index json.RawMessage `json:"index"` // there is no vector index; accepted for clients that send it
		TTL   *float64        `json:"ttl"`   // minutes
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := req.check(); err != nil {
		return err
	}
	if isNull(req.Value) {
		return run.Invalidf("value", "is required")
	}
	if err := wantObject("value", req.Value); err != nil {
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
	if err := s.opt.Store.PutItem(r.Context(), who, it); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func minutes(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }

func (s *Server) getItem(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	q := r.URL.Query()
	name := itemName{Key: q.Get("key")}
	if ns := q.Get("namespace"); ns != "" {
		name.Namespace = strings.Split(ns, ".")
	}
	if err := name.check(); err != nil {
		return err
	}
	refresh, err := refreshes(q.Get("refresh_ttl"))
	if err != nil {
		return err
	}
	it, err := s.opt.Store.Item(r.Context(), who, name.Namespace, name.Key, 0)
	if err == nil && refresh && it.TTL > 0 {
		it, err = s.opt.Store.Item(r.Context(), who, name.Namespace, name.Key, it.TTL)
	}
	switch {
	case errors.Is(err, run.ErrNotFound): // not an error in this API
		s.answer(w, http.StatusOK, nil)
	case err != nil:
		return err
	default:
		s.answer(w, http.StatusOK, itemJSON(it))
	}
	return nil
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

func (s *Server) deleteItem(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req itemName
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := req.check(); err != nil {
		return err
	}
	if err := s.opt.Store.DeleteItem(r.Context(), who, req.Namespace, req.Key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) searchItems(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		page
		Prefix     []string        `json:"namespace_prefix"`
		Filter     json.RawMessage `json:"filter"`
		Query      string          `json:"query"`
		RefreshTTL *bool           `json:"refresh_ttl"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	limit, offset, err := req.bounds(10)
	if err == nil {
		err = wantNamespace("namespace_prefix", req.Prefix, false)
	}
	if err == nil {
		err = wantMetadata("filter", req.Filter)
	}
	if err != nil {
		return err
	}
	if len(fields(req.Filter)) > 100 {
		return run.Invalidf("filter", "has more than 100 keys")
	}
	if len(req.Query) > 4096 {
		return run.Invalidf("query", "is longer than 4096 bytes")
	}
	found, err := s.opt.Store.SearchItems(r.Context(), who, run.ItemQuery{
		Prefix: req.Prefix, Filter: req.Filter, Text: req.Query, Limit: limit, Offset: offset,
	})
	if err != nil {
		return err
	}
	out := list{}
	for _, it := range found {
		o := itemJSON(it)
		if req.Query != "" {
			o = append(o, member{"score", nil}) // words are found or not; there is no degree
		}
		out = append(out, o)
	}
	s.answer(w, http.StatusOK, object{{"items", out}})
	return nil
}

func (s *Server) listNamespaces(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		page
		Prefix   []string `json:"prefix"`
		Suffix   []string `json:"suffix"`
		MaxDepth *int     `json:"max_depth"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	q := run.NamespaceQuery{Prefix: req.Prefix, Suffix: req.Suffix}
	var err error
	if q.Limit, q.Offset, err = req.bounds(100); err != nil {
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
	found, err := s.opt.Store.Namespaces(r.Context(), who, q)
	if err != nil {
		return err
	}
	out := list{}
	for _, ns := range found {
		out = append(out, ns)
	}
	s.answer(w, http.StatusOK, object{{"namespaces", out}})
	return nil
}
