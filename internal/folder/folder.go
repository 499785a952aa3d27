// Package folder keeps small files in the data folder: a secret, an address.
//
// # Laws
//
//   - After [Write] has returned nil the file holds what was given, and still does after the loss of power.
//   - Whenever the process dies or the power fails, and wherever an error stops it, the file holds what it held before or
//     what was given, as a whole: never a part, and never nothing.
//   - Files are their owner's alone (0600), whatever the folder's rights are.
//   - What a writer that died left behind (a name that ends in ".new") is never read, and goes with the next Write.
//
// A file has one writer at a time: whoever holds the folder's lock.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Draft is what the name of a file ends in that is not finished.
const Draft = ".new"

// Write puts data into a file, in place of what was there.
func Write(path string, data []byte) error {
	if err := write(system{}, path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// disk is what Write needs of an operating system; tests have one whose power fails.
type disk interface {
	remove(path string) error
	create(path string) (draft, error) // of a file that is not there, for its owner alone
	rename(from, to string) error
	syncFolder(path string) error
}

type draft interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

func write(d disk, path string, data []byte) (err error) {
	name := path + Draft
	if err := d.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync() // or the new name could come to the disk before what it names
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.rename(name, path)
	}
	if err != nil {
		_ = d.remove(name) // the next Write would do it too
		return err
	}
	return d.syncFolder(filepath.Dir(path))
}

// Publish gives a finished file its name, for good: a file that has the name already is not replaced, and the answer is then an
// [fs.ErrExist]. The file's content must have been synced.
func Publish(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		err = os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	default: // a file system without links: the two steps are not one, which matters only to somebody else who writes there
		if _, there := os.Lstat(to); there == nil {
			return &os.PathError{Op: "publish", Path: to, Err: fs.ErrExist}
		}
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// Sync makes names in a folder survive the loss of power.
func Sync(path string) error { return system{}.syncFolder(path) }

// Open reports whether others than the owner may do something with a file or folder.
func Open(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }

type system struct{}

func (system) remove(path string) error { return os.Remove(path) }

func (system) create(path string) (draft, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (system) rename(from, to string) error { return os.Rename(from, to) }

func (system) syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system whose folders cannot be synced
	}
	return errors.Join(err, d.Close())
}
