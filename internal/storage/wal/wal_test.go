package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const page = 512

// writer writes logs as SQLite does.
type writer struct {
	order   binary.ByteOrder
	salts   [2]uint32
	a, b    uint32
	out     []byte
	rng     *rand.Rand
	commits []int // frames
	frames  int
}

func newWriter(seed uint64, order binary.ByteOrder, after ...*writer) *writer {
	w := &writer{order: order, rng: rand.New(rand.NewPCG(seed, 1))}
	w.salts = [2]uint32{w.rng.Uint32(), w.rng.Uint32()}
	for _, old := range after { // the log begins anew
		w.salts[0] = old.salts[0] + 1
	}
	first := uint32(magic)
	if order == binary.ByteOrder(binary.BigEndian) {
		first++
	}
	for _, v := range []uint32{first, format, page, 0, w.salts[0], w.salts[1]} {
		w.out = binary.BigEndian.AppendUint32(w.out, v)
	}
	w.sum(w.out)
	w.out = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(w.out, w.a), w.b)
	return w
}

// sum is the formula of SQLite's file format, section 4.4.
func (w *writer) sum(b []byte) {
	for i := 0; i < len(b); i += 8 {
		w.a += w.order.Uint32(b[i:]) + w.b
		w.b += w.order.Uint32(b[i+4:]) + w.a
	}
}

func (w *writer) frame(commit bool) {
	var head []byte
	size := uint32(0)
	if commit {
		size = 1 + w.rng.Uint32N(1000)
	}
	head = binary.BigEndian.AppendUint32(head, 1+w.rng.Uint32N(1000))
	head = binary.BigEndian.AppendUint32(head, size)
	data := make([]byte, page)
	for i := range data {
		data[i] = byte(w.rng.Uint32())
	}
	w.sum(head)
	w.sum(data)
	for _, v := range []uint32{w.salts[0], w.salts[1], w.a, w.b} {
		head = binary.BigEndian.AppendUint32(head, v)
	}
	w.out = append(append(w.out, head...), data...)
	w.frames++
	if commit {
		w.commits = append(w.commits, w.frames)
	}
}

// transactions writes some, each of one to four frames.
func (w *writer) transactions(n int) {
	for range n {
		for range w.rng.IntN(4) {
			w.frame(false)
		}
		w.frame(true)
	}
}

// index is what SQLite would have in shared memory.
func (w *writer) index(committed, moved, moving int) []byte {
	b := make([]byte, 136)
	n := binary.NativeEndian
	n.PutUint32(b[0:], format)
	b[12] = 1
	n.PutUint32(b[16:], uint32(committed))
	binary.BigEndian.PutUint32(b[32:], w.salts[0])
	binary.BigEndian.PutUint32(b[36:], w.salts[1])
	s := writer{order: n}
	s.sum(b[:40])
	n.PutUint32(b[40:], s.a)
	n.PutUint32(b[44:], s.b)
	copy(b[48:], b[:48])
	n.PutUint32(b[96:], uint32(moved))
	n.PutUint32(b[128:], uint32(moving))
	return b
}

func (w *writer) committed() int { return w.commits[len(w.commits)-1] }

// older puts frames of an older generation behind a log, as they lie there when a log began anew.
func older(w *writer, tail []byte) []byte {
	if len(tail) > len(w.out) {
		return append(bytes.Clone(w.out), tail[len(w.out):]...)
	}
	return w.out
}

func scanned(t interface{ Fatal(...any) }, log, index []byte) Report {
	r, err := Scan(bytes.NewReader(log), index, page)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A log that nothing has happened to is used whole, whatever lies behind its end.
func TestWholeLogLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]binary.ByteOrder{binary.LittleEndian, binary.BigEndian}).Draw(t, "order")
		seed := rapid.Uint64().Draw(t, "seed")
		old := newWriter(seed, order)
		old.transactions(rapid.IntRange(0, 12).Draw(t, "old transactions"))
		w := newWriter(seed+1, order, old) // another lot: equal salts would be one generation
		w.transactions(rapid.IntRange(1, 8).Draw(t, "transactions"))
		want := w.committed()
		for range rapid.IntRange(0, 3).Draw(t, "unfinished") { // a transaction that was cut off
			w.frame(false)
		}
		log := older(w, old.out)
		log = log[:len(log)-rapid.IntRange(0, min(page, len(log)-len(w.out))).Draw(t, "cut")]
		for _, index := range [][]byte{nil, w.index(want, 0, 0)} {
			if r := scanned(t, log, index); r.Used != want || r.Damaged() || r.Bad != 0 {
				t.Fatalf("got %+v; want %d frames used and nothing lost", r, want)
			}
		}
	})
}

