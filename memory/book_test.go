package memory_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/memory"
)

// shelf is a store in memory. It counts, and dies when it is told to.
type shelf struct {
	mu    sync.Mutex
	rows  map[string]json.RawMessage
	gets  int
	puts  int
	bytes int
	// dies is the number of the write at which the process dies, before it or, with after, when it is made; 0: never.
	dies  int
	after bool
}

var errDead = errors.New("the process died")

func newShelf() *shelf { return &shelf{rows: map[string]json.RawMessage{}} }

func key(owner string, ns []string, k string) string {
	return owner + "\x00" + strings.Join(ns, "\x1f") + "\x00" + k
}

// of is one owner's part of it.
func (s *shelf) of(owner string) memory.Store { return part{s, owner} }

type part struct {
	*shelf
	owner string
}

func (s part) Get(_ context.Context, ns []string, k string) (json.RawMessage, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	raw, ok := s.rows[key(s.owner, ns, k)]
	s.bytes += len(raw)
	return bytes.Clone(raw), ok, nil
}

// Stamp tells values apart as a store with a sum of each row does.
func (s part) Stamp(_ context.Context, ns []string, k string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, ok := s.rows[key(s.owner, ns, k)]
	sum := sha256.Sum256(raw)
	return string(sum[:]), ok, nil
}

func (s part) Put(_ context.Context, ns []string, k string, v json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	if s.puts == s.dies && !s.after {
		return errDead
	}
	s.rows[key(s.owner, ns, k)] = bytes.Clone(v)
	if s.puts == s.dies {
		return errDead
	}
	return nil
}

// text is all that is stored.
func (s *shelf) text() string {
	var b strings.Builder
	for k, v := range s.rows {
		b.WriteString(k + string(v))
	}
	return b.String()
}

// clock goes on by a second at each look.
func clock() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

type world struct {
	*testing.T
	store *shelf
	now   func() time.Time
	book  *memory.Book
	of    memory.Whose
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: newShelf(), now: clock(), of: memory.Whose{Owner: "anna"}}
	w.restart()
	return w
}

func (w *world) restart() {
	w.store.dies = 0
	w.book = memory.New(memory.Options{Store: w.store.of, Now: w.now})
}

func (w *world) doc() memory.Document {
	w.Helper()
	d, err := w.book.Document(w.Context(), w.of)
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) add(content, category string) memory.Fact {
	w.Helper()
	f, _, err := w.book.Add(w.Context(), w.of, memory.Fact{Content: content, Category: category, Confidence: 0.8})
	if err != nil {
		w.Fatal(err)
	}
	return f
}

