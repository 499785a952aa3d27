package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Run is one from which a book can learn.
type Run struct {
	ID     string
	Thread string
	At     time.Time // when it was asked for
}

// Lesson is what was found out from runs.
type Lesson struct {
	Facts []Learned
	// Remove are the ids of facts that do not hold any more.
	Remove []string
	// Sections are new summaries by name; those that are missing or empty stay.
	Sections map[string]string
	// Seen are the revisions of the facts that the lesson was drawn with: one that has changed since is left alone.
	Seen map[string]int
}

// Learned is a fact that was found out. Its Source, Run and Message say where.
type Learned struct {
	Fact
	Replaces string // the id of a fact that it sets right; empty for none
}

// due says whether a run may be learned from.
func (r *row) due(run Run, since time.Time) bool {
	return !slices.Contains(r.Done, run.ID) && !run.At.Before(r.Floor) && !run.At.Before(since) &&
		!slices.ContainsFunc(r.Gone, func(t tomb) bool { return t.Thread == run.Thread && t.Thread != "" && !run.At.After(t.At) })
}

// Due are those of the runs that the book has not learned from yet and may learn from, and what is remembered now.
func (b *Book) Due(ctx context.Context, w Whose, runs []Run) ([]Run, Document, error) {
	s, err := b.switched(ctx, w.Owner)
	if err != nil {
		return nil, Document{}, err
	}
	r, err := b.read(ctx, w)
	if err != nil || s.Off || r.Head.Off {
		return nil, Document{}, err
	}
	return r.dueOf(runs, s.Since), r.Document, nil
}

func (r *row) dueOf(runs []Run, since time.Time) (due []Run) {
	for _, run := range runs {
		if r.due(run, since) {
			due = append(due, run)
		}
	}
	return due
}

// Learn writes down what was found out from runs. Told again of the same runs, it changes nothing.
func (b *Book) Learn(ctx context.Context, w Whose, runs []Run, l Lesson) (Document, error) {
	return b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		s, err := b.switched(ctx, w.Owner)
		if err != nil {
			return false, err
		}
		due := r.dueOf(runs, s.Since)
		if s.Off || r.Head.Off || len(due) == 0 {
			return false, nil
		}
		whole := len(due) == len(runs) // nothing of it was taken back meanwhile
		for _, f := range l.Facts {
			i := slices.IndexFunc(due, func(run Run) bool { return run.ID == f.Run })
			if i < 0 {
				continue
			}
			if f.Fact.check() != nil || f.Confidence < b.opt.Threshold {
				continue
			}
			if r.gone(f.Content, due[i].At) {
				whole = false
				continue
			}
			r.learn(f, l.Seen, now)
		}
		for _, id := range l.Remove {
			if old := r.Document.fact(id); old != nil && old.Revision == l.Seen[id] {
				r.Document.Facts = slices.DeleteFunc(r.Document.Facts, func(o Fact) bool { return o.ID == id })
				r.Head.Erased++
			}
		}
		if whole { // otherwise a summary may hold what was taken back
			for _, s := range r.Document.sections() {
				next := Section{Summary: firstRunes(l.Sections[s.name], MostSummary), UpdatedAt: now}
				if next.check(s.name) != nil || next.Summary == "" || next.Summary == s.Summary {
					continue
				}
				if s.Summary != "" {
					r.Head.Erased++
				}
				*s.Section = next
			}
		}
		r.shrink(b.opt.MaxFacts, now)
		for _, run := range due {
			r.Done = append(r.Done, run.ID)
		}
		return true, nil
	})
}

// gone reports that a text was deleted after somebody asked.
func (r *row) gone(content string, asked time.Time) bool {
	if len(r.Gone) == 0 {
		return false
	}
	d := r.digest(content)
	return slices.ContainsFunc(r.Gone, func(t tomb) bool { return t.Digest == d && !asked.After(t.At) })
}

func (r *row) learn(f Learned, seen map[string]int, now time.Time) {
	old := r.Document.fact(f.Replaces)
	switch same := r.Document.same(f.Content); {
	case same != nil: // it was said again
		same.UpdatedAt, same.Confidence = now, max(same.Confidence, f.Confidence)
	case old != nil && old.Revision != seen[old.ID]: // a person was quicker
	case old != nil:
		old.Content, old.Category, old.Confidence, old.UpdatedAt = f.Content, f.Category, f.Confidence, now
		old.Source, old.Run, old.Message = f.Source, f.Run, f.Message
		old.Revision++
		r.Head.Erased++
	default:
		sum := sha256.Sum256([]byte(strings.Join([]string{f.Run, f.Message, normal(f.Content)}, "\x00")))
		f.ID, f.CreatedAt, f.UpdatedAt, f.Revision = "fact_"+hex.EncodeToString(sum[:8]), now, now, 1
		r.Document.Facts = append(r.Document.Facts, f.Fact)
	}
}

// firstRunes is the beginning of a text.
func firstRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
