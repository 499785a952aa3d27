package search

import (
	"encoding/binary"
	"math"
	"sync"
)

// scores are the two lists of a lookup, which are as long as the index has passages. They are used again.
type scores struct {
	score  []float32
	groups []uint32
}

var spare sync.Pool

// borrow gives the lookup its lists, and returns what gives them back.
func (l *lookup) borrow(n int) (back func()) {
	s, _ := spare.Get().(*scores)
	if s == nil || cap(s.score) < n {
		s = &scores{make([]float32, n), make([]uint32, n)}
	} else {
		s.score, s.groups = s.score[:n], s.groups[:n]
		clear(s.score)
		clear(s.groups)
	}
	l.score, l.groups = s.score, s.groups
	return func() { spare.Put(s) }
}

// lists are the postings of terms that were asked for, as they are in one state of the index: words that are in most questions are in most
// passages too.
type lists struct {
	mu    sync.Mutex
	size  int
	known map[string][][]byte // by term, and by segment; nobody changes them
}

// mostLists is how many bytes of postings are remembered.
const mostLists = 16 << 20

func (c *lists) find(term string) ([][]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.known[term]
	return l, ok
}

func (c *lists) put(term string, all [][]byte) {
	size := 64 + len(term)
	for _, l := range all {
		size += 24 + len(l)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.size > mostLists {
		clear(c.known)
		c.size = size
	}
	c.known[term] = all
}

// count goes through the postings of a term in a segment. It is [postings] written out: a question has up to a million of them.
func (l *lookup) count(list, lengths []byte, score []float32, groups []uint32, bit uint32, idf float32, full bool) {
	highest, at := l.highest, -1
	for i := 0; i+1 < len(list); {
		if d := list[i]; d < 0x80 {
			at += int(d)
			i++
		} else {
			d, n := binary.Uvarint(list[i:])
			if n <= 0 || d > math.MaxInt32 || i+n >= len(list) {
				break // it is damaged
			}
			at += int(d)
			i += n
		}
		what := list[i]
		i++
		if uint(at) >= uint(len(lengths)) || uint(at) >= uint(len(groups)) || uint(at) >= uint(len(score)) {
			continue
		}
		length, has := lengths[at], groups[at]
		if length == 0 || has&bit != 0 || full && has == 0 {
			continue
		}
		tf := float32(what&mostTF) / l.norm[length]
		if what&inTrail != 0 {
			tf += trailWeight
		}
		if what&inTitle != 0 {
			tf += titleWeight
		}
		groups[at] = has | bit
		sum := score[at] + idf*tf*(saturation+1)/(tf+saturation)
		score[at] = sum
		highest = max(highest, sum)
	}
	l.highest = highest
}

// floor is a score that at least as many passages reach as are wanted, or 0 if there are fewer, and sure one that about as many do at most.
// Between them may be very many, where a question has nothing but words that are everywhere: they are equally good.
func (l *lookup) floor(wanted int) (floor, sure float32) {
	if len(l.score) <= wanted {
		return 0, 0
	}
	above := 0                    // passages that reach sure
	sure = l.highest * (1 + 1e-5) // which nobody reaches
	for range 4 {                 // each time a closer look at the step in which the last of them are
		var steps [1024]int
		width := (sure - floor) / float32(len(steps))
		if width <= sure*1e-6 {
			break
		}
		for _, s := range l.score {
			if s > floor && s < sure {
				steps[min(int((s-floor)/width), len(steps)-1)]++
			}
		}
		at, sum := len(steps)-1, above
		for ; at > 0 && sum+steps[at] < wanted; at-- {
			sum += steps[at]
		}
		above = sum
		floor, sure = floor+float32(at)*width, min(floor+float32(at+1)*width, sure)
		if above+steps[at] <= 2*wanted {
			break
		}
	}
	return floor, sure
}
