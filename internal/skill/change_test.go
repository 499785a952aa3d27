package skill_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/skill"
)

func skillText(name, description string) []byte {
	return []byte("---\nname: " + name + "\ndescription: " + description + "\n---\nDo it.\n")
}

// write makes the file SKILL.md of a skill say something.
func rewrite(t *testing.T, s *skill.Skills, owner, name, description string) {
	t.Helper()
	if _, err := s.Change(owner, name, func(files map[string][]byte) error {
		files[skill.File] = skillText(name, description)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestOfEachSkillTheLatestTenVersionsAreKept(t *testing.T) {
	s := skill.New(t.TempDir())
	for i := range 14 {
		rewrite(t, s, "anna", "a", fmt.Sprint("number ", i))
	}
	rewrite(t, s, "anna", "a-b", "another, whose name begins alike")
	all, err := s.History("anna", "a")
	if err != nil || len(all) != 10 || all[0].Description != "number 3" || all[9].Description != "number 12" || all[9].Number != 13 || all[0].At.IsZero() {
		t.Fatalf("got %+v, %v", all, err)
	}
	if _, err := s.Rollback("anna", "a", all[4].Number); err != nil {
		t.Fatal(err)
	}
	if k, err := s.Get("anna", "a"); err != nil || k.Description != "number 7" {
		t.Errorf("after going back: %+v, %v", k, err)
	}
	if all, err := s.History("anna", "a"); err != nil || all[9].Description != "number 13" || all[9].Number != 14 {
		t.Errorf("what it was until then is not kept: %+v, %v", all, err)
	}
	for name, err := range map[string]error{
		"somebody else's": func() error { _, err := s.Rollback("bert", "a", 12); return err }(), "a version that is gone": func() error { _, err := s.Rollback("anna", "a", 1); return err }(),
		"somebody else's history": func() error { _, err := s.History("bert", "a"); return err }(), "one that is built in": func() error { _, err := s.History("anna", "report"); return err }(),
	} {
		if !errors.Is(err, skill.ErrNone) {
			t.Errorf("%s: got %v, want that there is none", name, err)
		}
	}
	if err := s.Remove("anna", "a"); err != nil {
		t.Fatal(err)
	}
	rewrite(t, s, "anna", "a", "new")
	if all, err := s.History("anna", "a"); err != nil || len(all) != 0 {
		t.Errorf("what was removed is there again: %+v, %v", all, err)
	}
	if all, err := s.History("anna", "a-b"); err != nil || len(all) != 0 {
		t.Errorf("another has the history %+v, %v", all, err)
	}
}

func TestAChangeObeysTheRulesOfAnInstallation(t *testing.T) {
	s := skill.New(t.TempDir())
	rewrite(t, s, "anna", "a", "first")
	bad := errors.New("bad")
	for name, change := range map[string]func(map[string][]byte) error{
		"leads out":    func(f map[string][]byte) error { f["../x"] = []byte("y"); return nil },
		"absolute":     func(f map[string][]byte) error { f["/etc/x"] = []byte("y"); return nil },
		"too large":    func(f map[string][]byte) error { f["x"] = make([]byte, 11<<20); return nil },
		"another name": func(f map[string][]byte) error { f[skill.File] = skillText("b", "x"); return nil },
		"no head":      func(f map[string][]byte) error { f[skill.File] = []byte("x"); return nil },
		"nothing":      func(f map[string][]byte) error { clear(f); return nil },
		"its own":      func(map[string][]byte) error { return bad },
	} {
		var refused *skill.RefusedError
		if _, err := s.Change("anna", "a", change); !errors.As(err, &refused) && !errors.Is(err, bad) {
			t.Errorf("%s: got %v, want that it is refused", name, err)
		}
	}
	if k, err := s.Get("anna", "a"); err != nil || k.Description != "first" {
		t.Errorf("got %+v, %v; want the skill as it was", k, err)
	}
	for _, name := range []string{"", "..", "A", "custom", "install", strings.Repeat("a", 65)} {
		var refused *skill.RefusedError
		if _, err := s.Change("anna", name, func(f map[string][]byte) error { f[skill.File] = []byte("---\ndescription: x\n---\n"); return nil }); !errors.As(err, &refused) {
			t.Errorf("a skill called %q: got %v", name, err)
		}
	}
}

func TestASkillThatIsOffIsListedAndOffForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	s := skill.New(dir)
	off := func(s *skill.Skills, owner string) (names []string) {
		t.Helper()
		all, err := s.List(owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range all {
			if k.Off {
				names = append(names, k.Name)
			}
		}
		return names
	}
	for _, name := range []string{"report", "bootstrap", "report"} {
		if k, err := s.Switch("anna", name, false); err != nil || !k.Off {
			t.Fatalf("%s: %+v, %v", name, k, err)
		}
	}
	if got := off(skill.New(dir), "anna"); fmt.Sprint(got) != "[bootstrap report]" {
		t.Errorf("off are %v", got)
	}
	if got := off(s, "bert"); got != nil {
		t.Errorf("for somebody else %v are off", got)
	}
	if k, err := s.Switch("anna", "report", true); err != nil || k.Off {
		t.Errorf("on again: %+v, %v", k, err)
	}
	if got := off(s, "anna"); fmt.Sprint(got) != "[bootstrap]" {
		t.Errorf("off are %v", got)
	}
	if _, err := s.Switch("anna", "none", false); !errors.Is(err, skill.ErrNone) {
		t.Errorf("one that is not there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "skills", "custom", "anna", ".off"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List("anna"); err == nil || !strings.Contains(err.Error(), "JSON") {
		t.Errorf("a list that nobody can read: %v", err)
	}
}