func (w *world) reminder() memory.Reminder {
	w.Helper()
	r, err := w.book.Reminder(w.Context(), w.of)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// hears carries out what follows from a run in which the person said something, by rules.
func (w *world) hears(id, thread string, at time.Time, text string) error {
	run := memory.Run{ID: id, Thread: thread, At: at}
	due, d, err := w.book.Due(context.Background(), w.of, []memory.Run{run})
	if err != nil || len(due) == 0 {
		return err
	}
	_, err = w.book.Learn(context.Background(), w.of, due, memory.Rules(d, []memory.Said{{Run: run, Message: "m-" + id, Text: text}}))
	return err
}

func contents(d memory.Document) (out []string) {
	for _, f := range d.Facts {
		out = append(out, f.Content)
	}
	return out
}

func TestAFactIsRememberedChangedAndForgotten(t *testing.T) {
	w := newWorld(t)
	if err := w.hears("run1", "thread1", w.now(), "Hello! Please remember that I drink green tea. My name is Anna."); err != nil {
		t.Fatal(err)
	}
	d := w.doc()
	if got, want := contents(d), []string{"I drink green tea", "The person's name is Anna."}; !slices.Equal(got, want) {
		t.Fatalf("remembered %q, want %q", got, want)
	}
	tea := d.Facts[0]
	if tea.Source != "thread1" || tea.Run != "run1" || tea.Message != "m-run1" || tea.Scope != "user" || tea.Status != memory.Active {
		t.Errorf("it comes from %+v", tea)
	}
	if r := w.reminder(); !strings.Contains(r.Text, "green tea") || !strings.Contains(r.Text, "Anna") {
		t.Errorf("the reminder is %q", r.Text)
	}
	before := w.reminder().Erased
	text := "I drink black tea"
	w.must(w.book.Edit(t.Context(), w.of, tea.ID, memory.Change{Content: &text}))
	r := w.reminder()
	if strings.Contains(r.Text, "green") || !strings.Contains(r.Text, "black tea") || r.Erased == before {
		t.Errorf("after the change the reminder is %+v, and was erased %d times before", r, before)
	}
	if err := w.hears("run2", "thread2", w.now(), "Actually, my name is Bertha."); err != nil {
		t.Fatal(err)
	}
	d = w.doc()
	if f := d.Facts[1]; f.Content != "The person's name is Bertha." || f.Category != memory.Correction || f.Run != "run2" || f.Revision != 2 {
		t.Errorf("the correction is %+v", f)
	}
	w.must(w.book.Delete(t.Context(), w.of, tea.ID))
	if found, err := w.book.Search(t.Context(), w.of, "tea", 10); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if strings.Contains(w.reminder().Text, "tea") || strings.Contains(w.store.text(), "tea") {
		t.Errorf("the tea is still there: %s", w.store.text())
	}
	if _, err := w.book.Delete(t.Context(), w.of, tea.ID); !errors.Is(err, memory.ErrNoFact) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestWhatWasDeletedDoesNotComeBackFromOldRuns(t *testing.T) {
	w := newWorld(t)
	old := w.now()
	const said = "Remember that I live at Main Street 5."
	if err := w.hears("run1", "thread1", old, said); err != nil {
		t.Fatal(err)
	}
	w.must(w.book.Describe(t.Context(), w.of, map[string]string{"personalContext": "Lives in Main Street with a dog.", "workContext": "Builds boats."}))
	waiting := w.now() // these were asked before the deletion, and are carried out after it
	w.must(w.book.Delete(t.Context(), w.of, w.doc().Facts[0].ID))
	if d := w.doc(); d.User.PersonalContext.Summary != "" || d.User.WorkContext.Summary != "Builds boats." {
		t.Errorf("the summaries are %+v", d.User)
	}
	for i, thread := range []string{"thread1", "thread2"} {
		if err := w.hears(fmt.Sprint("late", i), thread, waiting, said); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.hears("other words", "thread1", waiting, "Remember that my home is in Main Street."); err != nil {
		t.Fatal(err)
	}
	if err := w.hears("run1", "thread1", old, said); err != nil { // once more
		t.Fatal(err)
	}
	if got := contents(w.doc()); len(got) != 0 {
		t.Errorf("came back: %q", got)
	}
	if strings.Contains(w.store.text(), "Main Street") {
		t.Errorf("the text is still stored: %s", w.store.text())
	}
	if err := w.hears("new", "thread1", w.now(), said); err != nil {
		t.Fatal(err)
	}
	if got := contents(w.doc()); len(got) != 1 {
		t.Errorf("what the person said again afterwards gives %q, want one", got)
	}
}

func TestALessonThatWasDrawnBeforeADeletionLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.add("Has a cat", "context")
	run := memory.Run{ID: "r", Thread: "t", At: w.now()}
	due, d, err := w.book.Due(t.Context(), w.of, []memory.Run{run})
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	// While the model thinks, the person deletes one fact and changes another.
	dog := w.add("Has a dog", "context")
	w.must(w.book.Delete(t.Context(), w.of, d.Facts[0].ID))
	said := []memory.Said{{Run: run, Message: "m", Text: "My cat and I"}}
	lesson := memory.Extraction{
		Facts: []memory.ExtractedFact{
			{Content: "has a cat.", Category: "context", Confidence: 0.9, Message: 1},
			{Content: "Has a parrot", Category: "context", Confidence: 0.9, Message: 1, Replaces: dog.ID},
			{Content: "Has a horse", Category: "context", Confidence: 0.9, Message: 7},
			{Content: "Has a fish", Category: "context", Confidence: 0.3, Message: 1},
			{Content: "Has a hen", Category: "context", Confidence: 0.9, Message: 1},
		},
		PersonalContext: "Loves the cat.",
	}.Lesson(d, said)
	w.must(w.book.Learn(t.Context(), w.of, due, lesson))
	if got, want := contents(w.doc()), []string{"Has a dog", "Has a hen"}; !slices.Equal(got, want) {
		t.Errorf("remembered %q, want %q", got, want)
	}
	if s := w.doc().User.PersonalContext.Summary; s != "" {
		t.Errorf("a summary that may hold what was deleted is kept: %q", s)
	}
}

// Whenever the process dies, carrying out again what was not finished gives what would have been without the death.
func TestACrashAtAnyWriteLosesAndDoublesNothing(t *testing.T) {
	talk := []string{"Remember that I sail.", "My name is Anna.", "Remember that I sail.", "No, my name is Berta. I live in Oslo.", "I prefer rye bread."}
	tell := func(w *world, at []time.Time) {
		for i, text := range talk {
			for w.hears(fmt.Sprint("run", i), "t", at[i], text) != nil {
				w.restart() // the follow-up is still there
			}
			// The process died before it could note that it was done.
			if err := w.hears(fmt.Sprint("run", i), "t", at[i], text); err != nil {
				w.Fatal(err)
			}
		}
	}
	var at []time.Time
	now := clock()
	for range talk {
		at = append(at, now())
	}
	want := []string{"I sail", "The person's name is Berta.", "The person lives in Oslo.", "The person prefers rye bread."}
	for n := 1; n <= len(talk); n++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			w.store.dies, w.store.after = n, after
			tell(w, at)
			if got := contents(w.doc()); !slices.Equal(got, want) {
				t.Errorf("died at write %d (after it: %v): remembered %q, want %q", n, after, got, want)
			}
		}
	}
}

