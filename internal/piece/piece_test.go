package piece_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/piece"
)

type shelf map[piece.Hash][]byte

func (s shelf) get(h piece.Hash) ([]byte, error) {
	d, ok := s[h]
	if !ok {
		return nil, fmt.Errorf("no piece %v", h)
	}
	return d, nil
}

// put keeps a text and says how many bytes were new.
func (s shelf) put(text []byte) (root piece.Hash, added int) {
	for _, p := range piece.Split(text) {
		if _, ok := s[p.Hash]; !ok {
			s[p.Hash] = p.Data
			added += len(p.Data)
		}
		root = p.Hash
	}
	return root, added
}

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('a' + r.IntN(26))
	}
	return out
}

func TestJoinUndoesSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := noise(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 400_000).Draw(t, "length"))
		if rapid.Bool().Draw(t, "dull") {
			text = bytes.Repeat([]byte("x"), len(text))
		}
		s := shelf{}
		root, _ := s.put(text)
		got, err := piece.Join(root, s.get)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d bytes became %d, %v", len(text), len(got), err)
		}
	})
}

// A conversation of 500 turns sends its beginning 500 times: 60 MB in all. What is kept is what was said, once, and a little.
func TestAGrowingTextCostsWhatIsNew(t *testing.T) {
	s := shelf{}
	var body []byte
	kept, sent := 0, 0
	for turn := range 500 {
		body = append(body, noise(uint64(turn), 500)...)
		whole := append(append([]byte(`{"messages":[`), body...), `],"tools":[]}`...)
		root, added := s.put(whole)
		kept, sent = kept+added, sent+len(whole)
		if turn%100 == 0 {
			if got, err := piece.Join(root, s.get); err != nil || !bytes.Equal(got, whole) {
				t.Fatalf("turn %d: %v", turn, err)
			}
		}
	}
	if limit := 6 * len(body); kept > limit {
		t.Errorf("%d bytes were kept of %d sent and %d said; want at most %d", kept, sent, len(body), limit)
	}
}

func TestAChangeInTheMiddleCostsAFewPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := noise(rapid.Uint64().Draw(t, "seed"), 200_000)
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		s := shelf{}
		s.put(text)
		changed := append(append(append([]byte{}, text[:at]...), "something else"...), text[at:]...)
		if _, added := s.put(changed); added > 60_000 {
			t.Fatalf("a change at %d cost %d bytes", at, added)
		}
	})
}

// Megabytes are cut into pieces that are larger, and so few that they can be written while others wait.
func TestMegabytesAreCutIntoFewPieces(t *testing.T) {
	text := noise(1, 3<<20)
	s := shelf{}
	root, _ := s.put(text)
	if got, err := piece.Join(root, s.get); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes became %d, %v", len(text), len(got), err)
	}
	if most := 200; len(s) > most {
		t.Errorf("%d bytes are %d pieces, want at most %d", len(text), len(s), most)
	}
	for h, data := range s {
		if most := 128<<10 + 1; len(data) > most {
			t.Errorf("piece %v has %d bytes, want at most %d", h, len(data), most)
		}
	}
	for _, at := range []int{0, 1 << 20, len(text)} {
		changed := append(append(append([]byte{}, text[:at]...), "something else"...), text[at:]...)
		if _, added := s.put(changed); added > 300_000 {
			t.Errorf("a change at %d cost %d bytes", at, added)
		}
	}
}

func TestDamageIsNoticed(t *testing.T) {
	s := shelf{}
	root, _ := s.put(noise(1, 100_000))
	for h, data := range s {
		good := bytes.Clone(data)
		data[len(data)/2] ^= 1
		if _, err := piece.Join(root, s.get); !errors.Is(err, piece.ErrDamaged) {
			t.Fatalf("piece %v: got %v", h, err)
		}
		s[h] = good
	}
	for h, data := range s {
		delete(s, h)
		if _, err := piece.Join(root, s.get); err == nil {
			t.Fatalf("nobody missed piece %v", h)
		}
		s[h] = data
	}
	if _, err := piece.ParseHash("xyz"); err == nil {
		t.Error("xyz is no hash")
	}
	if h, err := piece.ParseHash(root.String()); err != nil || h != root {
		t.Errorf("got %v, %v", h, err)
	}
}

func FuzzJoin(f *testing.F) {
	f.Add([]byte{0, 'a'}, []byte{1})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		s := shelf{}
		root, _ := s.put(a)
		s[root] = b // whatever is stored, Join ends
		if got, err := piece.Join(root, s.get); err == nil && !bytes.Equal(got, a) {
			t.Fatalf("got %q for %q", got, a)
		}
	})
}

func TestATextThatComesAgainIsTheSamePieces(t *testing.T) {
	text := noise(11, 100_000)
	first, again := piece.Split(text), piece.Split(bytes.Clone(text))
	if len(first) != len(again) {
		t.Fatalf("%d pieces became %d", len(first), len(again))
	}
	same := 0
	for i, p := range first {
		if q := again[i]; q.Hash != p.Hash || !bytes.Equal(q.Data, p.Data) {
			t.Fatalf("piece %d is %v, and was %v", i, q.Hash, p.Hash)
		}
		if &p.Data[0] == &again[i].Data[0] {
			same++
		}
	}
	if same < len(first)/2 { // two may want one place, and then the older one is forgotten
		t.Errorf("%d of %d pieces were not made anew, want most", same, len(first))
	}
}

// So many pieces that they share places, in two hands at once.
func TestWhatIsRememberedIsNeverTakenForAnother(t *testing.T) {
	var wg sync.WaitGroup
	for hand := range 2 {
		wg.Go(func() {
			for i := range 12 {
				text := noise(uint64(i+hand*6), 100_000)
				s := shelf{}
				root, _ := s.put(text)
				if got, err := piece.Join(root, s.get); err != nil || !bytes.Equal(got, text) {
					t.Errorf("text %d of hand %d came back with %d of its %d bytes or with others, %v", i, hand, len(got), len(text), err)
				}
			}
		})
	}
	wg.Wait()
}
