package search

import "hash/maphash"

// table finds the number of a list by a word as it is written. Every word of every document is looked up in it, so it is flat: a step
// costs one line of memory where a map of strings costs three.
type table struct {
	seed  maphash.Seed
	slots []slot // as many as a power of two, at most two thirds of them taken
	taken int
	text  []byte // the words, one after the other
}

type slot struct {
	hash uint32
	list int32 // 0: free; else the number of the list and 1
	from uint32
	size uint32
}

func newTable() *table {
	return &table{seed: maphash.MakeSeed(), slots: make([]slot, 1<<6)}
}

// find returns the number of a word's list, or -1, and where the word is or would be.
func (t *table) find(word string) (list int32, at int, hash uint32) {
	hash = uint32(maphash.String(t.seed, word))
	last := len(t.slots) - 1
	for at = int(hash) & last; ; at = (at + 1) & last {
		s := &t.slots[at]
		if s.list == 0 {
			return -1, at, hash
		}
		if s.hash == hash && int(s.size) == len(word) && string(t.text[s.from:s.from+s.size]) == word {
			return s.list - 1, at, hash
		}
	}
}

// put adds a word that was not found, at the place that find gave.
func (t *table) put(word string, list int32, at int, hash uint32) {
	t.slots[at] = slot{hash, list + 1, uint32(len(t.text)), uint32(len(word))}
	t.text = append(t.text, word...)
	if t.taken++; t.taken*3 < len(t.slots)*2 {
		return
	}
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	last := len(t.slots) - 1
	for _, s := range old {
		if s.list == 0 {
			continue
		}
		at := int(s.hash) & last
		for t.slots[at].list != 0 {
			at = (at + 1) & last
		}
		t.slots[at] = s
	}
}
