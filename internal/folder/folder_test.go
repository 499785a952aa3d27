package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var errDied = errors.New("the process died")

// machine is a disk that remembers what is only in memory. After so many steps the process dies; what comes to the disk of that which
// was not synced is up to chance.
type machine struct {
	left  int // steps before the process dies
	fails bool
	// Files by number, names as the process sees them, and the names that are surely on the disk.
	files  map[int]*content
	names  map[string]int
	synced map[string]int
	moves  []func(names map[string]int) // changes of names since the folder was synced
}

type content struct {
	data  []byte
	saved []byte // what was synced
}

func newMachine(old map[string][]byte) *machine {
	m := &machine{files: map[int]*content{}, names: map[string]int{}, synced: map[string]int{}}
	for name, data := range old {
		n := len(m.files)
		m.files[n] = &content{data, data}
		m.names[name], m.synced[name] = n, n
	}
	return m
}

// step counts a step; an error of the disk is a step that was not done, and a death is one too.
func (m *machine) step() error {
	m.left--
	if m.left == 0 && m.fails {
		return errors.New("no space left on device")
	}
	if m.left == 0 || m.left < 0 && !m.fails {
		return errDied
	}
	return nil
}

func (m *machine) move(change func(names map[string]int)) {
	change(m.names)
	m.moves = append(m.moves, change)
}

func (m *machine) remove(path string) error {
	if err := m.step(); err != nil {
		return err
	}
	if _, ok := m.names[path]; !ok {
		return fs.ErrNotExist
	}
	m.move(func(names map[string]int) { delete(names, path) })
	return nil
}

func (m *machine) create(path string) (draft, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	if _, ok := m.names[path]; ok {
		return nil, fs.ErrExist
	}
	n := len(m.files)
	m.files[n] = &content{}
	m.move(func(names map[string]int) { names[path] = n })
	return &open{m, m.files[n]}, nil
}

func (m *machine) rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	n := m.names[from]
	m.move(func(names map[string]int) { delete(names, from); names[to] = n })
	return nil
}

func (m *machine) syncFolder(string) error {
	if err := m.step(); err != nil {
		return err
	}
	m.synced, m.moves = clone(m.names), nil
	return nil
}

func clone(names map[string]int) map[string]int {
	out := map[string]int{}
	for k, v := range names {
		out[k] = v
	}
	return out
}

type open struct {
	m *machine
	c *content
}

func (o *open) Write(p []byte) (int, error) {
	if err := o.m.step(); err != nil {
		n := len(p) / 2
		o.c.data = append(o.c.data, p[:n]...)
		return n, err
	}
	o.c.data = append(o.c.data, p...)
	return len(p), nil
}

func (o *open) Sync() error {
	if err := o.m.step(); err != nil {
		return err
	}
	o.c.saved = bytes.Clone(o.c.data)
	return nil
}

func (o *open) Close() error { return o.m.step() }

// after is what a name holds when the machine is up again: names changed up to some point, and of what was not synced a part.
func (m *machine) after(t *rapid.T, path string, power bool) (data []byte, there bool) {
	names := m.names
	if power {
		names = clone(m.synced)
		for _, change := range m.moves[:rapid.IntRange(0, len(m.moves)).Draw(t, "moves")] {
			change(names)
		}
	}
	n, ok := names[path]
	if !ok {
		return nil, false
	}
	c := m.files[n]
	if !power || bytes.Equal(c.saved, c.data) {
		return c.data, true
	}
	cut := rapid.IntRange(len(c.saved), len(c.data)).Draw(t, "cut")
	if rapid.Bool().Draw(t, "zeros") { // as ext4 leaves them
		return append(bytes.Clone(c.data[:cut]), make([]byte, len(c.data)-cut)...), true
	}
	return c.data[:cut], true
}

// Wherever it stops, and whatever it stops for, the file is whole: the old one or the new one, and the new one if that was said.
func TestFileIsWholeWhereverWritingStops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const path = "d/secret"
		before := map[string][]byte{}
		if rapid.Bool().Draw(t, "there") {
			before[path] = []byte("what it was before")
		}
		if rapid.Bool().Draw(t, "left behind") {
			before[path+Draft] = []byte("half of")
		}
		m := newMachine(before)
		m.left = rapid.IntRange(1, 9).Draw(t, "steps")
		m.fails = rapid.Bool().Draw(t, "fails")
		want := []byte("what it is now")
		err := write(m, path, want)
		power := rapid.Bool().Draw(t, "power")
		got, there := m.after(t, path, power)
		old, was := before[path]
		switch {
		case err == nil && !bytes.Equal(got, want):
			t.Fatalf("it was written, and holds %q", got)
		case there && !bytes.Equal(got, want) && !(was && bytes.Equal(got, old)):
			t.Fatalf("after %v it holds %q, neither what was nor what is", err, got)
		case was && !there:
			t.Fatalf("after %v it is gone", err)
		}
		// The next start is not in the way of what is left.
		again := newMachine(map[string][]byte{path + Draft: []byte("half of")})
		again.left = 100
		if err := write(again, path, want); err != nil {
			t.Fatalf("after one that died: %v", err)
		}
	})
}

func TestWriteReplacesAndKeepsItToItsOwner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+Draft, []byte("left behind"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		text := fmt.Sprint("text ", i)
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("it holds %q, %v; want %q", got, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || Open(info.Mode()) {
		t.Errorf("it is %v, %v; want 0600", info.Mode(), err)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}

func TestWriteNamesTheFileThatItCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nowhere", "f")
	if err := Write(path, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestPublishDoesNotReplace(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for name, text := range map[string]string{from: "new", to: "old"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Publish(from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("published over a file: %v", err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "old" {
		t.Errorf("it holds %q, %v", got, err)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if err := Publish(from, to); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
		t.Errorf("it holds %q, %v", got, err)
	}
	if _, err := os.Lstat(from); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
}
