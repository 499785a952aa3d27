package memory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/pattern"
)

// Document returns what is remembered; an empty document if nothing is.
func (b *Book) Document(ctx context.Context, w Whose) (Document, error) {
	r, err := b.read(ctx, w)
	r.Document.shown(w, b.now())
	return r.Document, err
}

// Search returns facts that have words of the query, those with the most first; without words, the last changed.
func (b *Book) Search(ctx context.Context, w Whose, query string, limit int) ([]Fact, error) {
	d, err := b.Document(ctx, w)
	if err != nil {
		return nil, err
	}
	return search(d.Facts, query, limit), nil
}

// Add remembers a fact: its content, category, topics, confidence, and where it comes from. One that says the same in the same words is
// changed in place of it.
func (b *Book) Add(ctx context.Context, w Whose, f Fact) (added Fact, d Document, err error) {
	if err := f.check(); err != nil {
		return Fact{}, Document{}, err
	}
	if f.Source == "" {
		f.Source = Manual
	}
	d, err = b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		if old := r.Document.same(f.Content); old != nil {
			old.Category, old.Confidence, old.UpdatedAt = f.Category, f.Confidence, now
			old.Revision++
			added = *old
			return true, nil
		}
		f.ID, f.CreatedAt, f.UpdatedAt, f.Revision = "fact_"+strings.ToLower(rand.Text()[:16]), now, now, 1
		r.Document.Facts = append(r.Document.Facts, f)
		r.shrink(b.opt.MaxFacts, now)
		added = f
		return true, nil
	})
	added.Scope, added.Status = w.scope(), Active
	return added, d, err
}

// Change is what is changed of a fact; nil leaves a member as it is.
type Change struct {
	Content    *string   `json:"content"`
	Category   *string   `json:"category"`
	Confidence *float64  `json:"confidence"`
	Topics     *[]string `json:"topics"`
}

// Edit changes a fact. The text that it had does not come back from conversations that were before.
func (b *Book) Edit(ctx context.Context, w Whose, id string, c Change) (Document, error) {
	return b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		f := r.Document.fact(id)
		if f == nil {
			return false, fmt.Errorf("fact %q: %w", id, ErrNoFact)
		}
		old, changed := f.Content, *f
		set(&changed.Content, c.Content)
		set(&changed.Category, c.Category)
		set(&changed.Confidence, c.Confidence)
		set(&changed.Topics, c.Topics)
		if err := changed.check(); err != nil {
			return false, err
		}
		if other := r.Document.same(changed.Content); other != nil && other.ID != id {
			return false, &InvalidError{"content", "says the same as the fact " + other.ID}
		}
		changed.UpdatedAt = now
		changed.Revision++
		*f = changed
		if normal(old) != normal(f.Content) {
			r.Gone = append(r.Gone, tomb{Digest: r.digest(old), At: now})
			r.Head.Erased++
		}
		return true, nil
	})
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Delete forgets a fact, and the summaries that have a word of it: who wrote them knew it.
func (b *Book) Delete(ctx context.Context, w Whose, id string) (Document, error) {
	return b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		f := r.Document.fact(id)
		if f == nil {
			return false, fmt.Errorf("fact %q: %w", id, ErrNoFact)
		}
		r.forget(*f, now)
		return true, nil
	})
}

// DeleteThread forgets all facts that come from a thread.
func (b *Book) DeleteThread(ctx context.Context, w Whose, thread string) (Document, error) {
	return b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		any := false
		for _, f := range slices.Clone(r.Document.Facts) {
			if f.Source == thread {
				r.forget(f, now)
				any = true
			}
		}
		return any, nil
	})
}

// forget takes a fact out and leaves a tomb.
func (r *row) forget(f Fact, now time.Time) {
	t := tomb{Digest: r.digest(f.Content), At: now}
	if f.Source != Manual && f.Source != Imported {
		t.Thread = f.Source
	}
	r.Gone = append(r.Gone, t)
	r.Head.Erased++
	r.Document.Facts = slices.DeleteFunc(r.Document.Facts, func(o Fact) bool { return o.ID == f.ID })
	words := telling(f.Content)
	for _, s := range r.Document.sections() {
		text := strings.ToLower(s.Summary)
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			*s.Section = Section{UpdatedAt: now}
		}
	}
}

var parts = pattern.New(`[\p{L}\p{N}]+`)

// telling are the words of a text by which it would be recognised: not the short ones, but for numbers and for scripts without spaces.
func telling(text string) []string {
	var out []string
	for _, w := range parts.FindAllString(strings.ToLower(text), -1) {
		if utf8.RuneCountInString(w) >= 4 || strings.ContainsAny(w, "0123456789") || len(w) > utf8.RuneCountInString(w) {
			out = append(out, w)
		}
	}
	return out
}

// Clear forgets everything. No conversation that was before is learned from any more.
func (b *Book) Clear(ctx context.Context, w Whose) (Document, error) {
	defer b.lock(w.Owner)()
	r, err := b.read(ctx, w)
	if err != nil { // what cannot be read can still be forgotten
		if ctx.Err() != nil {
			return Document{}, err
		}
		r = row{}
	}
	now := b.now()
	revision := r.Document.Revision
	r.Document, r.Gone, r.Floor = Document{Revision: revision}, nil, now
	r.Head.Erased++
	err = b.write(ctx, w, &r, now)
	r.Document.shown(w, now)
	return r.Document, err
}

