package search

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
)

// How passages are put in order. The weights were found on the corpus in testdata; see TestQuality.
const (
	saturation  = 1.2  // how soon more of the same word stops to count
	lengthBias  = 0.5  // how much long passages are held back
	titleWeight = 3.0  // of a word in the title, in times that it is in the text
	trailWeight = 4.0  // of a word in a heading
	commonWorth = 0.25 // of a word that questions are full of
	partWorth   = 0.6  // of a Chinese character that stands in other pairs
	wholeDoc    = 0.35 // of what the whole document has of the question
	nearness    = 0.9  // of the words' standing close to each other
	adjacency   = 0.3  // of neighbours in the question being neighbours in the text
	naming      = 0.4  // of a title that is asked for
	sieved      = 1024 // passages of which more than the score is looked at
	closely     = 60   // passages that are read and looked at closely
	mostTouched = 1_500_000
)

// snapshot is what is kept in memory of an index.
type snapshot struct {
	generation int64
	segments   []*segment
	first, end int64
	live       int     // passages
	average    float64 // words of a passage
	lists      *lists
}

func (ix *Index) snapshot(ctx context.Context, tx *sql.Tx) (*snapshot, error) {
	var generation int64
	if err := tx.QueryRowContext(ctx, "SELECT generation FROM state").Scan(&generation); err != nil {
		return nil, err
	}
	if s := ix.shot.Load(); s != nil && s.generation == generation {
		return s, nil
	}
	s := &snapshot{generation: generation, lists: &lists{known: map[string][][]byte{}}}
	var err error
	if s.segments, err = loadSegments(ctx, tx); err != nil {
		return nil, err
	}
	if n := len(s.segments); n > 0 {
		s.first, s.end = s.segments[0].first, s.segments[n-1].end()
	}
	total := 0.0
	for _, seg := range s.segments {
		for _, l := range seg.lengths {
			if l > 0 {
				s.live++
				total += words(l)
			}
		}
	}
	s.average = total / float64(max(s.live, 1))
	ix.shot.Store(s)
	return s, nil
}

// lookup is the state of one search.
type lookup struct {
	snapshot
	q       *question
	score   []float32       // by passage
	groups  []uint32        // those that a passage has
	parts   []uint64        // units of which a passage has the character only; nil where the question has none
	docs    map[uint32]held // by document
	touched int
	highest float32 // score
	norm    [longestP + 1]float32
}

// held is what a passage or a document has of the question.
type held struct {
	groups uint32
	parts  uint64 // units of which it has the character only
}

func (h held) with(o held) held { return held{h.groups | o.groups, h.parts | o.parts} }

// posts are the postings of a term in all segments.
type posts struct {
	alternative
	lists [][]byte // by segment
	count int
}

// find scores every passage that has a word of the question, and returns the best of them. The lookup has its lists, see borrow.
func (l *lookup) find(ctx context.Context, tx *sql.Tx) ([]int64, error) {
	n := len(l.score)
	for i := range l.norm {
		l.norm[i] = float32(1 - lengthBias + lengthBias*words(byte(i))/max(l.average, 1))
	}
	stmt, err := tx.PrepareContext(ctx, "SELECT data FROM terms WHERE segment = ? AND term = ?")
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	type loaded struct {
		g     int
		terms []posts
	}
	var all []loaded
	for g := range l.q.groups {
		grp := &l.q.groups[g]
		var terms []posts
		for _, a := range grp.terms {
			p := posts{alternative: a}
			if err := l.load(ctx, stmt, &p); err != nil {
				return nil, err
			}
			if p.count > 0 && (a.weight == 1 || p.count < l.live/10+20) { // a synonym that is everywhere tells nothing
				terms = append(terms, p)
			}
		}
		total := 0
		for _, p := range terms {
			total += p.count
		}
		grp.found = total > 0
		grp.idf = l.rarity(total)
		if grp.common {
			grp.idf *= commonWorth
		}
		all = append(all, loaded{g, terms})
	}
	// The rarest first: if there is too much to look at, it is the common words that are not looked at everywhere.
	slices.SortStableFunc(all, func(a, b loaded) int { return cmp.Compare(l.q.groups[b.g].idf, l.q.groups[a.g].idf) })
	for _, x := range all {
		for _, p := range x.terms {
			l.add(x.g, p)
		}
	}
	for i, u := range l.q.units {
		if u.char == "" || i >= 64 {
			continue
		}
		p := posts{alternative: alternative{u.char, partWorth}}
		if err := l.load(ctx, stmt, &p); err != nil {
			return nil, err
		}
		if p.count > 0 && p.count < l.live/10+20 {
			if l.parts == nil {
				l.parts = make([]uint64, n)
			}
			l.addPart(i, p)
		}
	}
	l.weigh()
	return l.best(), nil
}

func (l *lookup) load(ctx context.Context, stmt *sql.Stmt, p *posts) error {
	known := false
	if p.lists, known = l.lists.find(p.term); !known {
		p.lists = make([][]byte, len(l.segments))
		for i, s := range l.segments {
			err := stmt.QueryRowContext(ctx, s.id, p.term).Scan(&p.lists[i])
			if err != nil && err != sql.ErrNoRows {
				return err
			}
		}
		l.lists.put(p.term, p.lists)
	}
	for _, list := range p.lists {
		p.count += len(list) / 2 // most distances take one byte; it is near enough
	}
	return nil
}

