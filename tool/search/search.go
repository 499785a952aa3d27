package search

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Passage is a stretch of a document.
type Passage struct {
	Title  string   // of the document
	Trail  []string // the headings it stands under, outermost first, without the title
	Path   string   // of the document, with the label of its source
	Anchor string   // of the innermost heading, as in a link; empty before the first one
	Line   int      // where it begins, counted from 1
	Text   string
}

// Location is the path, with the heading's anchor where there is one.
func (p Passage) Location() string {
	if p.Anchor == "" {
		return p.Path
	}
	return p.Path + "#" + p.Anchor
}

// Heading is the title with the trail of headings.
func (p Passage) Heading() string {
	return strings.Join(append([]string{p.Title}, p.Trail...), " › ")
}

const (
	maxLimit     = 20
	defaultLimit = 6
)

// The best rows are found first and their text is fetched after, or a common word would fetch most of the index.
// Ties are broken by place, and not by id, which depends on the order in which files came into the index.
const find = `
WITH best AS (
	SELECT p.id, bm25(words, 5.0, 8.0, 1.0) AS score, f.source, f.path, p.line
	FROM words JOIN passages p ON p.id = words.rowid JOIN files f ON f.id = p.file
	WHERE words MATCH ?
	ORDER BY score, f.source, f.path, p.line
	LIMIT ?
)
SELECT best.source, best.path, p.title, p.trail, p.anchor, p.line, p.text
FROM best JOIN passages p ON p.id = best.id
ORDER BY best.score, best.source, best.path, p.line`

// Search returns the passages that match best, at most limit of them; a limit is taken into the range from 1 to
// 20. A query without words, or without matches, gives none.
func (ix *Index) Search(ctx context.Context, query string, limit int) ([]Passage, error) {
	words := terms(query)
	if len(words) == 0 {
		return nil, nil
	}
	limit = min(max(limit, 1), maxLimit)
	var out []Passage
	have := map[string]bool{}
	// First those that have every word, then those that have any.
	for _, operator := range []string{" AND ", " OR "} {
		// Twice the limit, because what was found already, or says the same, does not count.
		expression := strings.Join(words, operator)
		found, db, err := ix.match(ctx, expression, 2*limit)
		if damaged(err) && ix.opts.Path != "" {
			if err = ix.rebuild(ctx, db, err); err == nil {
				found, _, err = ix.match(ctx, expression, 2*limit)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("search %q: %w", query, err)
		}
		for _, p := range found {
			if !have[p.Text] && len(out) < limit {
				have[p.Text] = true
				out = append(out, p)
			}
		}
		if len(out) == limit || len(words) == 1 {
			break
		}
	}
	return out, nil
}

// match returns what matches, and the database that was asked.
func (ix *Index) match(ctx context.Context, expression string, limit int) ([]Passage, *sql.DB, error) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	rows, err := ix.db.QueryContext(ctx, find, expression, limit)
	if err != nil {
		return nil, ix.db, err
	}
	defer rows.Close()
	var out []Passage
	for rows.Next() {
		var p Passage
		var source, path, trail string
		if err := rows.Scan(&source, &path, &p.Title, &trail, &p.Anchor, &p.Line, &p.Text); err != nil {
			return nil, ix.db, err
		}
		p.Path = join(source, path)
		if trail != "" {
			p.Trail = strings.Split(trail, "\n")
		}
		out = append(out, p)
	}
	return out, ix.db, rows.Err()
}

func join(label, path string) string {
	if label == "" {
		return path
	}
	return label + "/" + path
}

type arguments struct {
	Query string `json:"query" jsonschema:"the words to look for; leave out words that say nothing about the subject"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many passages to return, from 1 to 20; 6 if left out"`
}

// Tool is the index as a tool named "search".
//
// Its result has one block for each passage in both views, paired by a number of their own (Ref), which whoever
// keeps the run's references replaces. The single block that says that nothing was found has none: it is not
// worth citing.
func (ix *Index) Tool() tool.Tool {
	return ToolOf(func(context.Context) (*Index, error) { return ix, nil })
}

// ToolOf is the tool of an index that need not be open yet: each call asks for it, and waits with its caller.
func ToolOf(index func(context.Context) (*Index, error)) tool.Tool {
	return tool.Repeatable(tool.Func("search",
		"Searches the local documents by words and returns the passages that match best, with title, path and text. Quote them and cite each with its number.",
		func(ctx context.Context, in arguments) (item.ToolResult, error) {
			if in.Limit == 0 {
				in.Limit = defaultLimit
			}
			ix, err := index(ctx)
			if err != nil {
				return item.ToolResult{}, err
			}
			found, err := ix.Search(ctx, in.Query, in.Limit)
			if err != nil {
				return item.ToolResult{}, err
			}
			return result(in.Query, found), nil
		}))
}

func result(query string, found []Passage) item.ToolResult {
	if len(found) == 0 {
		return tool.Text(fmt.Sprintf("No passage of the documents matches %q. Try other or fewer words.", query))
	}
	var res item.ToolResult
	for i, p := range found {
		b := item.Block{Type: item.TextBlock, Ref: i + 1, Text: p.Text, Name: p.Title + " — " + p.Location(), URL: p.Location()}
		res.Blocks = append(res.Blocks, b)
		// Providers are sent the text alone, so the model's view says in it where the passage stands.
		b.Text = fmt.Sprintf("Source: %s (%s, line %d)\n\n%s", p.Heading(), p.Location(), p.Line, p.Text)
		res.Content = append(res.Content, b)
	}
	return res
}
