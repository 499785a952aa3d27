// Package shelf keeps small folders of files by owner and name in the data folder: custom agents, skills.
//
//	<shelf>/<owner>/<name>/...
//
// # Laws
//
//   - Every owner is a possible one, and none sees another's. A name is small letters, digits and dashes ([Valid]); what else
//     lies in the folder is passed over.
//   - A folder that was put is there as a whole. Whenever the process dies or the power fails, the name has what it had before or what
//     was put: never a part, and never nothing.
//   - A folder that was removed is gone with all that it was before, and does not come back after a crash.
//   - A shelf that keeps versions ([Shelf.Keep]) has the latest of what was replaced; each is as whole as what replaced it.
//   - Several processes may use a shelf at once. Writers wait for each other; readers see one state of a folder, and wait only while
//     one is swapped for another.
//   - People may write and change folders by hand, and the next reader sees it. Names alone are kept in memory, for as long as the
//     time of the owner's folder says that nothing was put there, renamed or removed.
//   - All reading and writing goes through [os.Root]: no link leads out of the shelf. Whether a file is as it was is asked by its path.
package shelf

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Shelf holds folders. It is safe for concurrent use.
type Shelf struct {
	dir    string
	keep   int
	listed listings
}

// New is the shelf in a folder, which is made when something is put there first.
func New(dir string) *Shelf { return &Shelf{dir: dir} }

// Keep is the same shelf, which keeps that many of the versions that were replaced under each name.
func (s *Shelf) Keep(versions int) *Shelf { return &Shelf{dir: s.dir, keep: versions} }

// longestName and longestOwner are how long an element of a path becomes. File systems end at 255.
const (
	longestName  = 64
	longestOwner = 200
)

// What the names of folders begin with that are on their way.
const (
	draft = ".new-"  // is being written
	past  = ".old-"  // is being replaced: counts while there is none under its name
	trash = ".gone-" // is being removed
)

// Valid reports that a text can be the name of a folder.
func Valid(name string) bool {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	return name != "" && len(name) <= longestName && name[0] != '-' && !strings.ContainsFunc(name, odd)
}

