package search

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Passage is a stretch of a document.
type Passage struct {
	Title  string   // of the document
	Author string   // of the document, as it says itself; empty if it does not
	Date   string   // the same, as in "2024-05-31"
	Trail  []string // the headings it stands under, outermost first, without the title
	Path   string   // of the document, with the label of its source
	Anchor string   // of the innermost heading, as in a link; empty before the first one
	Line   int      // where it begins, counted from 1; of what was converted, in its Markdown
	Place  string   // where it stands in a file that has no lines: "page 3", "slide 2", "sheet Budget"
	Text   string
	Hits   []Span // where words that were looked for stand in Text
}

// Position is where the passage stands in its document, for people.
func (p Passage) Position() string {
	if p.Place != "" {
		return p.Place
	}
	return fmt.Sprintf("line %d", p.Line)
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

// Search returns the passages that answer the query best, at most limit of them; a limit is taken into the range from 1 to
// 20. It returns none if the documents have too little of what is asked for: then what comes nearest is about something
// else.
func (ix *Index) Search(ctx context.Context, query string, limit int) ([]Passage, error) {
	q := parse(query)
	if len(q.groups) == 0 {
		return nil, nil
	}
	limit = min(max(limit, 1), maxLimit)
	found, db, err := ix.search(ctx, &q)
	if damaged(err) && ix.opts.Path != "" {
		if err = ix.rebuild(ctx, db, err); err == nil {
			found, _, err = ix.search(ctx, &q)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("search %q: %w", query, err)
	}
	if !answered(found) { // which words decide alone: something is always nearest
		return nil, nil
	}
	return choose(ix.meaning.order(ctx, query, found), limit), nil
}

// search asks the index, and returns the database that was asked.
func (ix *Index) search(ctx context.Context, q *question) ([]result, *sql.DB, error) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	tx, err := ix.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, ix.db, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	shot, err := ix.snapshot(ctx, tx)
	if err != nil {
		return nil, ix.db, err
	}
	l := &lookup{snapshot: *shot, q: q}
	defer l.borrow(int(l.end - l.first))()
	ids, err := l.find(ctx, tx)
	if err != nil {
		return nil, ix.db, err
	}
	results, err := l.read(ctx, tx, ids)
	if err != nil {
		return nil, ix.db, err
	}
	return results, ix.db, nil
}

// result is a passage with what was found out about it.
type result struct {
	Passage
	id           int64
	vector       vector // zero if none is kept
	source, path string
	score        float64
	answers      bool // it has enough of the question to say something about it
}

// read looks closely at passages and puts them in order.
func (l *lookup) read(ctx context.Context, tx *sql.Tx, ids []int64) ([]result, error) {
	wanted, err := json.Marshal(ids) // one question for all: asking takes longer than answering
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT p.id, f.source, f.path, f.title, f.author, f.date, p.trail, p.anchor, p.line, p.place, p.text, v.hash, v.data
		FROM json_each(?) w CROSS JOIN passages p ON p.id = w.value JOIN files f ON f.id = p.file LEFT JOIN vectors v ON v.passage = p.id`, string(wanted))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	m := newMatcher(l.q)
	var out []result
	for rows.Next() {
		var r result
		var trail string
		var hash, data []byte
		if err := rows.Scan(&r.id, &r.source, &r.path, &r.Title, &r.Author, &r.Date, &trail, &r.Anchor, &r.Line, &r.Place, &r.Text, &hash, &data); err != nil {
			return nil, err
		}
		if trail != "" {
			r.Trail = strings.Split(trail, "\n")
		}
		r.Path, r.vector = join(r.source, r.path), vectorOf(hash, data)
		k := int(r.id - l.first)
		g := l.look(m, r.Passage)
		r.Hits = g.hits
		r.score = float64(l.score[k]) * (1 + nearness*g.near + adjacency*g.phrase + naming*g.named*l.covered(g.heads))
		r.answers = l.answers(g, l.docs[l.fileOf(k)]) >= enough(l.live)
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(out) < len(ids) {
		return nil, errTorn
	}
	slices.SortFunc(out, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.source, b.source), cmp.Compare(a.path, b.path), cmp.Compare(a.Line, b.Line))
	})
	return out, nil
}

// answers is how much of the question a passage has: what stands together in it counts most, what the rest of its document
// has counts a little.
func (l *lookup) answers(g glance, doc held) float64 {
	return 0.45*l.covered(g.has) + 0.35*g.near + 0.2*l.covered(doc.with(g.has))
}

// enough is how much of a question a passage must have to say something about it, among so many. Where there are more, one of them has more of
// any question by chance; and what they do answer, one of them says in the words of the question. Measured with 740 passages, where less
// than 0.3 would do, and with 13,000, where no question that was answered had less than 0.56.
func enough(passages int) float64 {
	return min(max(0.3, 0.3+0.055*math.Log(float64(passages)/740)), 0.5)
}

// mostFromFile is how many passages of one document there may be before others had their turn.
const mostFromFile = 2

// answered reports that one of the results has enough of the question.
func answered(results []result) bool {
	return slices.ContainsFunc(results[:min(len(results), 10)], func(r result) bool { return r.answers })
}

// choose takes the best results, without repetitions, and with no document crowding out the others.
func choose(results []result, limit int) []Passage {
	var first, later []Passage
	texts := map[string]bool{}
	files := map[string]int{}
	for _, r := range results {
		if texts[r.Text] {
			continue
		}
		texts[r.Text] = true
		if files[r.Path]++; files[r.Path] <= mostFromFile {
			first = append(first, r.Passage)
		} else {
			later = append(later, r.Passage)
		}
	}
	all := append(first, later...)
	return all[:min(len(all), limit)]
}

// Missing are the words of a query that stand in no document.
func (ix *Index) Missing(ctx context.Context, query string) ([]string, error) {
	q := parse(query)
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	tx, err := ix.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	shot, err := ix.snapshot(ctx, tx)
	if err != nil {
		return nil, err
	}
	l := &lookup{snapshot: *shot, q: &q}
	defer l.borrow(int(l.end - l.first))()
	if _, err := l.find(ctx, tx); err != nil {
		return nil, err
	}
	var out []string
	for _, u := range q.units {
		found := false
		for _, g := range u.groups {
			found = found || q.groups[g].found
		}
		if !found && !slices.Contains(out, q.groups[u.groups[0]].word) {
			out = append(out, q.groups[u.groups[0]].word)
		}
	}
	return out, nil
}

func join(label, path string) string {
	if label == "" {
		return path
	}
	return label + "/" + path
}
