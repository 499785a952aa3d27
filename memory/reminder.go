package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Tokens is about how many a text has: a quarter of its ASCII, and each other character.
func Tokens(s string) int {
	plain := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			plain++
		}
	}
	return (plain+3)/4 + utf8.RuneCountInString(s) - plain
}

// remind writes what a model is told of a document, a line for each thing, within a budget. Corrections come first, the newest of them in a
// part of the budget that is theirs; then the summaries; then what is most certain, and the newest of that.
func remind(d *Document, budget, corrections int, now time.Time) string {
	var b strings.Builder
	room := budget
	put := func(line string, limit int) bool {
		cost := Tokens(line + "\n")
		if cost > min(room, limit) {
			return false
		}
		room -= cost
		b.WriteString(line + "\n")
		return true
	}
	facts := slices.Clone(d.Facts)
	slices.SortStableFunc(facts, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(rank(b, now), rank(a, now)), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	told := map[string]bool{}
	own := min(corrections, budget)
	for _, f := range newest(d.Facts, Correction) {
		if line := lineOf(f); put(line, own) {
			own -= Tokens(line + "\n")
			told[f.ID] = true
		} else {
			break // an older one must not stand where a newer one had no room
		}
	}
	for _, s := range d.sections() {
		if s.Summary != "" {
			put("- "+s.title+": "+s.Summary, room)
		}
	}
	for _, f := range facts {
		if !told[f.ID] {
			put(lineOf(f), room)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func lineOf(f Fact) string {
	if f.Category == Correction {
		return "- " + f.Content + " (the person set this right)"
	}
	return "- " + f.Content
}

// rank puts what is certain before what is not, in coarse steps, and what is stale last.
func rank(f Fact, now time.Time) int {
	r := int(f.Confidence * 10)
	if now.Sub(f.UpdatedAt) > staleAfter {
		r -= 20
	}
	return r
}

// newest are the facts of a category, the last changed first.
func newest(facts []Fact, category string) []Fact {
	var list []Fact
	for _, f := range facts {
		if f.Category == category {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b Fact) int { return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID)) })
	return list
}

// search finds facts that have words of a query, those with the most first.
func search(facts []Fact, query string, limit int) []Fact {
	words := strings.Fields(strings.ToLower(query))
	type hit struct {
		fact  Fact
		score int
	}
	var hits []hit
	for _, f := range facts {
		text := strings.ToLower(f.Content + " " + f.Category + " " + strings.Join(f.Topics, " "))
		n := 0
		for _, w := range words {
			if strings.Contains(text, w) {
				n++
			}
		}
		if n > 0 || len(words) == 0 {
			hits = append(hits, hit{f, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.fact.UpdatedAt.Compare(a.fact.UpdatedAt))
	})
	out := []Fact{}
	for _, h := range hits[:min(limit, len(hits))] {
		out = append(out, h.fact)
	}
	return out
}
