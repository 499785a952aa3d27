package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/run"
)

const (
	maxLimit    = 1000
	maxMetadata = 16 << 10
	maxName     = 256 // bytes of names that clients choose
)

// pathID reads an id from the path; ours are UUIDs.
func pathID(r *http.Request, name string) (string, error) {
	return parseID(name, r.PathValue(name))
}

func parseID(field, id string) (string, error) {
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return "", run.Invalidf(field, "must be a UUID")
	}
	return u.String(), nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// page reads limit and offset.
type page struct {
	Limit  *int `json:"limit"`
	Offset int  `json:"offset"`
}

func (p page) bounds(defaultLimit int) (limit, offset int, err error) {
	limit = defaultLimit
	if p.Limit != nil {
		limit = *p.Limit
	}
	if limit < 1 || limit > maxLimit {
		return 0, 0, run.Invalidf("limit", "must be between 1 and %d", maxLimit)
	}
	if p.Offset < 0 || p.Offset > math.MaxInt32 {
		return 0, 0, run.Invalidf("offset", "must not be negative")
	}
	return limit, p.Offset, nil
}

// queryPage reads limit and offset from the query.
func queryPage(r *http.Request, defaultLimit int) (limit, offset int, err error) {
	var p page
	for name, set := range map[string]func(int){"limit": func(n int) { p.Limit = &n }, "offset": func(n int) { p.Offset = n }} {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, 0, run.Invalidf(name, "must be a whole number")
		}
		set(n)
	}
	return p.bounds(defaultLimit)
}

// queryBool reads a flag from the query: 1, true, 0, false.
func queryBool(r *http.Request, name string) (bool, error) {
	switch text := strings.ToLower(r.URL.Query().Get(name)); text {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		return true, nil
	}
	return false, run.Invalidf(name, "must be true or false")
}

// paginate tells how much there is besides the page.
func paginate(w http.ResponseWriter, total, offset, got int) {
	w.Header().Set("X-Pagination-Total", strconv.Itoa(total))
	if next := offset + got; next < total && got > 0 {
		w.Header().Set("X-Pagination-Next", strconv.Itoa(next))
	}
}

// oneOf checks a word; empty is the first of the allowed ones.
func oneOf(field, value string, allowed ...string) (string, error) {
	if value == "" {
		return allowed[0], nil
	}
	if !slices.Contains(allowed, value) {
		return "", run.Invalidf(field, "must be one of %s, not %q", strings.Join(allowed, ", "), clip(value))
	}
	return value, nil
}

// sorted reads sort_by and sort_order.
func sorted(by, order string, allowed ...string) (asc bool, err error) {
	if by != "" {
		if _, err := oneOf("sort_by", by, allowed...); err != nil {
			return false, err
		}
	}
	order, err = oneOf("sort_order", strings.ToLower(order), "desc", "asc")
	return order == "asc", err
}

func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

// wantObject checks an optional member that must be an object.
func wantObject(field string, raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return run.Invalidf(field, "must be an object")
	}
	return nil
}

// wantMetadata is wantObject for what is stored beside things to find them by.
func wantMetadata(field string, raw json.RawMessage) error {
	if len(raw) > maxMetadata {
		return run.Invalidf(field, "is larger than %d bytes", maxMetadata)
	}
	return wantObject(field, raw)
}

// wantName checks a name that a client chose.
func wantName(field, name string) error {
	if len(name) > maxName {
		return run.Invalidf(field, "is longer than %d bytes", maxName)
	}
	return nil
}

// selection checks the members that a client wants to see.
func selection(names []string, of ...string) error {
	for i, n := range names {
		if !slices.Contains(of, n) {
			return run.Invalidf(fmt.Sprintf("select.%d", i), "must be one of %s, not %q", strings.Join(of, ", "), clip(n))
		}
	}
	return nil
}

// words reads a string or a list of strings, as stream_mode and interrupt_before are written.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = nil
		if one != "" {
			*w = words{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}
