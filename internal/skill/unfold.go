package skill

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Room says whether a folder may grow; nil: it always may.
type Room func(folder *os.Root, bytes int64, files int) error

// Unfold copies the files of a skill other than SKILL.md into a folder, for an agent to read and run. A file that is there stays as it is. It
// returns how many files the skill has beside that one.
func Unfold(skill fs.FS, folder *os.Root, at string, room Room) (files int, err error) {
	var size int64
	var names []string
	err = fs.WalkDir(skill, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || name == File {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		return len(names), err
	}
	if len(names) > mostFiles || size > mostBytes {
		return 0, refuse("it has more files, or larger ones, than a skill may have")
	}
	if room != nil {
		if err := room(folder, size, len(names)); err != nil {
			return 0, err
		}
	}
	for _, name := range names {
		from, err := skill.Open(name)
		if err != nil {
			return 0, err
		}
		err = copyNew(folder, path.Join(at, name), from)
		from.Close()
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return 0, err
		}
	}
	return len(names), nil
}

func copyNew(folder *os.Root, name string, from io.Reader) error {
	if err := folder.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := folder.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(from, mostFile))
	return errors.Join(err, to.Close())
}
