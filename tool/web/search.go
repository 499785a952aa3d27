package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Searcher asks engines. It is safe for concurrent use.
type Searcher struct {
	// Engines are asked in this order.
	Engines []Engine
	// Timeout bounds the answer of one engine. Default 15 s.
	Timeout time.Duration
	// Log is told about engines that fail while another answers; nil: nobody is.
	Log *slog.Logger
}

const (
	defaultTimeout = 15 * time.Second
	defaultLimit   = 8
	maxLimit       = 20
)

// Close lets go of the engines' connections.
func (s *Searcher) Close() {
	for _, e := range s.Engines {
		if c, ok := e.(interface{ close() }); ok {
			c.close()
		}
	}
}

// Tools are web_search, and image_search where an engine finds images; none without engines.
func (s *Searcher) Tools() []tool.Tool {
	if len(s.Engines) == 0 {
		return nil
	}
	whole := time.Duration(len(s.Engines))*s.timeout() + 5*time.Second
	tools := []tool.Tool{describe("web_search",
		"Searches the web and returns pages with title, address, date and an excerpt. Read a page whole with web_fetch before you rely on it, and cite each with its number.",
		risk(s.Engines), whole, func(ctx context.Context, in searchArguments) (item.ToolResult, error) { return s.search(ctx, in) })}
	if engines := s.imagers(); len(engines) > 0 {
		tools = append(tools, describe("image_search",
			"Searches the web for images and returns their titles, their addresses and the pages that they are on.",
			risk(engines), whole, func(ctx context.Context, in searchArguments) (item.ToolResult, error) { return s.images(ctx, in) }))
	}
	return tools
}

// risk is what a search can do: the words of a question go to somebody else, who may want money for it.
func risk(engines []Engine) tool.Risk {
	r := tool.Reads | tool.Leaves
	if slices.ContainsFunc(engines, func(e Engine) bool {
		p, ok := e.(interface{ Paid() bool })
		return ok && p.Paid()
	}) {
		r |= tool.Spends
	}
	return r
}

func (s *Searcher) imagers() []Engine {
	var out []Engine
	for _, e := range s.Engines {
		if _, ok := e.(ImageEngine); ok {
			out = append(out, e)
		}
	}
	return out
}

func (s *Searcher) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return defaultTimeout
}

type searchArguments struct {
	Query string `json:"query" jsonschema:"what to look for, in a few words as one writes them into a search engine"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many results to return, from 1 to 20; 8 if left out"`
}

// read is the arguments as engines get them.
func (a searchArguments) read() (query string, limit int, err error) {
	query = line(a.Query, 400)
	if query == "" {
		return "", 0, errors.New("query is empty; say what to look for")
	}
	if a.Limit == 0 {
		a.Limit = defaultLimit
	}
	return query, min(max(a.Limit, 1), maxLimit), nil
}

// gather asks engines in their order until there are limit things with different keys. What it returns beside them are the
// errors of engines that failed.
func gather[T any](ctx context.Context, s *Searcher, engines []Engine, limit int, ask func(context.Context, Engine) ([]T, error), key func(*T) string) ([]T, []error) {
	var out []T
	var failed []error
	have := map[string]bool{}
	for _, e := range engines {
		bounded, cancel := context.WithTimeout(ctx, s.timeout())
		found, err := ask(bounded, e)
		cancel()
		if ctx.Err() != nil {
			return out, append(failed, ctx.Err())
		}
		if err != nil {
			failed = append(failed, err)
			if s.Log != nil {
				s.Log.Warn("a search engine did not answer", "engine", e.Name(), "error", err)
			}
			continue
		}
		for _, f := range found {
			if k := key(&f); k != "" && !have[k] && len(out) < limit {
				have[k] = true
				out = append(out, f)
			}
		}
		if len(out) >= limit {
			break
		}
	}
	return out, failed
}

// Search returns at most limit pages, and beside them the errors of engines that failed.
func (s *Searcher) Search(ctx context.Context, query string, limit int) ([]Result, []error) {
	return gather(ctx, s, s.Engines, limit, func(ctx context.Context, e Engine) ([]Result, error) { return e.Search(ctx, query, limit) },
		func(r *Result) string {
			r.Title, r.Snippet, r.URL = line(r.Title, longestTitle), shorten(strings.TrimSpace(clean(r.Snippet)), longestSnippet), address(r.URL)
			return canonical(r.URL)
		})
}

// Images is [Searcher.Search] for images.
func (s *Searcher) Images(ctx context.Context, query string, limit int) ([]Image, []error) {
	return gather(ctx, s, s.imagers(), limit, func(ctx context.Context, e Engine) ([]Image, error) { return e.(ImageEngine).Images(ctx, query, limit) },
		func(i *Image) string {
			i.Title, i.URL, i.Page = line(i.Title, longestTitle), address(i.URL), address(i.Page)
			return canonical(i.URL)
		})
}

func (s *Searcher) search(ctx context.Context, in searchArguments) (item.ToolResult, error) {
	query, limit, err := in.read()
	if err != nil {
		return item.ToolResult{}, err
	}
	found, failed := s.Search(ctx, query, limit)
	var res item.ToolResult
	for _, r := range found {
		cited(&res, source{title: r.Title, url: r.URL, date: r.Date}, cmp.Or(r.Snippet, r.Title, r.URL))
	}
	return res, s.finish(ctx, &res, query, "page", len(found), failed, len(s.Engines))
}

func (s *Searcher) images(ctx context.Context, in searchArguments) (item.ToolResult, error) {
	query, limit, err := in.read()
	if err != nil {
		return item.ToolResult{}, err
	}
	found, failed := s.Images(ctx, query, limit)
	var res item.ToolResult
	for _, i := range found {
		// Text, and no image: whoever shows an image asks its site for it, and that is for people to decide.
		text := "Image: " + i.URL
		if i.Width > 0 && i.Height > 0 {
			text += fmt.Sprintf(" (%d × %d)", i.Width, i.Height)
		}
		at := i.Page
		if at == "" {
			at = i.URL
		}
		cited(&res, source{title: i.Title, url: at}, text)
	}
	return res, s.finish(ctx, &res, query, "image", len(found), failed, len(s.imagers()))
}

// finish says what a list of results alone does not.
func (s *Searcher) finish(ctx context.Context, res *item.ToolResult, query, what string, found int, failed []error, asked int) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case found == 0 && len(failed) == asked:
		return fmt.Errorf("no search engine answered. %w", errors.Join(failed...))
	case found == 0:
		noted(res, fmt.Sprintf("No %s was found for %q. Try other or fewer words.", what, query))
	}
	for _, err := range failed {
		noted(res, "Not all engines answered: "+err.Error())
	}
	return nil
}
