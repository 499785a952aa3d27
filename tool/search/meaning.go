package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Embedder turns texts into vectors that are alike where the texts mean the same.
type Embedder interface {
	// Embed returns a vector for each text, in their order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Embeddings are what lets the meaning of passages have a say in their order. Nothing needs them.
type Embeddings struct {
	By Embedder // nil: nobody
	// Name is that of the model. Vectors are kept under it: those of one model mean nothing to another.
	Name string
	// Wait is the longest that an answer waits for vectors; 0: two seconds. What comes later, or not at all, is done without, and for
	// half a minute nobody is asked again.
	Wait time.Duration
	// Batch is how many texts are sent at a time; 0: 32.
	Batch int
}

const (
	compared      = 30     // passages whose meaning is looked at
	fusion        = 60     // how little first places count more than others, when two orders become one
	longestAsked  = 4000   // bytes of a question that are sent
	mostPending   = 4_000  // vectors that wait to be written
	mostVectors   = 20_000 // that are kept
	usualWait     = 2 * time.Second
	usualBatch    = 32
	restAfterward = 30 * time.Second // after a failure
)

// meaning compares questions with passages. It holds vectors that are not written yet.
type meaning struct {
	Embeddings
	log *slog.Logger // may be nil

	mu      sync.Mutex
	resting time.Time // nobody is asked before
	pending map[int64]vector
}

// vector is one of a passage, as it is kept. Its length in bytes is that of the vector, since what counts is its direction.
type vector struct {
	hash [sha256.Size]byte // of what it stands for
	data []int8
}

func newMeaning(e Embeddings, log *slog.Logger) *meaning {
	if e.By == nil {
		return nil
	}
	e.Wait, e.Batch = cmp.Or(e.Wait, usualWait), cmp.Or(e.Batch, usualBatch)
	return &meaning{Embeddings: e, log: log, pending: map[int64]vector{}}
}

// order puts the best passages into the order in which words and meaning together have them. Where there are no vectors it stays.
func (m *meaning) order(ctx context.Context, query string, results []result) []result {
	top := results[:min(len(results), compared)]
	if m == nil || len(top) < 2 || m.rests() {
		return results
	}
	waiting, cancel := context.WithTimeout(ctx, m.Wait)
	defer cancel()
	near, err := m.near(waiting, query, top)
	if err != nil {
		if ctx.Err() == nil { // nobody's fault if the caller has left
			m.rest(err)
		}
		return results
	}
	return append(fuse(top, near), results[len(top):]...)
}

func (m *meaning) rests() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.resting)
}

func (m *meaning) rest(cause error) {
	m.mu.Lock()
	first := !time.Now().Before(m.resting) // of those that failed at the same time
	m.resting = time.Now().Add(restAfterward)
	m.mu.Unlock()
	if errors.Is(cause, context.DeadlineExceeded) {
		cause = fmt.Errorf("no answer within %v", m.Wait)
	}
	if first && m.log != nil {
		m.log.Warn("the embedding model cannot be used; documents are put in order without it", "model", m.Name, "again_in", restAfterward, "err", cause)
	}
}

// near says how near each passage is to the question, from -1 to 1.
func (m *meaning) near(ctx context.Context, query string, top []result) ([]float64, error) {
	texts := make([]string, len(top))
	vectors := make([]vector, len(top))
	var missing []int
	m.mu.Lock()
	for i, r := range top {
		texts[i] = r.Heading() + "\n\n" + r.Text
		hash := m.hash(texts[i])
		if v, ok := m.pending[r.id]; ok && v.hash == hash {
			vectors[i] = v
		} else if r.vector.hash == hash {
			vectors[i] = r.vector
		} else {
			missing = append(missing, i)
		}
		vectors[i].hash = hash
	}
	m.mu.Unlock()
	if len(query) > longestAsked {
		query = strings.ToValidUTF8(query[:longestAsked], "")
	}
	asked, err := m.embed(ctx, query, missing, texts, vectors, top)
	if err != nil {
		return nil, err
	}
	// Vectors that were kept have another length if another model goes by the same name.
	var stale []int
	for i, v := range vectors {
		if len(v.data) != len(asked) {
			stale = append(stale, i)
		}
	}
	if len(stale) > 0 {
		if asked, err = m.embed(ctx, query, stale, texts, vectors, top); err != nil {
			return nil, err
		}
	}
	out := make([]float64, len(top))
	for i, v := range vectors {
		if len(v.data) != len(asked) {
			return nil, fmt.Errorf("vectors have different lengths: %d and %d", len(asked), len(v.data))
		}
		out[i] = cosine(asked, v.data)
	}
	return out, nil
}

