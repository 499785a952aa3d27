package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Receivers of webhooks are told the secret once; a restart must not change it, and other users must not read it.
func TestWebhookSecretIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	first, err := webhookSecret(dir, slog.Default())
	if err != nil || len(first) < leastSecret {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := webhookSecret(dir, slog.Default()); err != nil || !bytes.Equal(again, first) {
		t.Errorf("%q after %q, %v", again, first, err)
	}
	file, err := os.Stat(filepath.Join(dir, secretFile))
	if err != nil || file.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", file.Mode(), err)
	}
	if other, err := webhookSecret(t.TempDir(), slog.Default()); err != nil || bytes.Equal(other, first) {
		t.Errorf("another folder has the same: %q, %v", other, err)
	}
}

// What a power failure may leave of the file must not keep a server from starting.
func TestSecretThatHoldsNothingIsMadeAnew(t *testing.T) {
	for name, left := range map[string]string{"empty": "", "a line": "\n", "zeros": strings.Repeat("\x00", 27)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, secretFile)
			if err := os.WriteFile(path, []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			s := serveOn(t, dir)
			if code := s.stop(); code != 0 {
				t.Errorf("exit %d", code)
			}
			if !strings.Contains(s.log.String(), "a new secret is made") || !strings.Contains(s.log.String(), path) {
				t.Errorf("nobody is told: %s", s.log)
			}
			made, err := os.ReadFile(path)
			if err != nil || len(bytes.TrimSpace(made)) < leastSecret {
				t.Errorf("the file holds %q, %v", made, err)
			}
			if strings.Contains(s.log.String(), string(bytes.TrimSpace(made))) {
				t.Error("the log shows the secret")
			}
		})
	}
}

// A secret that cannot be used is told with the file's name and what to do, and is not touched.
func TestSecretThatCannotBeUsedIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want []string
	}{
		"short":      {func(path string) error { return os.WriteFile(path, []byte("hunter2\n"), 0o600) }, []string{"7 characters", "needs 16", "put the whole secret back"}},
		"a folder":   {func(path string) error { return os.Mkdir(path, 0o700) }, []string{"is a directory", "move it away"}},
		"unreadable": {func(path string) error { return os.WriteFile(path, []byte("0123456789abcdef\n"), 0) }, []string{"permission denied", "make the file readable"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := foreign(t)
			path := filepath.Join(dir, secretFile)
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			own(t, path)
			before, _ := os.ReadFile(path)
			code, _, notes := ended(t, nobody(program(t, "--data", dir, "serve", "--addr", "127.0.0.1:0")))
			for _, want := range append(c.want, path) {
				if code != 1 || !strings.Contains(notes, want) {
					t.Errorf("exit %d, %s; want %q", code, notes, want)
				}
			}
			if strings.Contains(notes, "hunter2") || strings.Contains(notes, "--data") {
				t.Errorf("it says too much: %s", notes)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Errorf("the file held %q and holds %q", before, after)
			}
		})
	}
}

// A folder in which nothing can be written is told as that, whether it is new or has lost its secret.
func TestFolderThatIsReadOnlyIsExplained(t *testing.T) {
	dir := foreign(t)
	serve := []string{"--data", dir, "serve", "--addr", "127.0.0.1:0"}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	code, _, notes := ended(t, nobody(program(t, serve...)))
	if code != 1 || !strings.Contains(notes, dir) || !strings.Contains(notes, "--data") {
		t.Errorf("exit %d, %s", code, notes)
	}
	if _, err := webhookSecret(filepath.Join(dir, "nowhere"), slog.Default()); err == nil || !strings.Contains(err.Error(), "make the data folder writable") {
		t.Errorf("the secret in a folder that cannot be written to: %v", err)
	}
}

// foreign is a data folder for [nobody], in a place that nobody can reach.
func foreign(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tributary-test-")
	if err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700); _ = os.RemoveAll(dir) })
	return dir
}
