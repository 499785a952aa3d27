package shelf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostNote is how long a note may be.
const mostNote = 1 << 20

// Note is a small file that an owner has beside his folders, such as which of them he does not want to see; nil if there is none.
func (s *Shelf) Note(owner, name string) ([]byte, error) {
	own, err := s.open(owner)
	if err == nil {
		defer own.Close()
		return note(own, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

func note(own *os.Root, name string) ([]byte, error) {
	info, err := own.Lstat("." + name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > mostNote:
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", info.Name(), mostNote)
	}
	return own.ReadFile("." + name)
}

// SetNote changes a note: change gets what is there. Whenever the process dies, it is the old one or the new one.
func (s *Shelf) SetNote(owner, name string, change func(old []byte) ([]byte, error)) error {
	if !Valid(name) {
		return fmt.Errorf("%q cannot be the name of a note", name)
	}
	own, free, err := s.claim(owner)
	if err != nil {
		return err
	}
	defer free()
	old, err := note(own, name)
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil {
		return err
	}
	temp := draft + name + ".note"
	f, err := own.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := own.Rename(temp, "."+name); err != nil {
		return err
	}
	return syncFolder(own, ".")
}