func TestTwoPeopleAndTwoAgentsNeverSeeEachOthers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := newShelf()
		book := memory.New(memory.Options{Store: store.of, Now: clock()})
		everybody := []memory.Whose{{Owner: "anna"}, {Owner: "bert"}, {Owner: "anna", Agent: "writer"}, {Owner: "bert", Agent: "writer"}}
		mark := func(w memory.Whose) string { return "secret of " + w.Owner + "/" + w.Agent + ";" }
		ctx := context.Background()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			w := rapid.SampledFrom(everybody).Draw(rt, "whose")
			id := "none"
			if d, err := book.Document(ctx, rapid.SampledFrom(everybody).Draw(rt, "victim")); err == nil && len(d.Facts) > 0 {
				id = d.Facts[0].ID // of anybody's
			}
			text := mark(w) + rapid.StringMatching(`[a-z]{1,5}`).Draw(rt, "text")
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0, 1:
				_, _, _ = book.Add(ctx, w, memory.Fact{Content: text, Confidence: 1})
			case 2:
				_, _ = book.Edit(ctx, w, id, memory.Change{Content: &text})
			case 3:
				_, _ = book.Delete(ctx, w, id)
			case 4:
				_, _ = book.Describe(ctx, w, map[string]string{"topOfMind": text})
			case 5:
				_, _ = book.Clear(ctx, w)
			case 6:
				run := memory.Run{ID: text, Thread: "t", At: time.Now()}
				_, _ = book.Learn(ctx, w, []memory.Run{run}, memory.Lesson{Facts: []memory.Learned{{Fact: memory.Fact{Content: text, Confidence: 1, Run: text}}}})
			}
		}
		for _, w := range everybody {
			d, err := book.Document(ctx, w)
			if err != nil {
				rt.Fatal(err)
			}
			r, err := book.Reminder(ctx, w)
			if err != nil {
				rt.Fatal(err)
			}
			raw, _ := json.Marshal(d)
			for _, other := range everybody {
				if other != w && strings.Contains(string(raw)+r.Text, mark(other)) {
					rt.Fatalf("%+v sees %+v's: %s %s", w, other, raw, r.Text)
				}
			}
		}
	})
}

func TestAReminderKeepsItsBudgetAndHasTheCorrections(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		budget := rapid.IntRange(40, 400).Draw(rt, "budget")
		now := clock()
		book := memory.New(memory.Options{Store: newShelf().of, Now: now, Budget: budget, Corrections: budget / 4})
		ctx, of := context.Background(), memory.Whose{Owner: "anna"}
		text := rapid.OneOf(rapid.StringMatching(`[a-zA-Z ]{1,120}x`), rapid.StringMatching(`[一-龥]{1,60}`))
		_, _ = book.Describe(ctx, of, map[string]string{"topOfMind": text.Draw(rt, "summary")})
		for i := range rapid.IntRange(0, 40).Draw(rt, "facts") {
			category := rapid.SampledFrom([]string{"context", "preference", memory.Correction}).Draw(rt, "category")
			_, _, err := book.Add(ctx, of, memory.Fact{Content: fmt.Sprint(i, " ", text.Draw(rt, "fact")), Category: category, Confidence: rapid.Float64Range(0, 1).Draw(rt, "sure")})
			if err != nil {
				rt.Fatal(err)
			}
		}
		r, err := book.Reminder(ctx, of)
		if err != nil {
			rt.Fatal(err)
		}
		if n := memory.Tokens(r.Text); n > budget {
			rt.Fatalf("%d tokens, want at most %d", n, budget)
		}
		d, err := book.Document(ctx, of)
		if err != nil {
			rt.Fatal(err)
		}
		room := budget / 4
		for _, f := range slices.Backward(d.Facts) { // the newest first
			if f.Category != memory.Correction {
				continue
			}
			line := "- " + f.Content + " (the person set this right)"
			if room -= memory.Tokens(line + "\n"); room < 0 {
				break
			}
			if !strings.Contains(r.Text, line) {
				rt.Fatalf("the correction %q is not in %q", f.Content, r.Text)
			}
		}
	})
}

