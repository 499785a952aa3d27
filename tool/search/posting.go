package search

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"strings"
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

// passagesOf are the passages of a file. Files have come in the order of their ids.
func (s *segment) passagesOf(file uint32) (from, to int) {
	n := len(s.lengths)
	from = sort.Search(n, func(i int) bool { return s.fileAt(i) >= file })
	return from, from + sort.Search(n-from, func(i int) bool { return s.fileAt(from+i) > file })
}

// lengthOf keeps the length of a passage, in words, in a byte.
func lengthOf(words int) byte { return byte(min((max(words, 1)+3)/4, longestP)) }

func words(length byte) float64 { return 4 * float64(length) }

// builder gathers a segment.
type builder struct {
	segment
	in    *vocabulary // that numbers the terms; nil before the first
	lists []list      // by number
	texts [][]byte    // the postings of each, but for those that the list has
}

// list is what is counted of a term, with the postings that were written last. It is one line of memory: each word of a text finds another
// one, and fetching the line is what takes time.
type list struct {
	last   int32 // the passage of the posting that is being gathered, counted from 1 in the segment; 0: none
	prev   int32 // the passage of the one before
	tf     int32
	flags  byte
	size   byte // of what is in recent
	recent [50]byte
}

// add takes a passage in.
func (b *builder) add(file int64, w wording) {
	at := int32(len(b.lengths)) + 1
	b.count(w.text, at, 0)
	b.count(w.trail, at, inTrail)
	b.count(w.title, at, inTitle)
	b.lengths = append(b.lengths, lengthOf(w.length))
	b.files = binary.LittleEndian.AppendUint32(b.files, uint32(file))
}

// count is a loop that does little else, so that the lines of many lists are fetched at the same time.
func (b *builder) count(words []int32, at int32, flag byte) {
	for _, n := range words {
		if int(n) >= len(b.lists) {
			more := max(len(b.in.all())-len(b.lists), 0) // of which n is one
			b.lists, b.texts = append(b.lists, make([]list, more)...), append(b.texts, make([][]byte, more)...)
		}
		l := &b.lists[n]
		if l.last != at {
			if l.last != 0 {
				b.flush(n)
			}
			l.last = at
		}
		if flag != 0 {
			l.flags |= flag
		} else {
			l.tf++
		}
	}
}

// flush writes the posting that was gathered of a term.
func (b *builder) flush(n int32) {
	l := &b.lists[n]
	what := byte(min(l.tf, mostTF)) | l.flags
	at, d := int(l.size), l.last-l.prev
	if at+2 > len(l.recent) || d >= 1<<7 && at+binary.MaxVarintLen32+1 > len(l.recent) {
		b.spill(n)
		at = 0
	}
	if d < 1<<7 { // as nearly all are
		l.recent[at] = byte(d)
		at++
	} else {
		at += binary.PutUvarint(l.recent[at:], uint64(d))
	}
	l.recent[at] = what
	l.size = byte(at + 1)
	l.prev, l.last, l.tf, l.flags = l.last, 0, 0, 0
}

// spill puts recent postings to those before them.
func (b *builder) spill(n int32) {
	l := &b.lists[n]
	b.texts[n] = append(b.texts[n], l.recent[:l.size]...)
	l.size = 0
}

// entry is a term and its postings.
type entry struct {
	term string
	data []byte
}

// sorted are the terms in their order.
func (b *builder) sorted() []entry {
	var out []entry
	names := b.in.all()
	for n := int32(none + 1); n < int32(len(b.lists)); n++ {
		if b.lists[n].last != 0 {
			b.flush(n)
		}
		b.spill(n)
		if len(b.texts[n]) > 0 {
			out = append(out, entry{names[n], b.texts[n]})
		}
	}
	slices.SortFunc(out, func(x, y entry) int { return strings.Compare(x.term, y.term) })
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
