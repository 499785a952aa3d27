package edge

import (
	"encoding/json"
	"net/http"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Criteria are the members that the bodies of all searches have. Embed it.
type Criteria struct {
	Page
	Metadata  json.RawMessage `json:"metadata" type:"object" doc:"what their metadata must contain"`
	SortBy    string          `json:"sort_by" doc:"a member"`
	SortOrder string          `json:"sort_order" enum:"desc,asc"`
	Select    []string        `json:"select" doc:"the members to show"`
}

// Check makes sure that the search selects among the members that there are, and sorts by one that can be sorted by.
// Metadata that is null is none.
func (c *Criteria) Check(members []string, sortable ...string) (asc bool, err error) {
	if err := WantMetadata("metadata", c.Metadata); err != nil {
		return false, err
	}
	if jsonvalue.IsNull(c.Metadata) {
		c.Metadata = nil
	}
	if err := Selection(c.Select, members...); err != nil {
		return false, err
	}
	return sorted(c.SortBy, c.SortOrder, sortable...)
}

// Finder carries a search out. It returns a page of what is there, and how much there is in all.
type Finder[T any] func(limit, offset int) (found []T, total int, err error)

// Search answers a search with a page of what is found. read checks the request before anything is looked for.
func Search[T any](
	read func(w http.ResponseWriter, r *http.Request, who run.Identity) (*Criteria, Finder[T], error), show func(T) jsonvalue.Object,
) Handler {
	return func(w http.ResponseWriter, r *http.Request, who run.Identity) error {
		c, find, err := read(w, r, who)
		if err != nil {
			return err
		}
		return AnswerPage(w, c, find, func(thing T) (jsonvalue.Object, error) { return show(thing).Pick(c.Select), nil })
	}
}

// Count answers a search with how much there is.
func Count[T any](read func(w http.ResponseWriter, r *http.Request, who run.Identity) (*Criteria, Finder[T], error)) Handler {
	return func(w http.ResponseWriter, r *http.Request, who run.Identity) error {
		_, find, err := read(w, r, who)
		if err != nil {
			return err
		}
		_, total, err := find(0, 0)
		if err != nil {
			return err
		}
		return Answer(w, http.StatusOK, total)
	}
}

// AnswerPage answers with the page that a search asks for, and tells in the headers how much there is besides.
func AnswerPage[T any](w http.ResponseWriter, c *Criteria, find Finder[T], show func(T) (jsonvalue.Object, error)) error {
	limit, offset, err := c.Bounds(10)
	if err != nil {
		return err
	}
	found, total, err := find(limit, offset)
	if err != nil {
		return err
	}
	out := make(jsonvalue.List, len(found))
	for i, thing := range found {
		if out[i], err = show(thing); err != nil {
			return err
		}
	}
	paginate(w, total, offset, len(out))
	return Answer(w, http.StatusOK, out)
}