func TestMemoryCanBeSwitchedOff(t *testing.T) {
	w := newWorld(t)
	w.add("Likes tea", "preference")
	for _, s := range []struct {
		name string
		turn func(bool) error
	}{
		{"the agent's", func(on bool) error { return w.book.Switch(t.Context(), w.of, on) }},
		{"the person's", func(on bool) error { return w.book.SwitchAll(t.Context(), w.of.Owner, on) }},
	} {
		before := w.reminder()
		if err := s.turn(false); err != nil {
			t.Fatal(err)
		}
		during := w.now()
		if err := w.hears("off "+s.name, "t", during, "Remember that I sail."); err != nil {
			t.Fatal(err)
		}
		if r := w.reminder(); r.Text != "" || r.Erased == before.Erased {
			t.Errorf("%s switch is off, and the reminder is %+v", s.name, r)
		}
		if got := contents(w.doc()); !slices.Equal(got, []string{"Likes tea"}) {
			t.Errorf("%s switch is off, and there is %q", s.name, got)
		}
		if err := s.turn(true); err != nil {
			t.Fatal(err)
		}
		if err := w.hears("late "+s.name, "t", during, "Remember that I sail."); err != nil {
			t.Fatal(err)
		}
		if got := contents(w.doc()); !slices.Equal(got, []string{"Likes tea"}) {
			t.Errorf("%s switch was off when it was said, and there is %q", s.name, got)
		}
		if r := w.reminder(); !strings.Contains(r.Text, "tea") {
			t.Errorf("%s switch is on again, and the reminder is %q", s.name, r.Text)
		}
	}
}

func TestAnExportCanBeImportedAndWhatIsNoExportChangesNothing(t *testing.T) {
	w := newWorld(t)
	if err := w.hears("run1", "thread1", w.now(), "Remember that I sail. My name is Anna."); err != nil {
		t.Fatal(err)
	}
	want := w.doc()
	w.must(w.book.Clear(t.Context(), w.of))
	if got := w.doc(); len(got.Facts) != 0 || w.reminder().Text != "" {
		t.Errorf("cleared, and there is %+v", got)
	}
	got, err := w.book.Import(t.Context(), w.of, want)
	if err != nil || !slices.EqualFunc(got.Facts, want.Facts, func(a, b memory.Fact) bool {
		return a.ID == b.ID && a.Content == b.Content && a.Source == b.Source && a.Message == b.Message && a.CreatedAt.Equal(b.CreatedAt)
	}) {
		t.Errorf("imported %+v, %v, want %+v", got.Facts, err, want.Facts)
	}
	bad := want
	bad.Facts = append(slices.Clone(want.Facts), memory.Fact{Content: "x", Confidence: 2})
	var invalid *memory.InvalidError
	if _, err := w.book.Import(t.Context(), w.of, bad); !errors.As(err, &invalid) || invalid.Field != "facts[2].confidence" {
		t.Errorf("a bad import: %v", err)
	}
	if got := contents(w.doc()); len(got) != 2 {
		t.Errorf("a refused import left %q", got)
	}
}

func TestADocumentHasRoomAndTheLeastCertainGiveWay(t *testing.T) {
	book := memory.New(memory.Options{Store: newShelf().of, Now: clock(), MaxFacts: 3})
	of := memory.Whose{Owner: "anna"}
	for i, f := range []memory.Fact{
		{Content: "sure", Confidence: 0.9}, {Content: "a guess", Confidence: 0.2}, {Content: "set right", Category: memory.Correction}, {Content: "more", Confidence: 0.5}, {Content: "most", Confidence: 1},
	} {
		if _, _, err := book.Add(t.Context(), of, f); err != nil {
			t.Fatal(i, err)
		}
	}
	d, err := book.Document(t.Context(), of)
	if got, want := contents(d), []string{"sure", "set right", "most"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("kept %q, %v, want %q", got, err, want)
	}
}