// Whatever single byte is changed, and to whatever, what is left out is told.
func TestOneChangedByteIsTold(t *testing.T) {
	for seed := range uint64(2) {
		old := newWriter(seed+100, binary.LittleEndian)
		old.transactions(15)
		w := newWriter(seed, binary.LittleEndian, old)
		w.transactions(9)
		for name, c := range map[string]struct{ log, index []byte }{
			"alone":            {w.out, nil},
			"with its index":   {w.out, w.index(w.committed(), 0, 0)},
			"and an older one": {older(w, old.out), nil},
		} {
			told := 0
			for at := range w.out {
				in := (at - headerBytes) % (frameHeader + page)
				if at >= headerBytes && in >= frameHeader && in%31 != 0 {
					continue // the bytes of a page are all alike
				}
				for _, mask := range []byte{1, 0x80, 0xff, c.log[at]} {
					if mask == 0 {
						continue
					}
					log := bytes.Clone(c.log)
					log[at] ^= mask
					r := scanned(t, log, c.index)
					left := len(w.commits) - used(w, r)
					most := r.Lost
					if at >= headerBytes && in >= 4 && in < 8 {
						most++ // the frame no longer says that it commits
					}
					if left > most || left > 0 && r.Lost == 0 {
						t.Fatalf("%s, seed %d: byte %d changed by %x leaves out %d transactions, and %d are told: %+v", name, seed, at, mask, left, r.Lost, r)
					}
					if r.Lost > 0 {
						told++
					}
				}
			}
			if told < 100*len(w.commits) {
				t.Errorf("%s: only %d changes were told", name, told)
			}
		}
	}
}

// A block of zeros, as a disk gives for one that it cannot read or that was never written, is told wherever it stands; even at the very
// beginning, where it takes the header and the first frames. Only a log that is zeros from there to its end leaves no trace.
func TestBlockOfZerosIsTold(t *testing.T) {
	old := newWriter(100, binary.LittleEndian)
	old.transactions(30)
	w := newWriter(1, binary.LittleEndian, old)
	w.transactions(20)
	for _, block := range []int{64, 512, 4096} {
		for at := 0; at+block < len(w.out)-(frameHeader+page); at += min(block, 256) {
			for _, behind := range [][]byte{nil, old.out} {
				for _, index := range [][]byte{nil, w.index(w.committed(), 0, 0)} {
					log := older(w, behind)
					log = bytes.Clone(log)
					clear(log[at : at+block])
					r := scanned(t, log, index)
					left := len(w.commits) - used(w, r)
					if gone := block/(frameHeader+page) + 2; left > 0 && r.Lost == 0 || left > r.Lost+gone {
						t.Fatalf("zeros from %d to %d leave out %d transactions, and %d are told: %+v", at, at+block, left, r.Lost, r)
					}
				}
			}
		}
	}
}

func used(w *writer, r Report) int {
	n, _ := slices.BinarySearch(w.commits, r.Used+1)
	return n
}

// The index says that the bad frame at the end was never committed, that frames are missing from the end, or that the file has
// more than the log.
func TestIndexKnowsMore(t *testing.T) {
	w := newWriter(7, binary.LittleEndian)
	w.transactions(9)
	n := w.committed()
	last := len(w.out) - 5 // a byte of the last frame
	middle := headerBytes + (w.commits[3])*(frameHeader+page) + 100
	flip := func(at int) []byte {
		b := bytes.Clone(w.out)
		b[at] ^= 4
		return b
	}
	for name, c := range map[string]struct {
		log, index []byte
		want       string // lost moved mixed keep
	}{
		"cut off in the last frame":             {flip(last), w.index(w.commits[7], 0, 0), "0 false false 8"},
		"the last frame without an index":       {flip(last), nil, "1 false false 8"},
		"the last frame was committed":          {flip(last), w.index(n, 0, 0), "1 false false 8"},
		"frames are missing":                    {w.out[:len(w.out)-page], w.index(n, 0, 0), "1 false false 8"},
		"in the middle, nothing was moved":      {flip(middle), w.index(n, 0, 0), "5 false false 4"},
		"in the middle, all was moved":          {flip(middle), w.index(n, n, n), "0 true false 0"},
		"in the middle, some more was moved":    {flip(middle), w.index(n, w.commits[6], w.commits[6]), "2 true false 0"},
		"in the middle, less was moved":         {flip(middle), w.index(n, w.commits[2], w.commits[2]), "5 false false 4"},
		"in the middle, while it was moved":     {flip(middle), w.index(n, w.commits[2], n), "5 false true 4"},
		"in the middle, while more was moved":   {flip(middle), w.index(n, w.commits[6], n), "5 false true 0"},
		"the header, all was moved":             {flip(20), w.index(n, n, n), "0 true false 0"},
		"an index of another generation":        {flip(middle), newWriter(8, binary.LittleEndian).index(n, n, n), "5 false false 4"},
		"an index that is not whole":            {flip(middle), w.index(n, n, n)[:100], "5 false false 4"},
		"an index whose copies differ":          {flip(middle), append([]byte{1}, w.index(n, n, n)[1:]...), "5 false false 4"},
		"an index from before the last commits": {flip(middle), w.index(w.commits[5], w.commits[5], w.commits[5]), "3 true false 0"},
	} {
		r := scanned(t, c.log, c.index)
		keep := 0
		if r.Keep() > 0 {
			i, _ := slices.BinarySearch(w.commits, int(r.Keep()-headerBytes)/(frameHeader+page))
			keep = i + 1
		}
		if got := fmt.Sprint(r.Lost, r.Moved, r.Mixed, keep); got != c.want {
			t.Errorf("%s: got %s, want %s: %+v", name, got, c.want, r)
		}
	}
}

func FuzzScan(f *testing.F) {
	w := newWriter(1, binary.LittleEndian)
	w.transactions(4)
	f.Add(w.out, w.index(w.committed(), 0, 0))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, log, index []byte) {
		r, err := Scan(bytes.NewReader(log), index, page)
		if err != nil || r.Used < 0 || r.Used > r.Frames || r.Lost < 0 || r.Keep() > int64(len(log)) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
