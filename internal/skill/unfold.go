package skill

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Room says whether a folder may grow; nil: it always may.
type Room func(folder *os.Root, bytes int64, files int) error

// Unfold copies the files of a skill into a folder, for an agent to read and run. A file that is there stays as it is. It returns how many
// files the skill has beside SKILL.md; where it has none, that one is copied only if it is wanted.
func Unfold(skill fs.FS, folder *os.Root, at string, wanted bool, room Room) (files int, err error) {
	var size int64
	var names []string
	err = fs.WalkDir(skill, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
			names = append(names, name)
		}
		return err
	})
	files = len(names) - 1
	if err != nil || files <= 0 && !wanted {
		return 0, err
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
	return files, nil
}

func copyNew(folder *os.Root, name string, from io.Reader) error {
	if err := folder.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	mode, text := fs.FileMode(0o600), bufio.NewReader(io.LimitReader(from, mostFile))
	if begin, err := text.Peek(2); err == nil && string(begin) == "#!" {
		mode = 0o700 // authors say ./scripts/x.sh, and installing keeps no modes
	}
	to, err := folder.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, text)
	return errors.Join(err, to.Close())
}
