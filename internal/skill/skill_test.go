package skill_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/skill"
)

// lay writes files below a folder.
func lay(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func find(t testing.TB, s *skill.Skills, owner, name string) (skill.Skill, bool) {
	t.Helper()
	all, err := s.List(owner)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(k skill.Skill) bool { return k.Name == name })
	if at < 0 {
		return skill.Skill{}, false
	}
	return all[at], true
}

func text(t testing.TB, s *skill.Skills, owner, name string) (out string, err error) {
	t.Helper()
	err = s.Open(owner, name, func(folder fs.FS) error {
		out, err = skill.Text(folder)
		return err
	})
	return out, err
}

func TestTheBuiltInSkillsCanBeUsed(t *testing.T) {
	s := skill.New(t.TempDir())
	for _, name := range []string{"bootstrap", "data-analysis", "deep-research", "document-review", "report"} {
		k, ok := find(t, s, "local", name)
		if !ok || k.Problem != "" || k.Origin != skill.Builtin || len(k.Description) < 40 {
			t.Errorf("%s: got %+v", name, k)
		}
		if body, err := text(t, s, "local", name); err != nil || len(body) < 500 || strings.Contains(body, "license:") {
			t.Errorf("%s: its text is %q, %v", name, body, err)
		}
	}
	if err := s.Remove("local", "report"); !errors.Is(err, skill.ErrNone) {
		t.Errorf("a built-in one is removed: got %v", err)
	}
}