// Describe changes summaries by their names, as [SectionNames] lists them.
func (b *Book) Describe(ctx context.Context, w Whose, texts map[string]string) (Document, error) {
	return b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		for _, s := range r.Document.sections() {
			text, ok := texts[s.name]
			if !ok {
				continue
			}
			next := Section{Summary: text, UpdatedAt: now}
			if err := next.check(s.name); err != nil {
				return false, err
			}
			if s.Summary != "" && s.Summary != next.Summary {
				r.Head.Erased++
			}
			*s.Section = next
		}
		return true, nil
	})
}

var factID = pattern.New(`^[A-Za-z0-9_-]{1,64}$`)

// Import puts a document, as Document returns it, in the place of what is remembered. Facts that it does not have are deleted.
func (b *Book) Import(ctx context.Context, w Whose, d Document) (Document, error) {
	if len(d.Facts) > b.opt.MaxFacts {
		return Document{}, &InvalidError{"facts", fmt.Sprintf("must be at most %d", b.opt.MaxFacts)}
	}
	for _, s := range d.sections() {
		if err := s.check(s.name); err != nil {
			return Document{}, err
		}
	}
	return b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		next := Document{Revision: r.Document.Revision, User: d.User, History: d.History}
		taken := map[string]bool{}
		for i, f := range d.Facts {
			if err := f.check(); err != nil {
				var in = err.(*InvalidError) // check returns no other
				return false, &InvalidError{fmt.Sprintf("facts[%d].%s", i, in.Field), in.Problem}
			}
			for name, id := range map[string]string{"source": f.Source, "run": f.Run, "message": f.Message} {
				if len(id) > 200 || !utf8.ValidString(id) {
					return false, &InvalidError{fmt.Sprintf("facts[%d].%s", i, name), "must be an id"}
				}
			}
			if next.same(f.Content) != nil {
				continue
			}
			if !factID.MatchString(f.ID) || taken[f.ID] {
				f.ID = "fact_" + strings.ToLower(rand.Text()[:16])
			}
			taken[f.ID] = true
			if f.Source == "" {
				f.Source = Imported
			}
			f.CreatedAt, f.UpdatedAt = past(f.CreatedAt, now), past(f.UpdatedAt, now)
			f.Revision = max(1, f.Revision)
			next.Facts = append(next.Facts, f)
		}
		for _, f := range slices.Clone(r.Document.Facts) {
			if next.same(f.Content) == nil {
				r.forget(f, now)
			}
		}
		r.Head.Erased++
		r.Document = next
		return true, nil
	})
}

// past is a time that is not later than now.
func past(t, now time.Time) time.Time {
	if t.IsZero() || t.After(now) {
		return now
	}
	return t
}

// shrink makes room: the least certain go first, of those the longest unchanged, and corrections last.
func (r *row) shrink(most int, now time.Time) {
	for len(r.Document.Facts) > most {
		least := 0
		for i, f := range r.Document.Facts {
			l := r.Document.Facts[least]
			if a, b := worth(f, now), worth(l, now); a < b || a == b && f.UpdatedAt.Before(l.UpdatedAt) {
				least = i
			}
		}
		r.Document.Facts = slices.Delete(r.Document.Facts, least, least+1)
		r.Head.Erased++
	}
}

func worth(f Fact, now time.Time) int {
	if f.Category == Correction {
		return rank(f, now) + 100
	}
	return rank(f, now)
}

// Status says whether memory is on.
type Status struct {
	Enabled bool // for this agent: both
	User    bool // the person's switch, for all agents
	Agent   bool // the agent's own
}

// Status returns how the switches are.
func (b *Book) Status(ctx context.Context, w Whose) (Status, error) {
	s, err := b.switched(ctx, w.Owner)
	if err != nil {
		return Status{}, err
	}
	r, err := b.read(ctx, w)
	return Status{Enabled: !s.Off && !r.Head.Off, User: !s.Off, Agent: !r.Head.Off}, err
}

// Switch switches memory on or off for an agent. What is remembered stays; while memory is off nothing is learned and nobody
// is reminded, and what was said meanwhile is not learned later.
func (b *Book) Switch(ctx context.Context, w Whose, on bool) error {
	_, err := b.change(ctx, w, func(r *row, now time.Time) (bool, error) {
		if r.Head.Off == !on {
			return false, nil
		}
		r.Head.Off = !on
		r.Head.Erased++
		if on {
			r.Floor = now
		}
		return true, nil
	})
	return err
}

// SwitchAll is Switch for all agents of a person.
func (b *Book) SwitchAll(ctx context.Context, owner string, on bool) error {
	defer b.lock(owner)()
	s, err := b.switched(ctx, owner)
	if err != nil || s.Off == !on {
		return err
	}
	s.Off = !on
	s.Erased++
	if on {
		s.Since = b.now()
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return b.store(owner).Put(ctx, []string{Label}, switchKey, raw)
}
