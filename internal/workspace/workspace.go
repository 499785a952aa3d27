// Package workspace owns the folders in which threads keep files:
//
//	<data>/threads/<owner>/<thread>.<born>/{workspace,uploads,outputs}
//
// Laws:
//
//   - Every owner and every thread id is a possible name: none leads out of the data folder, and no two threads share a
//     folder, also where the file system does not tell capitals from small letters.
//   - A thread that is made again under an old id begins with empty folders, however the old ones came to be left behind.
//     That is why the moment of its birth is part of the name.
//   - A folder is made when it is first opened, for the user of this process alone. A thread that never has files has none.
//   - Removing is one step: a crash leaves a folder whole, or nothing of it under its name.
//   - Versions of files that people were shown lie beside the three folders, where agents cannot reach them, and go with the thread.
//   - Nothing here copies folders: a copy of a thread begins with empty ones.
//   - All access goes through [os.Root].
//
// The package knows where folders are and how full they may be. Which threads there are is asked of the caller.
package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Areas are the folders within a thread's folder.
var Areas = []string{"workspace", "uploads", "outputs"}

// Thread says whose folder is meant.
type Thread struct {
	Owner string
	ID    string
	Born  time.Time // when the thread was made, to the microsecond
}

// trash is where folders go that are being removed. No owner's folder has this name.
const trash = ".trash"

// Folders are those of all threads. They are safe for concurrent use by one process; the data folder must be its own.
type Folders struct {
	dir string

	mu   sync.Mutex // held while a folder is made or moved away
	base *os.Root   // nil until it is needed
}

// New returns the folders within a data folder. It touches nothing.
func New(data string) *Folders { return &Folders{dir: filepath.Join(data, "threads")} }

// Open opens the folder of a thread, and makes it where there is none. The caller closes it.
func (f *Folders) Open(t Thread) (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	base, err := f.open(true)
	if err != nil {
		return nil, fmt.Errorf("folder of thread %q: %w", t.ID, err)
	}
	where := place(t)
	for _, area := range Areas {
		if err := base.MkdirAll(filepath.Join(where, area), 0o700); err != nil {
			return nil, fmt.Errorf("folder of thread %q: %w", t.ID, err)
		}
	}
	root, err := base.OpenRoot(where)
	if err != nil {
		return nil, fmt.Errorf("folder of thread %q: %w", t.ID, err)
	}
	return root, nil
}

// open returns the folder of all folders; nil, where it is not there and is not to be made. f.mu is held.
func (f *Folders) open(make bool) (*os.Root, error) {
	if f.base != nil {
		return f.base, nil
	}
	if make {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			return nil, err
		}
	}
	base, err := os.OpenRoot(f.dir)
	if !make && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	f.base = base
	return base, err
}

// Remove removes the folder of a thread, if there is one.
func (f *Folders) Remove(t Thread) error {
	f.mu.Lock()
	base, gone, err := f.moveAway(place(t))
	f.mu.Unlock()
	if err == nil && gone != "" {
		err = discard(base, gone)
	}
	if err != nil {
		return fmt.Errorf("remove the folder of thread %q: %w", t.ID, err)
	}
	return nil
}

// Sweep removes the folders of threads that are gone, as lives says, and what earlier removals left half done. It goes on
// after an error, and never removes a folder of which lives does not know. Where there are several folders and not one of
// their threads lives, it removes nothing: rather than every thread, the list of threads is gone.
func (f *Folders) Sweep(ctx context.Context, lives func(context.Context, Thread) (bool, error)) error {
	f.mu.Lock()
	base, err := f.open(false)
	f.mu.Unlock()
	if err != nil || base == nil {
		return err
	}
	all, err := threads(base)
	errs := []error{err}
	var dead []Thread
	for _, t := range all {
		alive, err := lives(ctx, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errs = append(errs, err); err == nil && !alive {
			dead = append(dead, t)
		}
	}
	if len(dead) > few && len(dead) == len(all) {
		return fmt.Errorf("%s has the folders of %d threads, of which none is known; put the database back that knows them, or delete that folder", f.dir, len(dead))
	}
	for _, t := range dead {
		errs = append(errs, f.sweep(ctx, t, lives))
	}
	return errors.Join(append(errs, discard(base, trash))...)
}

// few is how many folders may be orphans without another that is not: a crash leaves one.
const few = 8

// sweep asks and moves in one step, so that a thread that is made meanwhile finds its new folder untouched.
func (f *Folders) sweep(ctx context.Context, t Thread, lives func(context.Context, Thread) (bool, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	alive, err := lives(ctx, t)
	if err != nil || alive {
		return err
	}
	_, _, err = f.moveAway(place(t))
	return err
}

// moveAway takes a folder from its place into the trash and returns where it is now. f.mu is held.
func (f *Folders) moveAway(where string) (base *os.Root, gone string, err error) {
	base, err = f.open(false)
	if err != nil || base == nil {
		return nil, "", err
	}
	if _, err := base.Lstat(where); errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err := base.MkdirAll(trash, 0o700); err != nil {
		return nil, "", err
	}
	gone = filepath.Join(trash, rand.Text())
	if err := base.Rename(where, gone); err != nil {
		return nil, "", err
	}
	// The folders above are shared: those that are not empty stay.
	for up := filepath.Dir(where); up != "." && base.Remove(up) == nil; up = filepath.Dir(up) {
	}
	return base, gone, nil
}

// discard deletes what is in the trash. Code that ran in a folder may have taken our own right to look into parts of it.
func discard(base *os.Root, name string) error {
	if base.RemoveAll(name) == nil {
		return nil
	}
	_ = base.Chmod(name, 0o700)
	walk(base, name, func(name string, e fs.DirEntry) {
		if e.IsDir() {
			_ = base.Chmod(name, 0o700)
		}
	})
	return base.RemoveAll(name)
}

// Close closes the folders.
func (f *Folders) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.base == nil {
		return nil
	}
	err := f.base.Close()
	f.base = nil
	return err
}
