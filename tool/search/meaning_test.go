package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// topics is a model that knows which of three things a text is about, whatever the words.
type topics struct {
	mu    sync.Mutex
	asked [][]string
	fault error
	size  int // of its vectors
}

func (m *topics) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, slices.Clone(texts))
	var out [][]float32
	for _, text := range texts {
		v := make([]float32, max(m.size, 2))
		switch {
		case text == petFood || strings.Contains(text, "feline"):
			v[0] = 0.3
		case strings.Contains(text, "hound"):
			v[0] = -0.3
		default:
			v[1] = 0.7
		}
		out = append(out, v)
	}
	return out, m.fault
}

func (m *topics) calls() (n, texts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.asked {
		texts += len(a)
	}
	return len(m.asked), texts
}

// pets are documents of which the first by words is not the one that is meant.
func pets() fstest.MapFS {
	at := time.Now().Add(-time.Hour)
	return fstest.MapFS{
		"dog.md": {Data: []byte("# Keeping food\n\nFood food for pets: the food of a hound.\n"), ModTime: at},
		"cat.md": {Data: []byte("# Keeping\n\nFood of a feline, who is one of the pets, is fish for the most part and much else.\n"), ModTime: at},
		"ant.md": {Data: []byte("# Ants\n\nThere is food under ground, far below where anybody looks for anything at all.\n"), ModTime: at},
	}
}

const petFood = "food of pets" // and somebody has a cat in mind

func first(t *testing.T, ix *Index, query string) string {
	t.Helper()
	found, err := ix.Search(t.Context(), query, 3)
	if err != nil || len(found) != 3 {
		t.Fatalf("found %v, %v; want all three", found, err)
	}
	return found[0].Path
}

