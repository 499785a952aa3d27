package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever keeps a server from starting is told in one sentence that says what to do.
func TestEveryStartErrorSaysWhatToDo(t *testing.T) {
	write := func(path, text string, mode os.FileMode) error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode))
	}
	for name, c := range map[string]struct {
		make   func(dir string) error // what is in the way; dir is the data folder's
		args   []string
		config string
		want   []string
	}{
		"folder below a file":    {func(dir string) error { return write(filepath.Dir(dir), "", 0o600) }, nil, "", []string{"--data"}},
		"folder is a file":       {func(dir string) error { return write(dir, "", 0o600) }, nil, "", []string{"--data"}},
		"lock is a folder":       {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "lock"), 0o700) }, nil, "", []string{"lock", "--data"}},
		"database is a folder":   {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "tributary.db"), 0o700) }, nil, "", []string{"not a file", "move it away"}},
		"database is a bad link": {func(dir string) error { return link("/no/such/disk/tributary.db", dir) }, nil, "", []string{"/no/such/disk", "mount the disk"}},
		"database is read-only": {func(dir string) error {
			return errors.Join(createAt(t, dir), os.Chmod(filepath.Join(dir, "tributary.db"), 0o400))
		}, nil, "", []string{"readonly", "make the folder and its files"}},
		"database is not readable": {func(dir string) error {
			return errors.Join(createAt(t, dir), os.Chmod(filepath.Join(dir, "tributary.db"), 0))
		}, nil, "", []string{"permission denied", "make the folder and its files"}},
		"database is empty": {func(dir string) error { return write(filepath.Join(dir, "tributary.db"), "", 0o600) }, nil, "", []string{"empty", "tributary restore"}},
		"database is text": {func(dir string) error {
			return write(filepath.Join(dir, "tributary.db"), strings.Repeat("words ", 1000), 0o600)
		}, nil, "", []string{"not a database", "tributary restore"}},
		"log without a database": {func(dir string) error { return write(filepath.Join(dir, "tributary.db-wal"), "words", 0o600) }, nil, "", []string{"is missing", "put the file back"}},
		"index is a folder":      {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "search.db"), 0o700) }, nil, "", []string{"search.db", "move it"}},
		"index is a database": {func(dir string) error {
			return errors.Join(createAt(t, dir), os.Rename(filepath.Join(dir, "tributary.db"), filepath.Join(dir, "search.db")))
		}, nil, "", []string{"search.db", "move it"}},
		"address of another machine": {nil, []string{"--addr", "192.0.2.1:8123"}, "", []string{"192.0.2.1", "--addr"}},
		"port that is none":          {nil, []string{"--addr", "127.0.0.1:99999"}, "", []string{"99999", "--addr"}},
		"no such documents":          {nil, nil, "docs: [/no/such/folder]\n", []string{"/no/such/folder", "--docs"}},
		"no such configuration":      {nil, []string{"--config", "/no/such.yaml"}, "", []string{"/no/such.yaml", "--config"}},
		"configuration is a folder":  {nil, []string{"--config", os.TempDir()}, "", []string{"--config"}},
		"newer version": {func(dir string) error {
			return errors.Join(createAt(t, dir), poke(filepath.Join(dir, "tributary.db"), 63, 99))
		}, nil, "", []string{"version 99", "newer tributary"}},
	} {
		t.Run(name, func(t *testing.T) {
			top := foreign(t)
			dir := filepath.Join(top, "sub", "data")
			if c.make != nil {
				if err := os.MkdirAll(top, 0o700); err != nil {
					t.Fatal(err)
				}
				if name != "folder below a file" {
					if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.make(dir); err != nil {
					t.Fatal(err)
				}
			}
			args := append([]string{"--data", dir, "serve", "--addr", "127.0.0.1:0"}, c.args...)
			if c.config != "" {
				config := filepath.Join(top, "config.yaml")
				if err := write(config, c.config, 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--config", config)
			}
			err := filepath.WalkDir(top, func(path string, _ os.DirEntry, _ error) error { own(t, path); return nil })
			if err != nil {
				t.Fatal(err)
			}
			cmd := nobody(program(t, args...))
			cmd.Env = append(cmd.Env, "TRIBUTARY_API_KEY=a-key-that-is-long-enough-for-anybody")
			code, out, notes := ended(t, cmd)
			last := notes[strings.LastIndex(strings.TrimSuffix(notes, "\n"), "\n")+1:]
			for _, want := range c.want {
				if code != 1 || out != "" || !strings.HasPrefix(last, "tributary: ") || !strings.Contains(last, want) {
					t.Errorf("exit %d, %q, %s; want %q", code, out, notes, want)
				}
			}
		})
	}
}

func link(to, dir string) error {
	return errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(to, filepath.Join(dir, "tributary.db")))
}

// createAt makes a data folder that has been worked on.
func createAt(t *testing.T, dir string) error {
	t.Helper()
	if code, _, notes := invoke(t, "--data", dir, "chat", "hi"); code != 0 {
		return errors.New(notes)
	}
	return os.Remove(filepath.Join(dir, "search.db"))
}

// A full disk and one that is read-only are told as that; what can be read can be checked and backed up.
func TestDiskThatIsFullOrReadOnlyIsTold(t *testing.T) {
	mount := func(dir, options string, flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tributary-test", dir, "tmpfs", flags, options); err != nil {
			t.Skip("a disk cannot be mounted here:", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	full := t.TempDir()
	mount(full, "size=64k", 0)
	code, _, notes := invoke(t, "--data", full, "serve", "--addr", "127.0.0.1:0")
	if code != 1 || !strings.Contains(notes, "free some space") {
		t.Errorf("full: exit %d, %s", code, notes)
	}
	locked := t.TempDir()
	mount(locked, "size=16m", 0)
	if err := createAt(t, locked); err != nil {
		t.Fatal(err)
	}
	mount2 := syscall.Mount("", locked, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	if mount2 != nil {
		t.Skip("a disk cannot be made read-only here:", mount2)
	}
	if code, _, notes := invoke(t, "--data", locked, "serve", "--addr", "127.0.0.1:0"); code != 1 || !strings.Contains(notes, "read-only file system") || !strings.Contains(notes, "--data") {
		t.Errorf("read-only: exit %d, %s", code, notes)
	}
	if code, out, notes := invoke(t, "--data", locked, "check"); code != 0 {
		t.Errorf("check: exit %d, %s, %s", code, out, notes)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if code, out, notes := invoke(t, "--data", locked, "backup", file); code != 0 {
		t.Errorf("backup: exit %d, %s, %s", code, out, notes)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	if code, out, notes := invoke(t, "--data", fresh, "restore", file); code != 0 || !strings.Contains(out, "1 thread") {
		t.Errorf("restore: exit %d, %s, %s", code, out, notes)
	}
	if code, _, out := doctor(t, locked, ""); code != 1 || !strings.Contains(out, "read-only file system") || !strings.Contains(out, "is sound") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
}