func (m *meaning) hash(text string) [sha256.Size]byte {
	return sha256.Sum256([]byte(m.Name + "\x00" + text))
}

// embed asks for the vectors of the question and of some passages, which it fills in and keeps.
func (m *meaning) embed(ctx context.Context, query string, which []int, texts []string, vectors []vector, top []result) (asked []int8, err error) {
	all := []string{query}
	for _, i := range which {
		all = append(all, texts[i])
	}
	done := 0
	for part := range slices.Chunk(all, m.Batch) {
		got, err := m.By.Embed(ctx, part)
		if err != nil {
			return nil, err
		}
		if len(got) != len(part) {
			return nil, fmt.Errorf("%d texts got %d vectors", len(part), len(got))
		}
		for _, v := range got {
			small := smaller(v)
			if len(small) == 0 {
				return nil, errors.New("a vector is empty")
			}
			if done == 0 {
				asked = small
			} else {
				i := which[done-1]
				vectors[i].data = small
				m.keep(top[i].id, vectors[i])
			}
			done++
		}
	}
	return asked, nil
}

// keep holds a vector until it is written. Where too many wait, those that wait are let go: they can be had again.
func (m *meaning) keep(id int64, v vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) >= mostPending {
		clear(m.pending)
	}
	m.pending[id] = v
}

// smaller keeps the direction of a vector, in a byte for each number.
func smaller(v []float32) []int8 {
	most := 0.0
	for _, f := range v {
		most = max(most, math.Abs(float64(f)))
	}
	out := make([]int8, len(v))
	if most > 0 && !math.IsInf(most, 0) {
		for i, f := range v {
			out[i] = int8(math.Round(float64(f) / most * 127))
		}
	}
	return out
}

// cosine is how alike the directions of two vectors are; 0 if one has none.
func cosine(a, b []int8) float64 {
	var ab, aa, bb int64
	for i := range a {
		x, y := int64(a[i]), int64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return float64(ab) / math.Sqrt(float64(aa)*float64(bb))
}

// fuse makes one order of two: the one in which the results come, and that of how near they are. What both have far ahead comes first
// (reciprocal rank fusion). Where that leaves it open, the words decide.
func fuse(results []result, near []float64) []result {
	places := make([]int, len(results)) // by nearness
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(near[b], near[a]) })
	worth := make([]float64, len(results))
	for place, i := range places {
		worth[i] = 1/float64(fusion+i) + 1/float64(fusion+place)
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a, b)) })
	out := make([]result, 0, len(results))
	for _, i := range places {
		out = append(out, results[i])
	}
	return out
}

// vectorOf reads what was kept of a passage.
func vectorOf(hash, data []byte) (v vector) {
	if copy(v.hash[:], hash) == len(v.hash) {
		v.data = make([]int8, len(data))
		for i, b := range data {
			v.data[i] = int8(b)
		}
	}
	return v
}

// keepVectors writes the vectors that wait. The caller holds refreshing.
func (ix *Index) keepVectors(ctx context.Context) error {
	if ix.meaning == nil {
		return nil
	}
	m := ix.meaning
	m.mu.Lock()
	all := m.pending
	m.pending = map[int64]vector{}
	m.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	now := time.Now().UnixNano()
	for id, v := range all {
		data := make([]byte, len(v.data))
		for i, b := range v.data {
			data[i] = byte(b)
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO vectors (passage, kept, hash, data) SELECT id, ?, ?, ? FROM passages WHERE id = ?", now, v.hash[:], data, id); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE passage IN (SELECT passage FROM vectors ORDER BY kept DESC, passage LIMIT -1 OFFSET ?)", mostVectors); err != nil {
		return err
	}
	return tx.Commit()
}