// rarity is how much a word that so many passages have tells about one that has it.
func (l *lookup) rarity(count int) float64 {
	n := float64(max(l.live, 1))
	c := min(max(float64(count), 1), n)
	return math.Log(1 + (n-c+0.5)/(c+0.5))
}

// add counts the postings of a term towards its group. Terms of a group come in the order of their weight, and the first
// that a passage has is the one that counts.
func (l *lookup) add(g int, p posts) {
	bit := uint32(1) << g
	idf := float32(l.rarity(p.count) * p.weight)
	if l.q.groups[g].common {
		idf *= commonWorth
	}
	full := l.touched > mostTouched
	for i, s := range l.segments {
		offset := int(s.first - l.first)
		l.count(p.lists[i], s.lengths, l.score[offset:offset+len(s.lengths)], l.groups[offset:offset+len(s.lengths)], bit, idf, full)
		l.touched += len(p.lists[i]) / 2
	}
}

// addPart counts the postings of a character, where a passage has none of the pairs that the question has it in.
func (l *lookup) addPart(unit int, p posts) {
	pairs := uint32(0)
	for _, g := range l.q.units[unit].groups {
		pairs |= 1 << g
	}
	idf := float32(l.rarity(p.count) * p.weight / 2) // a character counts half a word
	full := l.touched > mostTouched
	for i, s := range l.segments {
		lengths, base, offset := s.lengths, s.first, s.first-l.first
		postings(p.lists[i], base, func(id int64, what byte) {
			at := id - base
			if at >= int64(len(lengths)) || lengths[at] == 0 {
				return
			}
			k := at + offset
			if l.groups[k]&pairs != 0 || full && l.groups[k] == 0 {
				return
			}
			tf := float32(what&mostTF) / l.norm[lengths[at]]
			if what&(inTrail|inTitle) != 0 {
				tf += titleWeight
			}
			l.parts[k] |= 1 << unit
			l.score[k] += idf * tf * (saturation + 1) / (tf + saturation)
			l.highest = max(l.highest, l.score[k])
		})
		l.touched += len(p.lists[i]) / 2
	}
}

// weigh says how much each part of the question counts. A Chinese character counts half a word.
func (l *lookup) weigh() {
	most := l.rarity(1)
	for i := range l.q.units {
		u := &l.q.units[i]
		for _, g := range u.groups {
			if grp := l.q.groups[g]; grp.found {
				w := grp.idf
				if len(u.groups) > 1 || hanGroup(grp) {
					w /= 2
				}
				u.weight = max(u.weight, w)
			}
		}
		if u.weight == 0 { // no document has it
			u.weight = most
			if grp := l.q.groups[u.groups[0]]; hanGroup(grp) {
				u.weight /= 2
			} else if grp.common {
				u.weight *= commonWorth
			}
		}
	}
}

func hanGroup(g group) bool { return strings.IndexFunc(g.word, wide) == 0 }

// has is what a passage has of the question.
func (l *lookup) has(k int) held {
	if l.parts == nil {
		return held{groups: l.groups[k]}
	}
	return held{l.groups[k], l.parts[k]}
}

// covered is which share of the question that is, from 0 to 1.
func (l *lookup) covered(h held) float64 {
	have, all := 0.0, 0.0
	for i, u := range l.q.units {
		all += u.weight
		whole := false
		for _, g := range u.groups {
			whole = whole || h.groups&(1<<g) != 0
		}
		if whole {
			have += u.weight
		} else if i < 64 && h.parts&(1<<i) != 0 {
			have += u.weight * partWorth
		}
	}
	if all == 0 {
		return 0
	}
	return have / all
}

// best are the passages that are worth a closer look.
func (l *lookup) best() []int64 {
	docs := map[uint32]held{}
	l.docs = docs
	type scored struct {
		k     int
		score float64
	}
	type share struct{ passage, doc float64 }
	worth := map[held]share{} // there are few different ones
	of := func(h held) share {
		w, ok := worth[h]
		if !ok {
			c := l.covered(h)
			w = share{0.1 + 0.9*math.Pow(c, 1.5), 1 + wholeDoc*c}
			worth[h] = w
		}
		return w
	}
	// A first sieve by score alone keeps the rest cheap.
	floor, sure := l.floor(sieved)
	var top []scored
	offset := 0
	for _, s := range l.segments {
		for i := range s.lengths {
			k := offset + i
			if l.score[k] > 0 && l.score[k] >= floor && (l.score[k] >= sure || len(top) < 4*sieved) {
				top = append(top, scored{k, 0})
				docs[s.fileAt(i)] = docs[s.fileAt(i)].with(l.has(k))
			}
		}
		offset += len(s.lengths)
	}
	for i := range top {
		k := top[i].k
		top[i].score = float64(l.score[k]) * of(l.has(k)).passage * of(docs[l.fileOf(k)]).doc
	}
	slices.SortFunc(top, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.k, b.k)) })
	cut := len(top)
	if cut > closely {
		cut = closely
		for cut < len(top) && cut < 4*closely && top[cut].score == top[closely-1].score { // ties are told apart by place
			cut++
		}
	}
	out := make([]int64, cut)
	for i := range out {
		out[i] = l.first + int64(top[i].k)
		l.score[top[i].k] = float32(top[i].score)
	}
	return out
}

func (l *lookup) fileOf(k int) uint32 {
	id := l.first + int64(k)
	for _, s := range l.segments {
		if id < s.end() {
			return s.fileAt(int(id - s.first))
		}
	}
	return 0
}
