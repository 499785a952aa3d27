package search

import (
	"math/bits"
	"math/rand/v2"
	"strings"
)

// table finds the number of a list by a word as it is written. Every word of every document is looked up in it, so it is flat and holds the
// letters of short words themselves: a step costs one line of memory where a map of strings costs three.
type table struct {
	seed  [2]uint64 // nobody can write a document whose words all meet
	slots []slot    // as many as a power of two, at most two thirds of them taken
	taken int
	long  map[string]int32 // words that do not fit into a slot
}

// slot is a word of at most 16 bytes.
type slot struct {
	letters
	list int32 // 0: free; else the number of the list and 1
}

// letters are the bytes of a word of at most 16, in a form in which no two words are the same.
type letters struct {
	head, tail uint64
	size       uint32
}

// lettersOf takes a word of 1 to 16 bytes apart: its first and its last eight bytes, which may be the same ones in part. With its length
// they are the word.
func lettersOf(word string) letters {
	n := len(word)
	l := letters{size: uint32(n)}
	switch {
	case n >= 8:
		l.head, l.tail = eight(word), eight(word[n-8:])
	case n >= 4:
		l.head = uint64(four(word)) | uint64(four(word[n-4:]))<<32
	default:
		l.head = uint64(word[0]) | uint64(word[n/2])<<8 | uint64(word[n-1])<<16
	}
	return l
}

func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func four(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func newTable() *table {
	return &table{seed: [2]uint64{rand.Uint64(), rand.Uint64()}, slots: make([]slot, 1<<6), long: map[string]int32{}}
}

// at is where the search for a word begins.
func (t *table) at(l letters) int {
	high, low := bits.Mul64(l.head^t.seed[0], l.tail^t.seed[1]^uint64(l.size)<<56)
	return int(high^low) & (len(t.slots) - 1)
}

func outsize(word string) bool { return len(word) > 16 || word == "" }

// find returns the number of a word's list, or -1.
func (t *table) find(word string) int32 {
	if outsize(word) {
		return t.long[word] - 1
	}
	l := lettersOf(word)
	for at := t.at(l); ; at = (at + 1) & (len(t.slots) - 1) {
		s := &t.slots[at]
		if s.letters == l || s.list == 0 {
			return s.list - 1
		}
	}
}

// put adds a word that was not found. It keeps nothing of the text that the word is a piece of.
func (t *table) put(word string, list int32) {
	if outsize(word) {
		t.long[strings.Clone(word)] = list + 1
		return
	}
	t.place(slot{lettersOf(word), list + 1})
	if t.taken++; t.taken*3 < len(t.slots)*2 {
		return
	}
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.list != 0 {
			t.place(s)
		}
	}
}

func (t *table) place(s slot) {
	at := t.at(s.letters)
	for t.slots[at].list != 0 {
		at = (at + 1) & (len(t.slots) - 1)
	}
	t.slots[at] = s
}
