// Package piece cuts bytes into pieces in such a way that what two texts have in common is the same pieces in both. Whoever
// keeps pieces by their hashes keeps the common part once: the requests of a long conversation, each of which repeats
// all of the one before, cost what is new in each.
//
// # Laws
//
//   - [Join] of what [Split] made is what was split, to the byte. A piece that is missing or damaged is an error.
//   - Equal texts have equal hashes, and a piece's hash is that of its bytes.
//   - Where two texts differ in one place, the pieces that differ are a few around that place and those above them: cuts
//     depend on the bytes near them, and on whether the text is longer than 1 MiB, and on nothing else.
//   - The data of a piece is never changed: one piece may be in many hands.
package piece

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// Hash names a piece by its content.
type Hash [16]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(h) {
		return h, fmt.Errorf("%q is not the name of a piece", s)
	}
	return Hash(raw), nil
}

// Piece is a stretch of a text, or a list of pieces that make one.
type Piece struct {
	Hash Hash
	Data []byte // begins with the level: 0 for text, higher for a list of the hashes one level down
}

// Split cuts a text. The last piece is the root, from which Join finds the others.
func Split(text []byte) []Piece {
	var all []Piece
	g := fine
	if len(text) > longest {
		g = coarse
	}
	for {
		n := g.cut(text)
		all = append(all, newPiece(0, text[:n]))
		if text = text[n:]; len(text) == 0 {
			break
		}
	}
	for level, from := byte(1), 0; len(all)-from > 1; level++ {
		to := len(all)
		var list []byte
		for i := from; i < to; i++ {
			list = append(list, all[i].Hash[:]...)
			// A list ends where the hash says so, for the reason that a piece of text does.
			if all[i].Hash[0]%fanOut == 0 && len(list) >= 2*len(Hash{}) || len(list) >= 8*fanOut*len(Hash{}) || i == to-1 {
				all = append(all, newPiece(level, list))
				list = nil
			}
		}
		from = to
	}
	return all
}

const (
	longest = 1 << 20 // what is longer is cut into larger pieces, or there would be thousands
	fanOut  = 16      // hashes of a list, usually
)

// grain is how large pieces are.
type grain struct {
	least, most int // bytes of a piece
	bits        int // it has 1<<bits usually
}

var (
	fine   = grain{256, 8 << 10, 10}
	coarse = grain{8 << 10, 128 << 10, 15}
)

// Intact reports that data is that of the piece.
func Intact(h Hash, data []byte) bool {
	sum := sha256.Sum256(data)
	return len(data) > 0 && Hash(sum[:len(h)]) == h
}

// Below yields the pieces that a list names; none, if data is text.
func Below(data []byte) iter.Seq[Hash] {
	return func(yield func(Hash) bool) {
		if len(data) == 0 || data[0] == 0 {
			return
		}
		for list := data[1:]; len(list) >= len(Hash{}); list = list[len(Hash{}):] {
			if !yield(Hash(list[:len(Hash{})])) {
				return
			}
		}
	}
}

// newPiece returns a piece, which may be one that was made before.
func newPiece(level byte, body []byte) Piece {
	slot := &lately[maphash.Bytes(seed, body)%uint64(len(lately))]
	if p := slot.Load(); p != nil && p.Data[0] == level && bytes.Equal(p.Data[1:], body) {
		return *p
	}
	data := append([]byte{level}, body...)
	sum := sha256.Sum256(data)
	p := &Piece{Hash(sum[:len(Hash{})]), data}
	if len(body) <= fine.most { // so that what is kept stays small
		slot.Store(p)
	}
	return *p
}

// lately are pieces that were made not long ago. A text comes again and again, in events, in the state and in the next request, and to
// compare a piece costs a tenth of hashing it. They are about a kilobyte each.
var (
	lately [2048]atomic.Pointer[Piece]
	seed   = maphash.MakeSeed()
)

// cut finds the end of the first piece of a text by a rolling hash of the last 64 bytes: it does not matter what stands
// before them.
func (g grain) cut(text []byte) int {
	end := min(len(text), g.most)
	under := uint64(1) << (64 - g.bits) // of one hash in 1<<bits
	if end <= g.least {
		return end
	}
	var h uint64
	for _, c := range text[g.least-64 : g.least] {
		h = h<<1 + gear[c]
	}
	for i, c := range text[g.least:end] {
		if h = h<<1 + gear[c]; h < under {
			return g.least + i + 1
		}
	}
	return end
}

// gear is a random number for each byte.
var gear = func() (table [256]uint64) {
	x := uint64(1 << 10)
	for i := range table {
		x += 0x9e3779b97f4a7c15 // splitmix64
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		table[i] = z ^ z>>31
	}
	return table
}()

// ErrDamaged is returned for a piece whose bytes are not those that its hash names.
var ErrDamaged = errors.New("a piece is damaged")

// Join puts a text together. get returns the data of a piece.
func Join(root Hash, get func(Hash) ([]byte, error)) ([]byte, error) {
	return join(nil, root, 255, get)
}

func join(dst []byte, h Hash, below byte, get func(Hash) ([]byte, error)) ([]byte, error) {
	data, err := get(h)
	if err != nil {
		return nil, err
	}
	if !Intact(h, data) || data[0] >= below {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, h)
	}
	if data[0] == 0 {
		return append(dst, data[1:]...), nil
	}
	list := data[1:]
	if len(list)%len(h) != 0 {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, h)
	}
	for ; len(list) > 0; list = list[len(h):] {
		if dst, err = join(dst, Hash(list[:len(h)]), data[0], get); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
