//go:build unix

package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A program in the sandbox may leave pipes and sockets behind. Opening one waits for somebody at its other end.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, Options{})
	if err := syscall.Mkfifo(filepath.Join(w.outer, "thread/outputs/pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	const name = "/mnt/user-data/outputs/pipe"
	w.fails("read_file", arguments{"path": name}, "not a plain file")
	w.fails("write_file", arguments{"path": name, "content": "x"}, "not a plain file")
	w.fails("str_replace", arguments{"path": name, "old_str": "x", "new_str": "y"}, "not a plain file")
	w.fails("present_files", arguments{"filepaths": []string{name}}, "not a plain file")
	w.ok("grep", arguments{"pattern": "x"})
	if got, want := w.ok("ls", arguments{"path": "/mnt/user-data/outputs"}), name+"\t(not a plain file)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFileKeepsItsMode(t *testing.T) {
	w := newWorld(t, Options{})
	w.put("workspace/run.sh", "#!/bin/sh\n")
	whole := filepath.Join(w.outer, "thread/workspace/run.sh")
	if err := os.Chmod(whole, 0o700); err != nil {
		t.Fatal(err)
	}
	w.ok("write_file", arguments{"path": "run.sh", "content": "true\n", "append": true})
	info, err := os.Stat(whole)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v, want 700", info.Mode(), err)
	}
}
