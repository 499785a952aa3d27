package edge

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
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

const (
	// MaxLimit is how many things can be asked for, or named, at once.
	MaxLimit = 1000
	// MaxMetadata is how many bytes can be stored beside a thing to find it by.
	MaxMetadata = 16 << 10

	maxName = 256 // bytes of names that clients choose
)

// PathID reads an id of ours from the path, which is a UUID; see PathThread for threads.
func PathID(r *http.Request, name string) (string, error) {
	return ParseID(name, r.PathValue(name))
}

// ParseID reads an id that stands in a field.
func ParseID(field, id string) (string, error) {
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return "", run.Invalidf(field, "must be a UUID")
	}
	return u.String(), nil
}

// PathThread reads a thread's id from the path.
func PathThread(r *http.Request) (string, error) {
	return ParseThread("thread_id", r.PathValue("thread_id"))
}

// ParseThread reads a thread's id. Its maker chooses it: programs that keep conversations elsewhere have names for them
// already.
func ParseThread(field, id string) (string, error) {
	if u, err := uuid.Parse(id); err == nil && len(id) == 36 {
		return u.String(), nil
	}
	const most = 64
	letters := strings.IndexFunc(id, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	})
	if id == "" || len(id) > most || letters >= 0 {
		return "", run.Invalidf(field, "must be 1 to %d letters, digits, - and _", most)
	}
	return id, nil
}

// NewID makes one.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Page reads limit and offset.
type Page struct {
	Limit  *int `json:"limit" doc:"how many at most, up to 1000"`
	Offset int  `json:"offset" doc:"how many to leave out"`
}

// Bounds checks them.
func (p Page) Bounds(defaultLimit int) (limit, offset int, err error) {
	limit = defaultLimit
	if p.Limit != nil {
		limit = *p.Limit
	}
	if limit < 1 || limit > MaxLimit {
		return 0, 0, run.Invalidf("limit", "must be between 1 and %d", MaxLimit)
	}
	if p.Offset < 0 || p.Offset > math.MaxInt32 {
		return 0, 0, run.Invalidf("offset", "must not be negative")
	}
	return limit, p.Offset, nil
}

// withoutEmpty leaves the words of the query out that have no value, for every route alike: Python's clients write what they
// do not mean to say as "stream_mode=".
func withoutEmpty(r *http.Request) *http.Request {
	pairs := strings.Split(r.URL.RawQuery, "&")
	kept := slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool {
		_, value, _ := strings.Cut(pair, "=")
		return value == ""
	})
	if len(kept) == len(pairs) || r.URL.RawQuery == "" {
		return r
	}
	clean, at := *r, *r.URL
	at.RawQuery = strings.Join(kept, "&")
	clean.URL = &at
	return &clean
}

// QueryWords reads a list from the query: a word each time, or several with commas between them.
func QueryWords(r *http.Request, name string) []string {
	var words []string
	for _, some := range r.URL.Query()[name] {
		words = append(words, strings.Split(some, ",")...)
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}

// QueryPage reads limit and offset from the query.
func QueryPage(r *http.Request, defaultLimit int) (limit, offset int, err error) {
	var p Page
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
	return p.Bounds(defaultLimit)
}

// QueryBool reads a flag from the query: 1, true, 0, false.
func QueryBool(r *http.Request, name string) (bool, error) {
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

// OneOf checks a word; empty is the first of the allowed ones.
func OneOf(field, value string, allowed ...string) (string, error) {
	if value == "" {
		return allowed[0], nil
	}
	if !slices.Contains(allowed, value) {
		return "", run.Invalidf(field, "must be one of %s, not %q", strings.Join(allowed, ", "), Clip(value))
	}
	return value, nil
}

// sorted reads sort_by and sort_order.
func sorted(by, order string, allowed ...string) (asc bool, err error) {
	if by != "" {
		if _, err := OneOf("sort_by", by, allowed...); err != nil {
			return false, err
		}
	}
	order, err = OneOf("sort_order", strings.ToLower(order), "desc", "asc")
	return order == "asc", err
}

// Clip keeps what is told back to a client short.
func Clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

// WantObject checks an optional member that must be an object.
func WantObject(field string, raw json.RawMessage) error {
	if jsonvalue.IsNull(raw) {
		return nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return run.Invalidf(field, "must be an object")
	}
	return nil
}

// WantMetadata is WantObject for what is stored beside things to find them by.
func WantMetadata(field string, raw json.RawMessage) error {
	if len(raw) > MaxMetadata {
		return run.Invalidf(field, "is larger than %d bytes", MaxMetadata)
	}
	return WantObject(field, raw)
}

// WantName checks a name that a client chose.
func WantName(field, name string) error {
	if len(name) > maxName {
		return run.Invalidf(field, "is longer than %d bytes", maxName)
	}
	return nil
}

// Selection checks the members that a client wants to see.
func Selection(names []string, of ...string) error {
	for i, n := range names {
		if !slices.Contains(of, n) {
			return run.Invalidf(fmt.Sprintf("select.%d", i), "must be one of %s, not %q", strings.Join(of, ", "), Clip(n))
		}
	}
	return nil
}

// Words reads a string or a list of strings, as stream_mode and interrupt_before are written.
type Words []string

// Shape says that it has two forms.
func (Words) Shape() jsonvalue.Object {
	text := jsonvalue.Object{{"type", "string"}}
	return jsonvalue.Object{{"oneOf", jsonvalue.List{text, jsonvalue.Object{{"type", "array"}, {"items", text}}}}}
}

// UnmarshalJSON reads either form.
func (w *Words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = nil
		if one != "" {
			*w = Words{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}
