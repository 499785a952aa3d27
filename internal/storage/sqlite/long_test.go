package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('a' + r.IntN(26))
	}
	return out
}

// Lines of any lengths come back as they were, whatever is shortened of them.
func TestLengtheningUndoesShortening(t *testing.T) {
	db := openPlain(t)
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		for i, n := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 100, longText - 1, longText, longText + 1, 50_000}), 0, 4).Draw(t, "lengths") {
			data = append(append(data, noise(uint64(i%2), n)...), '\n') // some of them the same
		}
		if rapid.Bool().Draw(t, "cut off") {
			data = bytes.TrimSuffix(data, []byte{'\n'})
		}
		var stored []byte
		err := db.write(context.Background(), false, func(ctx context.Context, tx *tx) (err error) {
			stored, err = shortenLines(ctx, tx, 1, data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := lengthenLines(context.Background(), &db.reads, 1, stored)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes became %d, %v", len(data), len(got), err)
		}
		if most := 4 * longText; len(stored) > most {
			t.Fatalf("%d bytes are stored in the row, want at most %d", len(stored), most)
		}
		if size := wholeSize(stored); size < len(data) || size > len(data)+4*64 {
			t.Fatalf("%d bytes are said to be %d", len(data), size)
		}
	})
}

// The same text costs little the second time, wherever it stands.
func TestATextIsKeptOnce(t *testing.T) {
	db := openPlain(t)
	text := string(noise(1, 100_000))
	kept := func() (n int64) {
		n, err := db.count(t.Context(), "SELECT coalesce(sum(length(data)), 0) FROM pieces")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	huge := noise(2, longestText+1)
	err := db.write(t.Context(), false, func(ctx context.Context, tx *tx) error {
		stored, err := tx.shorten(ctx, 1, huge)
		if !bytes.Equal(stored, huge) {
			t.Errorf("a text of %d bytes, which would take long to cut, is stored as %d", len(huge), len(stored))
		}
		return err
	})
	if err != nil || kept() > 0 {
		t.Errorf("%d bytes are in pieces, %v", kept(), err)
	}
	for i, whole := range []string{`{"a":"` + text + `"}`, `[[{"other":"` + text + `"}]]`, text} {
		before := kept()
		err := db.write(t.Context(), false, func(ctx context.Context, tx *tx) error {
			_, err := tx.shorten(ctx, 1, []byte(whole))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if more := kept() - before; i > 0 && more > 12_000 {
			t.Errorf("the text cost %d bytes once more", more)
		}
	}
}

func TestReferencesAreNotTakenForTexts(t *testing.T) {
	for _, text := range []string{"", "@", "@x 1", `{"a":1}`, "@" + strings.Repeat("0", 32), "@" + strings.Repeat("0", 32) + " -1", "@" + strings.Repeat("z", 32) + " 1"} {
		if r, ok := referenceIn([]byte(text)); ok {
			t.Errorf("%q was read as %v", text, r)
		}
	}
	for _, escaped := range []bool{false, true} {
		want := reference{size: 12345, escaped: escaped}
		want.root[3] = 9
		if got, ok := referenceIn([]byte(want.String())); !ok || got != want {
			t.Errorf("%v was read as %v, %v", want, got, ok)
		}
	}
}

// Two spellings of brackets are one text in pieces, and each comes back as it was.
func FuzzEscapesComeBack(f *testing.F) {
	for _, text := range []string{`"<b>"`, `"\u003cb\u003e \u0026"`, `"\\u003c"`, `"\\\u003c"`, `"\u003c<"`, `"\u003C"`, `"\u2028\u003c"`, "\"\u2028\\u003c\"", `"\u003`, `\`, `"\u00e4 \u003c"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, changed := withoutEscapes([]byte(text))
		if back := plain; changed {
			if back = withEscapes(plain); string(back) != text {
				t.Fatalf("%q became %q and then %q", text, plain, back)
			}
		} else if string(plain) != text {
			t.Fatalf("%q became %q, and nobody says so", text, plain)
		}
	})
}

func TestBothSpellingsOfBracketsAreOneText(t *testing.T) {
	raw := `{"text":"<b>\\u003c & \"quoted\" \n ä</b>"}`
	escaped := string(withEscapes([]byte(raw)))
	plain, changed := withoutEscapes([]byte(escaped))
	if !changed || string(plain) != raw {
		t.Errorf("%s became %s", escaped, plain)
	}
	if plain, changed := withoutEscapes([]byte(raw)); changed || string(plain) != raw {
		t.Errorf("%s became %s", raw, plain)
	}
}

// A piece that is missing or damaged is told by all who need it, and nothing else is served in the place of the text.
func TestDamageOfALongTextIsTold(t *testing.T) {
	for what, harm := range map[string]string{
		"a piece is missing":   "DELETE FROM pieces WHERE instr(data, CAST(?1 AS BLOB))",
		"a piece is damaged":   "UPDATE pieces SET data = data || x'00' WHERE instr(data, CAST(?1 AS BLOB))",
		"a piece has no bytes": "UPDATE pieces SET data = x'' WHERE instr(data, CAST(?1 AS BLOB))",
		"a piece is a list":    "UPDATE pieces SET data = x'01' WHERE instr(data, CAST(?1 AS BLOB))",
		"all are missing":      "DELETE FROM pieces WHERE ?1 <> ''",
	} {
		damageLong(t, what+", kept in one transaction", harm, 100_000, (*DB).untouched)
		damageLong(t, what+", kept ahead", harm, 100_000, (*DB).Prepare)
		if what == "a piece is damaged" { // one of them is enough: it takes a while
			damageLong(t, what+", of megabytes", harm, 2<<20, (*DB).Prepare)
		}
	}
}

func (db *DB) untouched(_ context.Context, g journal.Group) journal.Group { return g }

func damageLong(t *testing.T, what, harm string, size int, prepare func(*DB, context.Context, journal.Group) journal.Group) {
	t.Helper()
	c := newCollection(t)
	text := string(noise(1, size))
	r, err := c.CreateRun(t.Context(), c.who, newRunOn(c.thread))
	c.ok(t, err)
	opening, _, err := journal.Opening(r.Run.ID, c.thread, event.Envelope{Event: event.TextDelta{Item: "m", Text: text}})
	c.ok(t, err)
	save := graph.Commit{
		Checkpoint: graph.Checkpoint{ID: uuid.Must(uuid.NewV7()).String(), Parent: c.latest, Thread: c.thread, Source: event.FromLoop, At: now(), Versions: map[string]int64{"messages": 3}},
		Blobs:      []graph.Blob{{Field: "messages", Version: 3, Data: json.RawMessage(`["` + text + `"]`)}},
	}
	refused, err := c.Append(t.Context(), []journal.Group{prepare(c.DB, t.Context(), journal.Group{Owner: "w", Chunk: opening, Saves: []journal.Save{save}})}, true)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if found, err := c.Check(t.Context()); err != nil || len(found) > 0 {
		t.Fatalf("before: %v, %v", found, err)
	}
	c.exec(t, harm, text[50_000:50_020])
	if _, err := c.Load(t.Context(), c.thread, "", ""); !isDamage(err) {
		t.Errorf("%s: Load says %v", what, err)
	}
	if _, err := c.CopyThread(t.Context(), c.who, c.thread, "copy"); !isDamage(err) {
		t.Errorf("%s: CopyThread says %v", what, err)
	}
	chunks, err := c.Read(t.Context(), r.Run.ID, 0, 1<<20)
	if err != nil || len(chunks) != 1 || chunks[0].Intact() {
		t.Errorf("%s: Read gives %d chunks as if they were whole, %v", what, len(chunks), err)
	}
	found, err := c.Check(t.Context())
	all := strings.Join(found, "\n")
	if err != nil || !strings.Contains(all, "run "+r.Run.ID) || !strings.Contains(all, "thread "+c.thread) {
		t.Errorf("%s: the check finds %v, %v", what, found, err)
	}
}

func newRunOn(thread string) run.NewRun {
	return run.NewRun{ID: "run-2", Thread: thread, Request: run.Request{Assistant: "a", Graph: "g"}, At: now(), Worker: "w", Lease: time.Hour}
}
