package story

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
)

var update = flag.Bool("update", false, "write testdata/runs anew from what the stories tell now")

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // nodes panic on purpose here
	goleak.VerifyTestMain(m)
}

// The file pins the engine: whoever tells the story again writes the same journal and the same states.
func TestStoriesAreToldAsTheyWere(t *testing.T) {
	for _, s := range All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			rec := Tell(t, s)
			want, err := write(s.Tells+"\n", rec)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := save(s.Name, want); err != nil {
					t.Fatal(err)
				}
				return
			}
			file, err := txtar.ParseFile(path(s.Name))
			if err != nil {
				t.Fatalf("%v; write it with -update", err)
			}
			compare(t, "prose", file.Comment, want.Comment)
			for _, name := range []string{"events", "states", "bases"} {
				compare(t, name, section(want, name), section(file, name))
			}
		})
	}
}

// Every section of a dialect is what that dialect makes of the events and states in the same file.
func TestSectionsAreProjectionsOfTheirEvents(t *testing.T) {
	each(t, func(t *testing.T, name string, rec *Recording) {
		file, err := txtar.ParseFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := projected(rec)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range want {
			compare(t, f.Name, f.Data, section(file, f.Name))
		}
		for _, f := range file.Files {
			if !slices.Contains([]string{"events", "states", "bases"}, f.Name) && section(&txtar.Archive{Files: want}, f.Name) == nil {
				t.Errorf("nothing makes the section %q", f.Name)
			}
		}
	})
}

// compare reports the first line that differs.
func compare(t *testing.T, name string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			a, b := line(g, i), line(w, i)
			from := 0
			for from < min(len(a), len(b)) && a[from] == b[from] {
				from++
			}
			t.Errorf("%s, line %d, from column %d on:\n got %s\nfile %s", name, i+1, from+1, stretch(a, from), stretch(b, from))
			return
		}
	}
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return "(the end)"
	}
	return lines[i]
}

// stretch is what stands around a place of a long line.
func stretch(s string, at int) string { return s[max(0, at-60):min(len(s), at+120)] }

// each runs a test on every file.
func each(t *testing.T, test func(t *testing.T, name string, rec *Recording)) {
	if *update {
		t.Skip("the files are being written")
	}
	names, err := Names()
	if err != nil || len(names) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			rec, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			test(t, name, rec)
		})
	}
}

func TestEveryFileHasAStory(t *testing.T) {
	var want []string
	for _, s := range All {
		want = append(want, s.Name)
	}
	slices.Sort(want)
	if got, err := Names(); err != nil || !slices.Equal(got, want) {
		t.Errorf("files %v (%v)\nstories %v", got, err, want)
	}
}

func TestDecodedEventsEncodeToThemselves(t *testing.T) {
	each(t, func(t *testing.T, name string, rec *Recording) {
		file, err := txtar.ParseFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		events, err := eventLines(rec)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "events", events, section(file, "events"))
		states, err := lines(rec.States)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "states", states, section(file, "states"))
	})
}

// Laws 1, 3, 4, 5 and 9, which can be read off a journal.
func TestJournalsAreLawful(t *testing.T) {
	each(t, func(t *testing.T, name string, rec *Recording) {
		var faults []transcript.Law
		for _, s := range All {
			if s.Name == name {
				faults = s.Faults
			}
		}
		mended := slices.Clone(faults)
		for _, r := range rec.Runs {
			err := transcript.Check(slices.Values(r.Events))
			if err != nil && len(broken(err)) == 0 {
				t.Errorf("%s: %v", r.ID, err)
			}
			for _, e := range broken(err) {
				if !slices.Contains(faults, e.Law) {
					t.Errorf("%s: %v", r.ID, e)
				}
				mended = slices.DeleteFunc(mended, func(l transcript.Law) bool { return l == e.Law })
			}
		}
		if len(mended) > 0 {
			t.Errorf("the story no longer breaks %v; take it out of its Faults", mended)
		}
	})
}

// broken takes apart what Check returns.
func broken(err error) []*transcript.LawError {
	var one *transcript.LawError
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*transcript.LawError
		for _, e := range many.Unwrap() {
			out = append(out, broken(e)...)
		}
		return out
	}
	if errors.As(err, &one) {
		return []*transcript.LawError{one}
	}
	return nil
}

func TestEveryKindOfEventOccurs(t *testing.T) {
	seen := map[string]bool{}
	unknown := false
	each(t, func(_ *testing.T, _ string, rec *Recording) {
		for _, r := range rec.Runs {
			for _, env := range r.Events {
				seen[env.Event.Kind()] = true
				_, strange := env.Event.(event.Unknown)
				unknown = unknown || strange
			}
		}
	})
	for _, kind := range event.Kinds() {
		if !seen[kind] {
			t.Errorf("no story has a %s", kind)
		}
	}
	if !unknown {
		t.Error("no story has an event that this version does not know")
	}
}