// folderOf spells any owner with small letters, digits, - and _ alone; the usual ones stay as they are. A very long one is a hash, which no
// other owner is spelled like, since no h follows _ there.
func folderOf(owner string) string {
	var b strings.Builder
	for i := range len(owner) {
		if c := owner[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	switch {
	case b.Len() == 0:
		return "_"
	case b.Len() > longestOwner:
		sum := sha256.Sum256([]byte(owner))
		return "_h" + hex.EncodeToString(sum[:])
	}
	return b.String()
}

// Names lists the folders of an owner, sorted.
func (s *Shelf) Names(owner string) (names []string, err error) {
	err = s.each(owner, func(_ *os.Root, p place) error {
		names = append(names, p.name)
		return nil
	})
	return names, err
}

// Each calls look with every folder of an owner, by name. They stay as they are until it returns; look must not write.
func (s *Shelf) Each(owner string, look func(Folder) error) error {
	return s.each(owner, func(own *os.Root, p place) error { return look(Folder{p.name, own, p}) })
}

// Read calls look with a folder, which stays as it is until look returns; [fs.ErrNotExist] if there is none. look must not write.
func (s *Shelf) Read(owner, name string, look func(*os.Root) error) error {
	if !Valid(name) {
		return fs.ErrNotExist
	}
	own, free, err := s.steady(owner)
	if err != nil {
		return err
	}
	defer free()
	for _, at := range []string{name, past + name} {
		info, err := own.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		root, err := own.OpenRoot(at)
		if err != nil {
			return err
		}
		defer root.Close()
		return look(root)
	}
	return fs.ErrNotExist
}

// Put puts a folder under a name, in place of what was there. fill writes it; old is what is there, and nil if nothing is. An error
// of fill is returned as it is, and nothing has changed.
func (s *Shelf) Put(owner, name string, fill func(to, old *os.Root) error) error {
	if !Valid(name) {
		return fmt.Errorf("%q cannot be the name of a folder: use small letters, digits and dashes", name)
	}
	own, free, err := s.claim(owner)
	if err != nil {
		return err
	}
	defer free()
	there, err := s.settle(own, name)
	if err != nil {
		return err
	}
	if err := write(own, name, there, fill); err != nil {
		return errors.Join(err, own.RemoveAll(draft+name))
	}
	return swap(own, func() error {
		if there {
			if err := own.Rename(name, past+name); err != nil {
				return err
			}
		}
		if err := own.Rename(draft+name, name); err != nil {
			if there {
				err = errors.Join(err, own.Rename(past+name, name))
			}
			return err
		}
		if err := syncFolder(own, "."); err != nil {
			return err
		}
		return s.retire(own, name)
	})
}

// swap does something while nobody reads.
func swap(own *os.Root, do func() error) error {
	free, err := lock(own, swapping, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer free()
	return do()
}

// write has fill write the draft.
func write(own *os.Root, name string, there bool, fill func(to, old *os.Root) error) (err error) {
	if err := own.RemoveAll(draft + name); err != nil {
		return err
	}
	if err := own.Mkdir(draft+name, 0o700); err != nil {
		return err
	}
	to, err := own.OpenRoot(draft + name)
	if err != nil {
		return err
	}
	defer to.Close()
	var old *os.Root
	if there {
		if old, err = own.OpenRoot(name); err != nil {
			return err
		}
		defer old.Close()
	}
	if err := fill(to, old); err != nil {
		return err
	}
	return fs.WalkDir(to.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = syncFolder(to, at)
		}
		return err
	})
}

// Remove removes a folder; [fs.ErrNotExist] if there is none.
func (s *Shelf) Remove(owner, name string) error {
	if !Valid(name) {
		return fs.ErrNotExist
	}
	own, free, err := s.claim(owner)
	if err != nil {
		return err
	}
	defer free()
	there, err := s.settle(own, name)
	if err != nil {
		return err
	}
	if !there {
		return fs.ErrNotExist
	}
	if err := forget(own, name); err != nil {
		return err
	}
	if err := own.RemoveAll(trash + name); err != nil {
		return err
	}
	return swap(own, func() error {
		if err := own.Rename(name, trash+name); err != nil {
			return err
		}
		if err := syncFolder(own, "."); err != nil {
			return err
		}
		return own.RemoveAll(trash + name)
	})
}

// settle ends what a writer that died had begun with a name, and reports whether there is something under it.
func (s *Shelf) settle(own *os.Root, name string) (there bool, err error) {
	info, err := own.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return true, s.retire(own, name) // it was replaced
	case err == nil:
		return false, fmt.Errorf("%s is in the way, and no folder", name)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	err = own.Rename(past+name, name) // it was not
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// open opens the folder of an owner.
func (s *Shelf) open(owner string) (*os.Root, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(folderOf(owner))
}

// steady opens the folder of an owner for a reader: until free is called, nothing in it is exchanged.
func (s *Shelf) steady(owner string) (own *os.Root, free func(), err error) {
	if own, err = s.open(owner); err != nil {
		return nil, nil, err
	}
	let, err := lock(own, swapping, syscall.LOCK_SH)
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return own, func() { let(); own.Close() }, nil
}

// claim opens the folder of an owner for a writer, and makes it where there is none.
func (s *Shelf) claim(owner string) (own *os.Root, free func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(folderOf(owner), 0o700); err != nil {
		return nil, nil, err
	}
	if own, err = root.OpenRoot(folderOf(owner)); err != nil {
		return nil, nil, err
	}
	let, err := lock(own, writing, syscall.LOCK_EX)
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return own, func() { let(); own.Close() }, nil
}

// The files that are locked: by the one who writes, and by the one who swaps folders or those who read.
const (
	writing  = ".lock"
	swapping = ".swap"
)

// lock waits for a lock. It goes with the process.
func lock(own *os.Root, name string, how int) (free func(), err error) {
	f, err := own.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return func() { f.Close() }, nil
}

// Write writes a file into a folder that is being filled, and the folders that it is in. It must not be there yet.
func Write(to *os.Root, name string, from io.Reader) error {
	if at := strings.LastIndexByte(name, '/'); at > 0 {
		if err := to.MkdirAll(name[:at], 0o700); err != nil {
			return err
		}
	}
	f, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system whose folders cannot be synced
	}
	return errors.Join(err, d.Close())
}
