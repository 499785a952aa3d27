package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What people and agents keep in files is in the backup too, to the byte, and nothing of it leads out of the data folder.
func TestABackupHasAgentsSkillsAndTheFilesOfThreads(t *testing.T) {
	dir, do := inFolder(t)
	do(0, []string{"chat", "/report count to two"})
	do(0, []string{"agents", "create", "river", "--description", "Knows rivers."})
	large := strings.Repeat("0123456789", 250_000) // of three pieces
	odd := "x\xff.txt"
	files := map[string]string{
		"skills/custom/local/know/SKILL.md": "---\nname: know\ndescription: Knows.\n---\n", "skills/custom/local/know/large": large, "skills/custom/local/know/empty": "",
		"threads/local/somebody.x/outputs/" + odd: "odd", "threads/local/somebody.x/.versions/a/1.b": "old",
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret")
	link := filepath.Join(dir, "skills", "custom", "local", "know", "link")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(outside, link), os.Chmod(filepath.Join(dir, "skills/custom/local/know/large"), 0o700)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	do(0, []string{"backup", file}, "checked")
	if raw, err := os.ReadFile(file); err != nil || strings.Contains(string(raw), "secret") && strings.Contains(string(raw), outside) {
		t.Errorf("what a link leads to is in the backup, or %v", err)
	}

	fresh, again := inFolder(t)
	again(0, []string{"agents", "create", "lake"})
	again(0, []string{"restore", file}, "is in place", "what was there is in")
	again(0, []string{"agents", "list"}, "river")
	again(0, []string{"skills", "list"}, "know")
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(fresh, name)); err != nil || string(got) != want {
			t.Errorf("%q has %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
	if info, err := os.Stat(filepath.Join(fresh, "skills/custom/local/know/large")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a program is no program any more: %v, %v", info, err)
	}
	if _, err := os.Lstat(filepath.Join(fresh, "agents", "local", "lake")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an agent that was not in the backup is there: %v", err)
	}
	if aside, err := filepath.Glob(filepath.Join(fresh, "before-restore-*", "agents", "local", "lake")); err != nil || len(aside) != 1 {
		t.Errorf("what was there is at %v, %v", aside, err)
	}
	again(0, []string{"check"})
	again(0, []string{"chat", "count to two"})
	again(0, []string{"restore", file}, "is in place")

	small := filepath.Join(t.TempDir(), "small")
	do(0, []string{"backup", small, "--no-files"}, "files of threads are not in it")
	other, third := inFolder(t)
	third(0, []string{"restore", small})
	if _, err := os.Lstat(filepath.Join(other, "threads")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the files of threads are there: %v", err)
	}
	third(0, []string{"agents", "list"}, "river")
}