// Law 7, for every dialect, every mode or channel and every pair of them: a stream that is cut after any frame and resumed with its
// id is, put together, the uncut stream.
func TestCutAnywhere(t *testing.T) {
	dialects := Dialects()
	for i, a := range Modes {
		dialects = append(dialects, LangGraph(a+" without subgraphs", false, a))
		for _, b := range Modes[i+1:] {
			dialects = append(dialects, LangGraph(a+" and "+b, true, a, b))
		}
	}
	dialects = append(dialects, LangGraph("all modes", true, Modes...))
	for i, a := range Channels {
		dialects = append(dialects, Protocol2("channel "+a, a))
		for _, b := range Channels[i+1:] {
			dialects = append(dialects, Protocol2("channels "+a+" and "+b, a, b))
		}
	}
	each(t, func(t *testing.T, _ string, rec *Recording) {
		for _, d := range dialects {
			for _, r := range d.Streams(rec) {
				cutEverywhere(t, rec, r, d)
			}
		}
	})
}

// Law 7 for every combination of LangGraph's modes there is, each over a few of the stories, and cut in one place.
func TestCutInEveryCombinationOfModes(t *testing.T) {
	each(t, func(t *testing.T, name string, rec *Recording) {
		t.Parallel()
		rnd := rand.New(rand.NewPCG(uint64(len(name)), uint64(len(rec.States))))
		every := 4
		if testing.Short() {
			every = 16
		}
		for m := 1 + rnd.IntN(every); m < 1<<len(Modes); m += every {
			var modes []string
			for i, mode := range Modes {
				if m&(1<<i) != 0 {
					modes = append(modes, mode)
				}
			}
			d := LangGraph(strings.Join(modes, ","), m%2 == 0, modes...)
			r := rec.Runs[rnd.IntN(len(rec.Runs))]
			frames, err := d.Project(rec, r)
			if err != nil {
				t.Fatalf("%s: %v", d.Name, err)
			}
			uncut := ids(slices.Concat(frames...))
			cutAfter(t, d, r, frames, uncut, rnd.IntN(len(uncut)))
		}
	})
}

func cutEverywhere(t *testing.T, rec *Recording, r Run, d Dialect) {
	t.Helper()
	first, err := d.Project(rec, r)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	again, err := d.Project(rec, r) // by another projector, as on another connection
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	if !reflect.DeepEqual(first, again) {
		t.Fatalf("%s of %s: the same events give other frames", d.Name, r.ID)
	}
	uncut := ids(slices.Concat(first...))
	if unique := slices.Compact(slices.Sorted(slices.Values(uncut))); len(unique) != len(uncut) {
		t.Fatalf("%s of %s: two frames have the same id", d.Name, r.ID)
	}
	for k := range uncut {
		cutAfter(t, d, r, again, uncut, k)
	}
}

// cutAfter checks that what a reader gets who has seen the frames up to k is the rest.
func cutAfter(t *testing.T, d Dialect, r Run, all [][]wire.Frame, uncut []string, k int) {
	t.Helper()
	last := uncut[k]
	drop, err := d.After(last)
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	next := k + 1 // frames are equal where their ids are, as no two have the same
	for _, frames := range all {
		for _, f := range drop(frames) {
			if next == len(uncut) || f.ID != uncut[next] {
				t.Fatalf("%s of %s: cut after %s, the %d. of %d frames, it goes on with %s", d.Name, r.ID, last, k+1, len(uncut), f.ID)
			}
			next++
		}
	}
	if next != len(uncut) {
		t.Fatalf("%s of %s: cut after %s, the %d. of %d frames, it ends with %s", d.Name, r.ID, last, k+1, len(uncut), uncut[next-1])
	}
}

func ids(frames []wire.Frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = f.ID
	}
	return out
}

// Law 2, as far as a file can show it: what was on the wire before a crash is still there afterwards. The frames of the
// events up to any point are a beginning of the frames of the whole run.
func TestFramesAreNeverTakenBack(t *testing.T) {
	each(t, func(t *testing.T, _ string, rec *Recording) {
		for _, d := range Dialects() {
			for _, r := range d.Streams(rec) {
				whole, err := d.Project(rec, r)
				if err != nil {
					t.Fatal(err)
				}
				half := Run{r.ID, r.Events[:len(r.Events)/2]}
				frames, err := d.Project(rec, half)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(frames, whole[:len(frames)]) {
					t.Errorf("%s of %s: the first half alone gives other frames", d.Name, r.ID)
				}
			}
		}
	})
}
