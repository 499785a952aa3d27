package search

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Span is a stretch of a text, in bytes.
type Span struct{ From, To int }

// glance is what a closer look at a passage shows.
type glance struct {
	hits   []Span  // where words of the question stand
	has    held    // what stands in text, headings and title
	heads  held    // what stands in headings and title
	near   float64 // the share of the question that stands within a few lines
	phrase float64 // the share of neighbours in the question that are neighbours here
	named  float64 // how much of the title is asked for
}

// within is how many words are near each other.
const within = 24

// matcher finds the groups of a question in texts. A word is taken to its stem only if it begins like one that is looked
// for: that is what takes time.
type matcher struct {
	groups  map[string][]int
	begin   map[[2]byte]bool
	singles map[rune][]int
	parts   map[rune]uint64  // the units of a character
	known   map[string][]int // what was found of a word as it is written
}

func newMatcher(q *question) *matcher {
	m := &matcher{map[string][]int{}, map[[2]byte]bool{}, map[rune][]int{}, map[rune]uint64{}, map[string][]int{}}
	for i, u := range q.units[:min(len(q.units), 64)] {
		if u.char != "" {
			r, _ := utf8.DecodeRuneInString(u.char)
			m.parts[r] |= 1 << i
		}
	}
	for g, grp := range q.groups {
		for _, a := range grp.terms {
			if grp.single {
				r, _ := utf8.DecodeRuneInString(a.term)
				m.singles[r] = append(m.singles[r], g)
				continue
			}
			m.groups[a.term] = append(m.groups[a.term], g)
			m.begin[[2]byte{a.term[0], at(a.term, 1)}] = true
		}
	}
	return m
}

func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// in are the groups that a word belongs to.
func (m *matcher) in(word string) []int {
	c := word[0]
	if c < utf8.RuneSelf {
		if !m.begin[[2]byte{lower(c), lower(at(word, 1))}] {
			return nil
		}
		gs, ok := m.known[word]
		if !ok {
			gs = m.groups[term(word)]
			m.known[word] = gs
		}
		return gs
	}
	r, _ := utf8.DecodeRuneInString(word)
	if wide(r) {
		if len(m.singles) > 0 {
			if gs := m.singles[r]; gs != nil {
				return gs
			}
		}
		return m.groups[word]
	}
	return m.groups[term(word)]
}

// part are the units whose character a word begins with.
func (m *matcher) part(word string) uint64 {
	if len(m.parts) == 0 || word[0] < utf8.RuneSelf {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(word)
	return m.parts[r]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// look reads a passage.
func (l *lookup) look(m *matcher, p Passage) glance {
	var g glance
	type place struct {
		position, group int // the group is -1 for a character
		parts           uint64
	}
	var places []place
	eachWord(p.Text, func(w string, from, to, position int) {
		if parts := m.part(w); parts != 0 {
			g.has.parts |= parts
			places = append(places, place{position, -1, parts})
		}
		for _, grp := range m.in(w) {
			g.has.groups |= 1 << grp
			places = append(places, place{position, grp, 0})
			if n := len(g.hits); n > 0 && from <= g.hits[n-1].To {
				g.hits[n-1].To = max(g.hits[n-1].To, to)
				g.hits[n-1].From = min(g.hits[n-1].From, from)
			} else {
				g.hits = append(g.hits, Span{from, to})
			}
		}
	})
	asked, titleWords := 0, 0
	eachWord(p.Title, func(w string, _, _, _ int) {
		if stop[strings.ToLower(w)] {
			return
		}
		titleWords++
		gs := m.in(w)
		if len(gs) > 0 {
			asked++
		}
		for _, grp := range gs {
			g.heads.groups |= 1 << grp
		}
		g.heads.parts |= m.part(w)
	})
	for _, h := range p.Trail {
		eachWord(h, func(w string, _, _, _ int) {
			for _, grp := range m.in(w) {
				g.heads.groups |= 1 << grp
			}
			g.heads.parts |= m.part(w)
		})
	}
	if titleWords > 0 {
		g.named = float64(asked) / float64(titleWords)
	}
	sort.SliceStable(places, func(i, j int) bool { return places[i].position < places[j].position })
	windows := map[held]bool{g.heads: true} // headings are near to all that stands under them
	for i := range places {
		h := g.heads
		for j := i; j < len(places) && places[j].position < places[i].position+within; j++ {
			h.parts |= places[j].parts
			if places[j].group >= 0 {
				h.groups |= 1 << places[j].group
			}
		}
		windows[h] = true
		if len(windows) > 64 {
			break
		}
	}
	for h := range windows {
		g.near = max(g.near, l.covered(h))
	}
	pairs, met := 0, 0
	for i, grp := range l.q.groups {
		if !grp.phrase || i == 0 {
			continue
		}
		pairs++
		for a := range places {
			if places[a].group != i-1 {
				continue
			}
			found := false
			for b := a; b < len(places) && places[b].position <= places[a].position+1; b++ {
				found = found || places[b].group == i && places[b].position == places[a].position+1
			}
			if found {
				met++
				break
			}
		}
	}
	if pairs > 0 {
		g.phrase = float64(met) / float64(pairs)
	}
	g.has = g.has.with(g.heads)
	return g
}

// snippetSize is how many bytes a snippet shows, about.
const snippetSize = 240

// Snippet is the part of the passage with the most hits, on one line, with each hit between the marks. What is left out is
// shown as an ellipsis.
func (p Passage) Snippet(before, after string) string {
	from, to := 0, len(p.Text)
	if to > snippetSize {
		best := -1
		for i, h := range p.Hits { // the window that begins a little before a hit and has most others
			n := 0
			for _, o := range p.Hits[i:] {
				if o.To <= h.From+snippetSize-40 {
					n++
				}
			}
			if n > best {
				best, from = n, max(0, h.From-40)
			}
		}
		if from > 0 {
			if i := strings.IndexAny(p.Text[from:], " \n。，"); i >= 0 && i < 30 {
				from += i + 1
			}
		}
		if to = min(len(p.Text), from+snippetSize); to < len(p.Text) {
			if i := strings.LastIndexAny(p.Text[from:to], " \n"); i > snippetSize*2/3 {
				to = from + i
			}
		}
		for from > 0 && from < len(p.Text) && !utf8.RuneStart(p.Text[from]) {
			from++
		}
		for to < len(p.Text) && !utf8.RuneStart(p.Text[to]) {
			to--
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("… ")
	}
	at := from
	for _, h := range p.Hits {
		if h.From < at || h.To > to {
			continue
		}
		b.WriteString(p.Text[at:h.From] + before + p.Text[h.From:h.To] + after)
		at = h.To
	}
	b.WriteString(p.Text[at:to])
	if to < len(p.Text) {
		b.WriteString(" …")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
