package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder runs commands one after the other on one data folder.
func inFolder(t *testing.T) (dir string, do func(code int, args []string, want ...string)) {
	t.Helper()
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(key, "")
	}
	dir = t.TempDir()
	return dir, func(code int, args []string, want ...string) {
		t.Helper()
		var out bytes.Buffer
		got := command(context.Background(), append([]string{"--data", dir}, args...), strings.NewReader(""), &out, &out)
		if got != code {
			t.Errorf("%q: exit code %d, want %d:\n%s", args, got, code, &out)
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%q does not say %q:\n%s", args, part, &out)
			}
		}
	}
}

func TestACustomAgentIsAssembledAndDelegatedTo(t *testing.T) {
	dir, do := inFolder(t)
	soul := filepath.Join(t.TempDir(), "soul.md")
	if err := os.WriteFile(soul, []byte("You speak of rivers only."), 0o600); err != nil {
		t.Fatal(err)
	}
	do(0, []string{"agents", "list"}, "There are no custom agents")
	do(0, []string{"agents", "create", "River", "--description", "Knows rivers.", "--soul", soul, "--tools", "files:read", "--skills=", "--temperature", "0.5"}, "river can be used at once")
	do(1, []string{"agents", "create", "river"}, "already")
	do(1, []string{"agents", "create", "user-x"}, "user-", "platform")
	do(0, []string{"agents", "list"}, "river", "files:read", "none", "Knows rivers.")
	do(0, []string{"agents", "show", "river"}, "You speak of rivers only.", "off: agent river has only the groups files:read", "You are river, an agent of tributary. Knows rivers.", "model_settings")
	do(0, []string{"agents", "show", "agent", "--set", "subagent_enabled=true"}, "\nriver ")
	if err := os.WriteFile(filepath.Join(dir, "agents", "local", "river", "config.yaml"), []byte("description: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	do(0, []string{"agents", "list"}, "cannot be used")
	do(0, []string{"agents", "show", "agent", "--set", "subagent_enabled=true"}, "general-purpose")
	do(1, []string{"agents", "show", "river"}, "config.yaml")
	do(0, []string{"agents", "delete", "river"}, "river is deleted")
	do(1, []string{"agents", "delete", "river"}, "there is no agent")
	do(1, []string{"agents", "show", "river"}, `there is no agent "river"`)
}

func TestSkillsAreListedInstalledAndRemoved(t *testing.T) {
	_, do := inFolder(t)
	from := filepath.Join(t.TempDir(), "fetcher")
	if err := errors.Join(os.Mkdir(from, 0o700), os.WriteFile(filepath.Join(from, "SKILL.md"), []byte("---\nname: fetcher\ndescription: Fetches.\n---\nRun get.py."), 0o600),
		os.WriteFile(filepath.Join(from, "get.py"), []byte("import requests"), 0o600)); err != nil {
		t.Fatal(err)
	}
	do(0, []string{"skills", "list"}, "deep-research", "data-analysis", "report", "built in")
	do(0, []string{"skills", "install", from}, "fetcher is installed, 2 files", "script get.py (Python): uses the network")
	do(1, []string{"skills", "install", from}, "already")
	do(0, []string{"skills", "install", from, "--replace"})
	do(0, []string{"skills", "list"}, "fetcher", "custom")
	do(1, []string{"skills", "install", filepath.Join(from, "get.py")}, "neither a folder nor an archive")
	do(0, []string{"skills", "remove", "fetcher"}, "fetcher is removed")
	do(1, []string{"skills", "remove", "report"}, "there is no skill", "built in")
}

// A repository of skills is installed as a whole, as it is; what cannot be is named, and holds up nothing.
func TestARepositoryOfSkillsIsInstalledAsAWhole(t *testing.T) {
	dir, do := inFolder(t)
	repo := t.TempDir()
	for name, text := range map[string]string{
		"README.md":                           "Skills.",
		".claude-plugin/marketplace.json":     `{"name":"x"}`,
		"skills/one/SKILL.md":                 "---\nname: one\ndescription: Does one.\n---\nOne.",
		"skills/one/evals/inner/SKILL.md":     "---\nname: inner\ndescription: A part of one.\n---\n",
		"plugins/b/skills/Two Words/skill.md": "---\nname: Two Words\ndescription: Does two.\n---\nTwo.",
		"plugins/b/node_modules/x/SKILL.md":   "---\nname: three\ndescription: x\n---\n",
	} {
		at := filepath.Join(repo, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	do(0, []string{"skills", "check", repo}, "2 skills can be installed, 0 cannot")
	do(0, []string{"skills", "install", repo}, "one is installed, 2 files", "two-words is installed, 1 files")
	for name, want := range map[string]bool{"one": true, "two-words": true, "inner": false, "three": false} {
		if _, err := os.Stat(filepath.Join(dir, "skills", "custom", "local", name, "SKILL.md")); (err == nil) != want {
			t.Errorf("%s: installed %t, want %t", name, err == nil, want)
		}
	}
	do(1, []string{"skills", "install", repo}, "there is a skill one already", "2 of 2 skills")
	do(0, []string{"skills", "install", repo, "--replace"}, "one is installed")
	if err := os.WriteFile(filepath.Join(repo, "skills", "one", "SKILL.md"), []byte("# no head"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(1, []string{"skills", "install", repo, "--replace"}, "two-words is installed", "1 of 2 skills")
	do(1, []string{"skills", "install", t.TempDir()}, "there is no SKILL.md at its top")
}

// A person activates a skill by its name, in a run of the whole program; the files of the skill are in the thread's folder then.
func TestASkillIsUsedByARun(t *testing.T) {
	dir, do := inFolder(t)
	files := filepath.Join(dir, "skills", "public", "fetcher")
	if err := errors.Join(os.MkdirAll(files, 0o700), os.WriteFile(filepath.Join(files, "SKILL.md"), []byte("---\nname: fetcher\ndescription: Fetches.\n---\nRun get.py."), 0o600),
		os.WriteFile(filepath.Join(files, "get.py"), []byte("print(1)"), 0o600)); err != nil {
		t.Fatal(err)
	}
	do(0, []string{"chat", "/fetcher the level of the river"})
	var found []string
	err := filepath.WalkDir(filepath.Join(dir, "threads"), func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "get.py" {
			found = append(found, name)
		}
		return err
	})
	if err != nil || len(found) != 1 || !strings.HasSuffix(found[0], "/workspace/skills/fetcher/get.py") {
		t.Errorf("the files of the skill are at %q, %v", found, err)
	}
}