func TestMeaningHasASayInTheOrder(t *testing.T) {
	plain, err := Open(t.Context(), Options{Sources: []Source{{FS: pets()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if got := first(t, plain, petFood); got == "cat.md" {
		t.Fatalf("words alone have %s first: nothing is left to show", got)
	}
	m := &topics{}
	ix, err := Open(t.Context(), Options{Sources: []Source{{FS: pets()}}, Embeddings: Embeddings{By: m, Name: "topics", Batch: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if n, _ := m.calls(); n != 0 {
		t.Errorf("the model was asked %d times before anybody searched", n)
	}
	if got := first(t, ix, petFood); got != "cat.md" {
		t.Errorf("first is %s, want cat.md", got)
	}
	if n, texts := m.calls(); n != 2 || texts != 4 || m.asked[0][0] != petFood || !slices.ContainsFunc(slices.Concat(m.asked...), func(s string) bool { return strings.HasPrefix(s, "Keeping food\n\nFood food") }) {
		t.Errorf("asked %q; want the question and three passages with their headings, two at a time", m.asked)
	}
	if got := first(t, ix, petFood); got != "cat.md" {
		t.Errorf("the second time first is %s, want cat.md", got)
	}
	if n, texts := m.calls(); n != 3 || texts != 5 {
		t.Errorf("%d calls with %d texts; want one more, with the question alone", n, texts)
	}
	if found, err := ix.Search(t.Context(), "volcanoes in Iceland", 3); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v; what is nearest is no answer", found, err)
	}
	if n, _ := m.calls(); n != 3 {
		t.Error("the model was asked about a question that nothing answers")
	}
}

func TestVectorsAreKeptWithTheirPassagesAndGoWithThem(t *testing.T) {
	files, path := pets(), filepath.Join(t.TempDir(), "i.db")
	count := func(ix *Index) (n int) {
		t.Helper()
		if err := ix.db.QueryRow("SELECT count(*) FROM vectors").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	open := func(m *topics, name string) *Index {
		t.Helper()
		ix, err := Open(t.Context(), Options{Path: path, Sources: []Source{{FS: files}}, Embeddings: Embeddings{By: m, Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return ix
	}
	ix := open(&topics{}, "one")
	first(t, ix, petFood)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}

	m := &topics{}
	ix = open(m, "one")
	if n := count(ix); n != 3 {
		t.Errorf("%d vectors are kept, want 3", n)
	}
	if got := first(t, ix, petFood); got != "cat.md" {
		t.Errorf("with vectors that were kept first is %s, want cat.md", got)
	}
	if _, texts := m.calls(); texts != 1 {
		t.Errorf("%d texts were sent after a restart, want the question alone", texts)
	}
	delete(files, "ant.md")
	files["dog.md"] = &fstest.MapFile{Data: []byte("# Keeping food\n\nOther food for pets.\n"), ModTime: time.Now().Add(-time.Minute)}
	if _, err := ix.again(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(ix); n != 1 {
		t.Errorf("%d vectors are kept of what is there no more, want that of cat.md alone", n)
	}
	if found, err := ix.Search(t.Context(), petFood, 3); err != nil || len(found) != 2 {
		t.Fatalf("found %v, %v", found, err)
	}
	if _, texts := m.calls(); texts != 3 {
		t.Errorf("%d texts were sent; want the question and what has changed", texts-1)
	}
	if _, err := ix.again(t.Context()); err != nil || count(ix) != 2 {
		t.Errorf("%d vectors after the next look at the documents (%v), want 2", count(ix), err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		size int
	}{{"another", 2}, {"another", 5}} { // the second goes by the same name and is not the same
		name, m := c.name, &topics{size: c.size}
		ix = open(m, name)
		if found, err := ix.Search(t.Context(), petFood, 3); err != nil || len(found) != 2 {
			t.Errorf("%s: found %v, %v; want both", name, found, err)
		}
		if _, texts := m.calls(); texts < 3 {
			t.Errorf("%s: %d texts were sent; vectors of another model were used", name, texts)
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a model that does not work, in one way or another.
type failing func(ctx context.Context, texts []string) ([][]float32, error)

func (f failing) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}

func TestAModelThatFailsIsDoneWithoutAndLeftAloneForAWhile(t *testing.T) {
	results := make([]result, 5)
	for i := range results {
		results[i] = result{id: int64(i + 1), Passage: Passage{Title: fmt.Sprint(i), Text: fmt.Sprint("text ", i)}}
	}
	for name, f := range map[string]failing{
		"an error": func(context.Context, []string) ([][]float32, error) { return nil, errors.New("no such model") },
		"silence": func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"too few":   func(context.Context, []string) ([][]float32, error) { return [][]float32{{1}}, nil },
		"too many":  func(_ context.Context, t []string) ([][]float32, error) { return make([][]float32, len(t)+1), nil },
		"empty":     func(_ context.Context, t []string) ([][]float32, error) { return make([][]float32, len(t)), nil },
		"different": func(_ context.Context, t []string) ([][]float32, error) { return different(len(t)), nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			calls := 0
			m := newMeaning(Embeddings{Name: "broken", Wait: time.Second, By: failing(func(ctx context.Context, texts []string) ([][]float32, error) {
				calls++
				return f(ctx, texts)
			})}, slog.New(slog.NewTextHandler(&log, nil)))
			begun := time.Now()
			for range 10 {
				if got := m.order(t.Context(), "question", results); fmt.Sprint(got) != fmt.Sprint(results) {
					t.Errorf("%s: the order is %v, want that of the words", name, got)
				}
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("%s: ten answers took %v, want one wait at most", name, took)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "broken") {
				t.Errorf("%s: the log has %d lines, want one that names the model: %s", name, n, &log)
			}
			before := calls
			time.Sleep(restAfterward)
			m.order(t.Context(), "question", results)
			if calls <= before {
				t.Errorf("%s: the model was not tried again", name)
			}
		})
	}
}

func different(n int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, i+1)
	}
	return out
}

func TestWhoeverLeavesIsNotTheModelsFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMeaning(Embeddings{By: failing(func(ctx context.Context, _ []string) ([][]float32, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})}, nil)
	m.order(ctx, "question", make([]result, 2))
	if m.rests() {
		t.Error("the model is left alone because a caller has left")
	}
}

// Two orders become one that has the same results, agrees with both where they agree, and is the first order where all are equally near.
func TestFusing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, compared).Draw(t, "results")
		near := rapid.SliceOfN(rapid.Float64Range(-1, 1), n, n).Draw(t, "near")
		results := make([]result, n)
		for i := range results {
			results[i].id = int64(i)
		}
		place := map[int64]int{}
		for at, r := range fuse(results, near) {
			place[r.id] = at
		}
		if len(place) != n {
			t.Fatalf("%d of %d results are left", len(place), n)
		}
		for i := range n {
			for j := i + 1; j < n; j++ {
				if near[i] >= near[j] && place[int64(i)] > place[int64(j)] {
					t.Fatalf("%d is before %d by words and by meaning, and comes after it", i, j)
				}
			}
		}
	})
}

func TestSmallVectorsKeepTheirDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-1, 1), 64, 64).Draw(t, "vector")
		w := slices.Clone(v)
		for i := range w {
			w[i] *= 3
		}
		a, b := smaller(v), smaller(w)
		if c := cosine(a, b); slices.ContainsFunc(a, func(x int8) bool { return x != 0 }) && c < 0.999 {
			t.Fatalf("a vector and three times the same have a cosine of %v, want 1", c)
		}
		for i := range w {
			w[i] = -v[i]
		}
		if c := cosine(a, smaller(w)); c > 0 {
			t.Fatalf("a vector and its opposite have a cosine of %v, want -1", c)
		}
	})
}