func TestHeadsOfTheFormatAreRead(t *testing.T) {
	data := t.TempDir()
	for name, c := range map[string]struct {
		text string
		want skill.Skill
	}{
		"plain":       {"---\nname: plain\ndescription: Does it.\n---\nText.", skill.Skill{Description: "Does it."}},
		"lists":       {"---\ndescription: x\nlicense: MIT\nallowed-tools: [Read, \"Bash(git:*)\"]\nrequired-secrets:\n  - A_KEY\n  - {name: B_KEY, description: y}\n---\n", skill.Skill{Description: "x", License: "MIT", Tools: []string{"Read", "Bash(git:*)"}, Secrets: []string{"A_KEY", "B_KEY"}}},
		"texts":       {"---\ndescription: x\nallowed-tools: Read, Write Grep\nmetadata: {author: me}\nversion: 1.0\n---\n", skill.Skill{Description: "x", Tools: []string{"Read", "Write", "Grep"}}},
		"folded":      {"---\ndescription: >-\n  Two\n  lines.\nallowed-tools:\n---\n", skill.Skill{Description: "Two lines."}},
		"none":        {"---\ndescription: x\nallowed-tools: []\n---\n", skill.Skill{Description: "x", Tools: []string{}}},
		"blank":       {"---\ndescription: x\nallowed-tools: \"\"\n---\n", skill.Skill{Description: "x"}},
		"windows":     {"\ufeff---\r\ndescription: x\r\n---\r\nText.\r\n", skill.Skill{Description: "x"}},
		"chinese":     {"---\nname: 写作\ndescription: 写报告。\n---\n", skill.Skill{Description: "写报告。"}},
		"end-of-file": {"---\ndescription: x\n---", skill.Skill{Description: "x"}},
	} {
		lay(t, filepath.Join(data, "skills", "public"), map[string]string{name + "/SKILL.md": c.text})
		c.want.Name, c.want.Origin = name, skill.Public
		got, _ := find(t, skill.New(data), "local", name)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got  %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestAnOwnersSkillComesFirstAndIsHisAlone(t *testing.T) {
	data := t.TempDir()
	s := skill.New(data)
	lay(t, data, map[string]string{
		"skills/public/report/SKILL.md":      "---\ndescription: Everybody's.\n---\npublic",
		"skills/custom/anna/report/SKILL.md": "---\ndescription: Anna's.\n---\nanna",
		"skills/custom/anna/own/SKILL.md":    "---\ndescription: Hers.\n---\nown",
	})
	for owner, want := range map[string][2]string{"anna": {"Anna's.", "anna"}, "bert": {"Everybody's.", "public"}, "public": {"Everybody's.", "public"}} {
		k, _ := find(t, s, owner, "report")
		body, err := text(t, s, owner, "report")
		if k.Description != want[0] || body != want[1] || err != nil {
			t.Errorf("%s: got %+v, %q, %v; want %q", owner, k, body, err, want)
		}
	}
	if _, ok := find(t, s, "bert", "own"); ok {
		t.Error("another owner sees it")
	}
	if _, err := text(t, s, "bert", "own"); !errors.Is(err, skill.ErrNone) {
		t.Errorf("another owner loads it: %v", err)
	}
	lay(t, data, map[string]string{"skills/custom/anna/own/SKILL.md": "---\ndescription: Changed by hand.\n---\nown"})
	if k, _ := find(t, s, "anna", "own"); k.Description != "Changed by hand." {
		t.Errorf("after a change by hand: got %+v", k)
	}
}

func TestAFolderThatIsNoSkillIsListedWithItsProblem(t *testing.T) {
	data := t.TempDir()
	lay(t, filepath.Join(data, "skills", "custom", "local"), map[string]string{
		"empty/README.md": "x", "headless/SKILL.md": "# Hi", "broken/SKILL.md": "---\ndescription: [\n---\n", "nameless/SKILL.md": "---\nname: x\n---\n",
		"large/SKILL.md": "---\ndescription: x\n---\n" + strings.Repeat("x", 300_000),
	})
	lay(t, data, map[string]string{"secret": "---\ndescription: x\n---\nsecret"})
	if err := errors.Join(os.Mkdir(filepath.Join(data, "skills/custom/local/linked"), 0o700), os.Symlink("../../../../secret", filepath.Join(data, "skills/custom/local/linked/SKILL.md"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "headless", "broken", "nameless", "large", "linked"} {
		if k, ok := find(t, skill.New(data), "local", name); !ok || k.Problem == "" {
			t.Errorf("%s: got %+v", name, k)
		}
	}
	if got, err := text(t, skill.New(data), "local", "linked"); err == nil {
		t.Errorf("a link was followed: %q", got)
	}
}

func TestASkillIsInstalledFromAFolderAndFromArchives(t *testing.T) {
	files := map[string]string{
		"SKILL.md": "---\nname: fetcher\ndescription: Fetches.\nrequired-secrets: [KEY]\n---\nRun scripts/get.py.", "scripts/get.py": "import requests, os\nrequests.get(os.environ['KEY'])\n",
		"scripts/clean": "#!/usr/bin/env bash\nrm -rf build\n", "reference/a.md": "Just text about curl.", ".git/config": "x",
	}
	folder := filepath.Join(t.TempDir(), "whatever")
	lay(t, folder, files)
	delete(files, ".git/config")
	var flat, nested []member
	for name, body := range files {
		flat, nested = append(flat, file(name, body)), append(nested, file("fetcher-main/"+name, body))
	}
	nested = append(nested, file("__MACOSX/._x", "junk"), member{name: "fetcher-main/", mode: fs.ModeDir | 0o755})
	dir := t.TempDir()
	lay(t, dir, map[string]string{"flat.skill": string(archive(t, flat...)), "nested.zip": string(archive(t, nested...))})
	for _, from := range []string{folder, filepath.Join(dir, "flat.skill"), filepath.Join(dir, "nested.zip")} {
		s := skill.New(t.TempDir())
		r, err := s.Install("local", from, false)
		if err != nil || r.Skill.Name != "fetcher" || r.Files != 4 || !slices.Equal(r.Skill.Secrets, []string{"KEY"}) {
			t.Errorf("%s: got %+v, %v", from, r, err)
			continue
		}
		slices.SortFunc(r.Scripts, func(a, b skill.Script) int { return strings.Compare(a.Name, b.Name) })
		want := []skill.Script{{"scripts/clean", "bash", []string{"deletes files"}}, {"scripts/get.py", "Python", []string{"uses the network", "looks at secrets or the environment"}}}
		if !reflect.DeepEqual(r.Scripts, want) {
			t.Errorf("%s: its scripts are %+v, want %+v", from, r.Scripts, want)
		}
		var refused *skill.RefusedError
		if _, err := s.Install("local", from, false); !errors.As(err, &refused) || !strings.Contains(err.Error(), "already") {
			t.Errorf("%s a second time: got %v", from, err)
		}
		if _, err := s.Install("local", from, true); err != nil {
			t.Errorf("%s in place of itself: got %v", from, err)
		}
		if err := s.Remove("local", "fetcher"); err != nil {
			t.Error(err)
		}
		if _, ok := find(t, s, "local", "fetcher"); ok {
			t.Error("it is listed after it was removed")
		}
		if _, err := s.Install(skill.Everybody, from, false); err != nil {
			t.Error(err)
		}
		if k, _ := find(t, s, "anybody", "fetcher"); k.Origin != skill.Public {
			t.Errorf("installed for everybody: got %+v", k)
		}
		if err := s.Remove(skill.Everybody, "fetcher"); err != nil {
			t.Error(err)
		}
	}
	link := filepath.Join(t.TempDir(), "linked")
	lay(t, link, map[string]string{"SKILL.md": head})
	if err := os.Symlink("/etc/passwd", filepath.Join(link, "x")); err != nil {
		t.Fatal(err)
	}
	var refused *skill.RefusedError
	if _, err := skill.New(t.TempDir()).Install("local", link, false); !errors.As(err, &refused) {
		t.Errorf("a folder with a link: got %v", err)
	}
}

// Authors write titles, other letters and other endings; one that was installed is called and looked for in one way all the same.
func TestASkillIsInstalledHoweverItsAuthorSpellsItsName(t *testing.T) {
	for _, c := range []struct{ folder, file, name, want string }{
		{"x", "SKILL.md", "docker-hub", "docker-hub"},
		{"x", "SKILL.md", "Docker Hub", "docker-hub"},
		{"x", "SKILL.md", "docker_hub-automation", "docker-hub-automation"},
		{"x", "SKILL.md", "Customer.io Automation", "customer-io-automation"},
		{"x", "SKILL.md", "-21risk", "21risk"},
		{"x", "SKILL.md", "two--dashes", "two--dashes"},
		{"writing", "SKILL.md", "写作", "writing"},
		{"My_Writing", "SKILL.md", "写作 two", "my-writing"},
		{"Some Folder", "SKILL.md", "", "some-folder"},
		{"x", "skill.md", "small", "small"},
		{"x", "SKILLS.md", "many", "many"},
	} {
		from := filepath.Join(t.TempDir(), c.folder)
		lay(t, from, map[string]string{c.file: "---\nname: " + c.name + "\ndescription: Does it.\n---\nText.", "more.md": "x"})
		s := skill.New(t.TempDir())
		r, err := s.Install("local", from, false)
		if err != nil || r.Skill.Name != c.want || r.Files != 2 {
			t.Errorf("%+v: got %+v, %v", c, r, err)
			continue
		}
		if k, ok := find(t, s, "local", c.want); !ok || k.Problem != "" {
			t.Errorf("%+v: it is listed as %+v", c, k)
		}
		if got, err := text(t, s, "local", c.want); got != "Text." || err != nil {
			t.Errorf("%+v: its text is %q, %v", c, got, err)
		}
		if _, err := s.Change("local", c.want, func(files map[string][]byte) error { files["new.md"] = []byte("y"); return nil }); err != nil {
			t.Errorf("%+v: it cannot be changed: %v", c, err)
		}
	}
}

func TestTheFilesOfASkillAreUnfoldedWithinTheFolder(t *testing.T) {
	data, thread := t.TempDir(), t.TempDir()
	lay(t, filepath.Join(data, "skills", "public", "x"), map[string]string{"SKILL.md": head, "scripts/a.py": "new", "b.md": "b"})
	lay(t, thread, map[string]string{"workspace/skills/x/b.md": "changed by the agent"})
	root, err := os.OpenRoot(thread)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	s := skill.New(data)
	unfold := func(room skill.Room) (n int, err error) {
		err = s.Open("local", "x", func(folder fs.FS) error {
			n, err = skill.Unfold(folder, root, "workspace/skills/x", false, room)
			return err
		})
		return n, err
	}
	full := errors.New("full")
	if _, err := unfold(func(*os.Root, int64, int) error { return full }); !errors.Is(err, full) {
		t.Errorf("where there is no room: got %v", err)
	}
	if n, err := unfold(nil); n != 2 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for name, want := range map[string]string{"workspace/skills/x/SKILL.md": head, "workspace/skills/x/scripts/a.py": "new", "workspace/skills/x/b.md": "changed by the agent"} {
		if got, err := root.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	// A folder that the agent replaced by a link leads nowhere.
	out := t.TempDir()
	if err := errors.Join(os.RemoveAll(filepath.Join(thread, "workspace/skills")), os.Symlink(out, filepath.Join(thread, "workspace/skills"))); err != nil {
		t.Fatal(err)
	}
	if _, err := unfold(nil); err == nil {
		t.Error("it was written through a link")
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("something was written outside: %v, %v", left, err)
	}
}

func BenchmarkList(b *testing.B) {
	data := b.TempDir()
	for i := range 200 {
		lay(b, filepath.Join(data, "skills", "public"), map[string]string{fmt.Sprintf("s%d/SKILL.md", i): head})
	}
	s := skill.New(data)
	for b.Loop() {
		if _, err := s.List("local"); err != nil {
			b.Fatal(err)
		}
	}
}

// Skills are listed before every run. Those that have not changed are neither read nor parsed again, and their folder is not listed.
func TestListingAgainCostsLittle(t *testing.T) {
	const n = 100
	data := t.TempDir()
	for i := range n {
		lay(t, data, map[string]string{fmt.Sprintf("skills/custom/anna/skill-%d/SKILL.md", i): "---\ndescription: Does it.\nallowed-tools: [a, b]\n---\nDo it."})
	}
	s := skill.New(data)
	list := func() {
		if all, err := s.List("anna"); err != nil || len(all) < n {
			t.Fatalf("%d skills, %v; want %d", len(all), err, n)
		}
	}
	list() // makes the file that readers lock
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(data, "skills", "custom", "anna"), long, long); err != nil {
		t.Fatal(err)
	}
	if each := testing.AllocsPerRun(5, list) / n; each > 8 { // one that is read and parsed takes a hundred
		t.Errorf("listing allocates %.1f times for each skill that is known, want at most 8", each)
	}
}