// What is deleted stays deleted also when more was deleted since than a document remembers one by one.
func TestTombsThatGiveWayLeaveAFloor(t *testing.T) {
	w := newWorld(t)
	asked := w.now()
	first := w.add("I sail", "context")
	w.must(w.book.Delete(t.Context(), w.of, first.ID))
	for i := range 600 {
		w.must(w.book.Delete(t.Context(), w.of, w.add(fmt.Sprint("number ", i), "context").ID))
	}
	if err := w.hears("old", "elsewhere", asked, "Remember that I sail."); err != nil {
		t.Fatal(err)
	}
	if got := contents(w.doc()); len(got) != 0 {
		t.Errorf("came back: %q", got)
	}
	if n := len(w.store.text()); n > 100_000 {
		t.Errorf("an empty document takes %d bytes", n)
	}
}

// A run's start reads the switch alone, and makes as much garbage, whatever is remembered: the document is read when it has changed.
func TestRemindingCostsTheSameWithAThousandFacts(t *testing.T) {
	cost := func(facts int) (gets, bytes int, allocs float64) {
		w := newWorld(t)
		d := memory.Document{}
		for i := range facts {
			d.Facts = append(d.Facts, memory.Fact{Content: fmt.Sprintf("fact number %d, about something that a person might say of themselves", i), Confidence: 0.8})
		}
		w.must(w.book.Import(t.Context(), w.of, d))
		w.reminder()
		w.store.gets, w.store.bytes = 0, 0
		w.reminder()
		gets, bytes = w.store.gets, w.store.bytes
		return gets, bytes, testing.AllocsPerRun(20, func() { w.reminder() })
	}
	fewGets, fewBytes, few := cost(100) // as many as a reminder has room for
	manyGets, manyBytes, many := cost(1000)
	if manyGets != 1 || fewGets != 1 || manyBytes != fewBytes {
		t.Errorf("%d and %d values of %d and %d bytes are read, want the switch alone", fewGets, manyGets, fewBytes, manyBytes)
	}
	if many > few+2 {
		t.Errorf("%v allocations with 1000 facts, %v with 100", many, few)
	}
}

// bare is a store that cannot tell states of a value apart without reading it.
type bare struct{ memory.Store }

// What a book remembers of a document is never what the document no longer says, whoever changed it: this book, another one, or somebody who deleted
// the item. A store without stamps is read every time.
func TestAReminderIsOfTheDocumentAsItIs(t *testing.T) {
	for _, stamps := range []bool{true, false} {
		store, ctx, whose := newShelf(), t.Context(), memory.Whose{Owner: "anna"}
		open := func() *memory.Book {
			return memory.New(memory.Options{Now: clock(), Store: func(owner string) memory.Store {
				if !stamps {
					return bare{store.of(owner)}
				}
				return store.of(owner)
			}})
		}
		one, two := open(), open()
		says := func(want string) {
			t.Helper()
			for range 2 { // the second comes from what is remembered
				for _, b := range []*memory.Book{one, two} {
					if r, err := b.Reminder(ctx, whose); err != nil || r.Text != want {
						t.Errorf("reminded of %q, %v; want %q (stamps: %v)", r.Text, err, want, stamps)
					}
				}
			}
		}
		says("")
		fact, _, err := one.Add(ctx, whose, memory.Fact{Content: "Likes tea.", Confidence: 1})
		if err != nil {
			t.Fatal(err)
		}
		says("- Likes tea.")
		if _, err := two.Delete(ctx, whose, fact.ID); err != nil {
			t.Fatal(err)
		}
		says("")
		if _, _, err := two.Add(ctx, whose, memory.Fact{Content: "Likes coffee.", Confidence: 1}); err != nil {
			t.Fatal(err)
		}
		says("- Likes coffee.")
		clear(store.rows)
		says("")
	}
}

func FuzzStatements(f *testing.F) {
	for _, s := range []string{"My name is Anna.", "remember that", "记住：我喜欢茶。", "no, no, call me \x00", strings.Repeat("remember ", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run := memory.Run{ID: "r", Thread: "t"}
		l := memory.Rules(memory.Document{}, []memory.Said{{Run: run, Message: "m", Text: text}})
		if len(l.Facts) > 64 {
			t.Errorf("%d facts in one message", len(l.Facts))
		}
		raw, _ := json.Marshal(text)
		if len(l.Facts) > 0 && len(raw) < 16<<10 && !memory.MayTell(raw) {
			t.Errorf("%q tells %+v, and that is not noticed", text, l.Facts)
		}
		book := memory.New(memory.Options{Store: newShelf().of, Now: clock()})
		if _, err := book.Learn(t.Context(), memory.Whose{Owner: "o"}, []memory.Run{run}, l); err != nil {
			t.Error(err)
		}
	})
}
