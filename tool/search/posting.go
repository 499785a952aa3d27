package search

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A segment is what one batch of documents adds to the index: for every term the passages that have it, and for every
// passage its length and its file. Passages are numbered in the order in which they came; those of a segment follow each
// other, and segments follow each other too. A posting is the distance to the passage before and one byte:
//
//	bits 0-5  how often the term is in the text, at most 63
//	bit  6    it is in a heading above the passage
//	bit  7    it is in the title
//
// Where in the text a word stands is not kept: the best passages are read anyway, and looked at closely then.
const (
	inTrail  = 1 << 6
	inTitle  = 1 << 7
	mostTF   = 1<<6 - 1
	longestP = 255 // steps of length; 0 is a passage that is gone
)

// segment is what is known of a segment without reading its terms.
type segment struct {
	id      int64
	first   int64  // number of its first passage
	lengths []byte // of each passage, see lengthOf
	files   []byte // 4 bytes for each: the id of its file
}

func (s *segment) end() int64 { return s.first + int64(len(s.lengths)) }

func (s *segment) fileAt(i int) uint32 { return binary.LittleEndian.Uint32(s.files[4*i:]) }

// lengthOf keeps the length of a passage, in words, in a byte.
func lengthOf(words int) byte { return byte(min((max(words, 1)+3)/4, longestP)) }

func words(length byte) float64 { return 4 * float64(length) }

// builder gathers a segment.
type builder struct {
	segment
	lists []list // by number; the first is none
	texts []text
	terms map[string]int32 // the number of the list, by term
	words *table           // the same by word as it is written, so that each is brought into its form once
	stems stems
}

// none is the number in words of what is no word.
const none = 0

// list is what is counted of a term. It is small, since each word of a text finds another one; what is written less often is its text.
type list struct {
	last  int32 // the passage of the posting that is being gathered, counted from 1 in the segment; 0: none
	prev  int32 // the passage of the one before
	tf    int32
	flags byte
}

type text struct {
	term string
	data []byte
}

// stems remembers the terms of words from one batch to the next.
type stems map[string]string

const mostStems = 500_000

func (s stems) term(word string) string {
	t, ok := s[word]
	if !ok {
		t = term(word)
		if len(s) >= mostStems {
			clear(s)
		}
		s[strings.Clone(word)] = strings.Clone(t) // copies: the word is a piece of a whole document
	}
	return t
}

func newBuilder(first int64, known stems) *builder {
	return &builder{segment: segment{first: first}, lists: make([]list, 1), texts: make([]text, 1), terms: map[string]int32{}, words: newTable(), stems: known}
}

// add takes a passage in.
func (b *builder) add(file int64, title, trail, text string) {
	at := int32(len(b.lengths)) + 1
	n := 0
	eachWord(text, func(w string, _, _, _ int) { b.take(w, at, 0); n++ })
	eachWord(trail, func(w string, _, _, _ int) { b.take(w, at, inTrail) })
	eachWord(title, func(w string, _, _, _ int) { b.take(w, at, inTitle) })
	b.lengths = append(b.lengths, lengthOf(n))
	b.files = binary.LittleEndian.AppendUint32(b.files, uint32(file))
}

// take counts a word, and with a pair of characters the first of them: so each character is found alone, too.
func (b *builder) take(word string, at int32, flag byte) {
	b.count(word, at, flag)
	if word[0] >= utf8.RuneSelf {
		if r, n := utf8.DecodeRuneInString(word); n < len(word) && wide(r) {
			b.count(word[:n], at, flag)
		}
	}
}

func (b *builder) count(word string, at int32, flag byte) {
	n := b.words.find(word)
	if n < 0 {
		n = b.listOf(word)
		b.words.put(word, n)
	}
	if n == none {
		return
	}
	l := &b.lists[n]
	if l.last != at {
		b.flush(n)
		l.last = at
	}
	if flag != 0 {
		l.flags |= flag
	} else {
		l.tf++
	}
}

// listOf is the number of the list of a word that was not met before.
func (b *builder) listOf(word string) int32 {
	t := b.stems.term(word)
	if t == "" {
		return none
	}
	n, ok := b.terms[t]
	if !ok {
		n = int32(len(b.lists))
		b.lists, b.texts = append(b.lists, list{}), append(b.texts, text{term: t})
		b.terms[t] = n
	}
	return n
}

// flush writes the posting that was gathered of a term.
func (b *builder) flush(n int32) {
	l := &b.lists[n]
	if l.last == 0 {
		return
	}
	t := &b.texts[n]
	what := byte(min(l.tf, mostTF)) | l.flags
	if d := l.last - l.prev; d < 1<<7 { // as nearly all are
		t.data = append(t.data, byte(d), what)
	} else if d < 1<<14 {
		t.data = append(t.data, byte(d)|0x80, byte(d>>7), what)
	} else {
		t.data = append(binary.AppendUvarint(t.data, uint64(d)), what)
	}
	*l = list{prev: l.last}
}

// sorted are the texts in the order of their terms.
func (b *builder) sorted() []text {
	for n := range b.lists[1:] {
		b.flush(int32(n + 1))
	}
	out := slices.Clone(b.texts[1:])
	slices.SortFunc(out, func(x, y text) int { return strings.Compare(x.term, y.term) })
	return out
}

// postings calls with each posting of a list. What is damaged ends it.
func postings(data []byte, first int64, with func(passage int64, what byte)) {
	at := first - 1
	for len(data) > 0 {
		d := uint64(data[0])
		n := 1
		if d >= 0x80 {
			if d, n = binary.Uvarint(data); n <= 0 || d > math.MaxInt32 {
				return
			}
		}
		if len(data) <= n {
			return
		}
		at += int64(d)
		with(at, data[n])
		data = data[n+1:]
	}
}

// merged is the list of two neighbours, without the passages that are gone.
func merged(a, b *segment, listA, listB []byte) []byte {
	out := make([]byte, 0, len(listA)+len(listB))
	last := a.first - 1
	take := func(s *segment, data []byte) {
		postings(data, s.first, func(p int64, what byte) {
			if i := p - s.first; i < int64(len(s.lengths)) && s.lengths[i] != 0 {
				out = binary.AppendUvarint(out, uint64(p-last))
				out = append(out, what)
				last = p
			}
		})
	}
	take(a, listA)
	take(b, listB)
	return out
}
