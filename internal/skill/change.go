package skill

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// Change changes the files of a skill of an owner's own, or makes one: change gets them by name, none for a new skill, and its error
// is returned as it is. What is kept then obeys the rules of [Skills.Install]; the name stays.
func (s *Skills) Change(owner, name string, change func(files map[string][]byte) error) (r Report, err error) {
	on, whose, origin := s.place(owner)
	if !shelf.Valid(name) {
		return r, refuse("its name %q must be small letters, digits and dashes, 1 to 64 of them", clip(name))
	}
	err = on.Put(whose, name, func(to, old *os.Root) error {
		files := map[string][]byte{}
		if old != nil {
			if err := readAll(old, files); err != nil {
				return err
			}
		}
		if err := change(files); err != nil {
			return err
		}
		entries := entriesOf(files)
		if r, err = check(name, origin, entries); err != nil {
			return err
		}
		if r.Skill.Name != name {
			return refuse("it calls itself %s, and not %s; a skill keeps its name", r.Skill.Name, name)
		}
		return r.fill(to, entries)
	})
	return r, err
}

func entriesOf(files map[string][]byte) []entry {
	var all []entry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		all = append(all, entry{name: name, size: int64(len(data)), open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }})
	}
	return all
}

// readAll reads the files of a skill, within the bounds of one.
func readAll(root *os.Root, files map[string][]byte) error {
	entries, err := inFolder(root)
	if err != nil {
		return err
	}
	var total int64
	for _, e := range entries {
		data, err := take(e, min(mostFile, mostBytes-total))
		if err != nil {
			return err
		}
		total += int64(len(data))
		files[e.name] = data
	}
	return nil
}

// Version is what a skill was before something replaced it.
type Version struct {
	Number      int
	At          time.Time // when it was written
	Description string
}

// History lists the versions of a skill that were replaced and are kept, the oldest first; [ErrNone] if there is no such skill of the
// owner's own.
func (s *Skills) History(owner, name string) ([]Version, error) {
	on, whose, origin := s.place(owner)
	if err := on.Read(whose, name, func(*os.Root) error { return nil }); err != nil {
		return nil, none(err)
	}
	numbers, err := on.Versions(whose, name)
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, n := range numbers {
		v := Version{Number: n}
		err := on.ReadVersion(whose, name, n, func(root *os.Root) error {
			text, err := textOf(root)
			if err != nil {
				return err
			}
			if info, err := root.Lstat(File); err == nil {
				v.At = info.ModTime()
			}
			v.Description = parse(name, origin, text).Description
			return nil
		})
		if err == nil { // otherwise it has gone, or is none: it was written by hand
			all = append(all, v)
		}
	}
	return all, nil
}

// Rollback has a skill be again what a version of it was; [ErrNone] if there is no such skill or version. What it was until now is
// kept as a version too.
func (s *Skills) Rollback(owner, name string, version int) (Report, error) {
	on, whose, _ := s.place(owner)
	if err := on.Read(whose, name, func(*os.Root) error { return nil }); err != nil {
		return Report{}, none(err)
	}
	return s.Change(owner, name, func(files map[string][]byte) error {
		clear(files)
		return none(on.ReadVersion(whose, name, version, func(root *os.Root) error { return readAll(root, files) }))
	})
}

// none says in the words of this package that something is not there.
func none(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	return err
}

// Content is the whole text of a skill, with its head; [ErrNone] if there is none.
func (s *Skills) Content(owner, name string) (text string, err error) {
	err = s.Open(owner, name, func(folder fs.FS) error {
		f, err := folder.Open(File)
		if err != nil {
			return err
		}
		defer f.Close()
		raw, err := io.ReadAll(io.LimitReader(f, mostText))
		text = string(raw)
		return err
	})
	return text, none(err)
}
