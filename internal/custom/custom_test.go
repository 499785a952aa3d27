package custom_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/custom"
)

func TestWhatIsKeptIsReadBack(t *testing.T) {
	s := custom.New(t.TempDir())
	texts := rapid.OneOf(rapid.SampledFrom([]string{"", " ", "yes", "null", "- a: b", "a\n---\nb", "a\r\nb\r", "#", "'\"", "\u2028", "\t x", "~", "1e3", "😀"}), rapid.StringN(0, 40, -1))
	names := rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(rapid.SampledFrom([]string{"web", "files:read", "no", "1"}), 0, 3))
	rapid.Check(t, func(rt *rapid.T) {
		a := custom.Agent{
			Name: "writer", Description: texts.Draw(rt, "description"), Model: rapid.SampledFrom([]string{"", "gpt-5", "true"}).Draw(rt, "model"),
			Effort: rapid.SampledFrom([]string{"", "low", "none"}).Draw(rt, "effort"), Groups: names.Draw(rt, "groups"), Skills: names.Draw(rt, "skills"), Soul: texts.Draw(rt, "soul"),
		}
		if rapid.Bool().Draw(rt, "thinks") {
			a.Thinking = new(bool)
			*a.Thinking = rapid.Bool().Draw(rt, "thinking")
		}
		if rapid.Bool().Draw(rt, "warm") {
			a.Settings = custom.Settings{Temperature: new(float64), MaxTokens: rapid.IntRange(0, 200_000).Draw(rt, "tokens")}
			*a.Settings.Temperature = rapid.Float64Range(0, 2).Draw(rt, "temperature")
		}
		if strings.ContainsRune(a.Description+a.Soul, 0) {
			rt.Skip()
		}
		if err := s.Delete("local", "writer"); err != nil && !errors.Is(err, custom.ErrNone) {
			rt.Fatal(err)
		}
		if _, err := s.Create("local", a); err != nil {
			rt.Fatal(err)
		}
		got, err := s.Get("local", "WRITER")
		a.Changed = got.Changed
		if err != nil || !reflect.DeepEqual(got, a) {
			rt.Fatalf("got %+v, %v\nwant %+v", got, err, a)
		}
	})
}

func TestNamesOfThePlatformAndOfNobodyAreRefused(t *testing.T) {
	s := custom.New(t.TempDir())
	for _, name := range []string{"", "user-x", "USER-x", "project-", "project-a", "a b", "a/b", "..", "a_b", "-a", "名前", "agent", "Bash", "general-purpose", "check", "a\x00", strings.Repeat("a", 65)} {
		var invalid *custom.InvalidError
		if _, err := s.Create("local", custom.Agent{Name: name}); !errors.As(err, &invalid) || invalid.Field != "name" {
			t.Errorf("%q: got %v, want that the name is refused", name, err)
		}
		if _, err := s.Get("local", name); !errors.Is(err, custom.ErrNone) {
			t.Errorf("%q: got %v, want that there is none", name, err)
		}
	}
	for _, name := range []string{"a", "user", "userx", "my-project-a", "X1-", strings.Repeat("a", 64)} {
		if a, err := s.Create("local", custom.Agent{Name: name}); err != nil || a.Name != strings.ToLower(name) {
			t.Errorf("%q: got %q, %v", name, a.Name, err)
		}
	}
}

func TestWhatIsNotValidIsNotKept(t *testing.T) {
	s := custom.New(t.TempDir())
	if _, err := s.Create("local", custom.Agent{Name: "a", Soul: "first"}); err != nil {
		t.Fatal(err)
	}
	number := func(f float64) *float64 { return &f }
	for field, change := range map[string]func(*custom.Agent){
		"description":                func(a *custom.Agent) { a.Description = strings.Repeat("x", 2001) },
		"soul":                       func(a *custom.Agent) { a.Soul = "\xff" },
		"model":                      func(a *custom.Agent) { a.Model = strings.Repeat("x", 200) },
		"reasoning_effort":           func(a *custom.Agent) { a.Effort = "much" },
		"model_settings.temperature": func(a *custom.Agent) { a.Settings.Temperature = number(math.NaN()) },
		"model_settings.max_tokens":  func(a *custom.Agent) { a.Settings.MaxTokens = -1 },
		"tool_groups":                func(a *custom.Agent) { a.Groups = []string{""} },
		"skills":                     func(a *custom.Agent) { a.Skills = make([]string, 101) },
	} {
		var invalid *custom.InvalidError
		_, err := s.Update("local", "a", func(a *custom.Agent) error { a.Soul = "second"; change(a); return nil })
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if a, err := s.Get("local", "a"); err != nil || a.Soul != "first" {
		t.Errorf("got %+v, %v; want the agent as it was", a, err)
	}
}

func TestAgentsAreTheirOwnersAlone(t *testing.T) {
	s := custom.New(t.TempDir())
	if _, err := s.Create("anna", custom.Agent{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("anna", custom.Agent{Name: "A"}); !errors.Is(err, custom.ErrExists) {
		t.Errorf("the second of a name: got %v", err)
	}
	if err := s.Delete("bert", "a"); !errors.Is(err, custom.ErrNone) {
		t.Errorf("somebody else deletes it: got %v", err)
	}
	if all, err := s.List("bert"); err != nil || len(all) != 0 {
		t.Errorf("somebody else sees %v, %v", all, err)
	}
	if err := s.Delete("anna", "a"); err != nil {
		t.Error(err)
	}
	if all, err := s.List("anna"); err != nil || len(all) != 0 {
		t.Errorf("after it was deleted there are %v, %v", all, err)
	}
}

func TestFilesWrittenByHandCountAndBrokenOnesAreNamed(t *testing.T) {
	data := t.TempDir()
	for path, text := range map[string]string{
		"expert/config.yaml": "name: expert\ndescription: Knows rivers.\nmodel: kimi\nthinking: true\nskills: []\ntool_groups: [web, 'files:read']\ngithub: {installation_id: 7}\n",
		"expert/SOUL.md":     "You know rivers.",
		"soul-only/SOUL.md":  "You are brief.",
		"broken/config.yaml": "description: [",
		"wrong/config.yaml":  "model_settings: {temperature: 9}",
		"user-x/SOUL.md":     "The platform's own.",
	} {
		path = filepath.Join(data, "agents", "local", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s := custom.New(data)
	all, err := s.List("local")
	if err != nil || len(all) != 4 {
		t.Fatalf("got %+v, %v; want 4", all, err)
	}
	for i, want := range []string{"broken", "expert", "soul-only", "wrong"} {
		if all[i].Name != want || (all[i].Problem != "") != (want == "broken" || want == "wrong") {
			t.Errorf("got %+v, want %s", all[i], want)
		}
	}
	e := all[1]
	if e.Soul != "You know rivers." || e.Model != "kimi" || e.Thinking == nil || !*e.Thinking || e.Skills == nil || len(e.Skills) != 0 || len(e.Groups) != 2 {
		t.Errorf("got %+v", e)
	}
	if err := os.WriteFile(filepath.Join(data, "agents", "local", "expert", "SOUL.md"), []byte("You know lakes."), 0o644); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List("local"); err != nil || all[1].Soul != "You know lakes." || all[1].Changed.IsZero() {
		t.Errorf("after a change by hand: %+v, %v", all, err)
	}
	if err := s.Delete("local", "broken"); err != nil {
		t.Errorf("a broken one cannot be deleted: %v", err)
	}
}

// Agents are listed before every run that may delegate. Those that have not changed are neither read nor parsed again, and their folder is not
// listed.
func TestListingAgainCostsLittle(t *testing.T) {
	const n = 50
	data := t.TempDir()
	s := custom.New(data)
	for i := range n {
		if _, err := s.Create("local", custom.Agent{Name: fmt.Sprint("agent-", i), Description: "Knows rivers.", Soul: "You know rivers.", Skills: []string{"report"}}); err != nil {
			t.Fatal(err)
		}
	}
	list := func() {
		if all, err := s.List("local"); err != nil || len(all) != n {
			t.Fatalf("%d agents, %v; want %d", len(all), err, n)
		}
	}
	list() // makes the file that readers lock
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(data, "agents", "local"), long, long); err != nil {
		t.Fatal(err)
	}
	if each := testing.AllocsPerRun(5, list) / n; each > 10 { // one that is read and parsed takes a hundred and more
		t.Errorf("listing allocates %.1f times for each agent that is known, want at most 10", each)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("description: x\nskills: []"), []byte("soul"))
	f.Add([]byte("a: &a [*a]"), []byte(""))
	f.Fuzz(func(t *testing.T, config, soul []byte) {
		data := t.TempDir()
		dir := filepath.Join(data, "agents", "local", "a")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.yaml"), config, 0o600), os.WriteFile(filepath.Join(dir, "SOUL.md"), soul, 0o600)); err != nil {
			t.Fatal(err)
		}
		s := custom.New(data)
		a, err := s.Get("local", "a")
		if err == nil && a.Check() != nil {
			t.Errorf("got an agent that is not valid: %v", a.Check())
		}
	})
}
