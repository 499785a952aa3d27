package shelf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// kept begins the names of what was replaced: .kept-<name>.<number>.
const kept = ".kept-"

// Versions lists the numbers of the versions of a folder that were replaced and are kept, the oldest first.
func (s *Shelf) Versions(owner, name string) ([]int, error) {
	own, err := s.open(owner)
	if errors.Is(err, fs.ErrNotExist) || !Valid(name) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer own.Close()
	return versions(own, name)
}

func versions(own *os.Root, name string) (numbers []int, err error) {
	entries, err := fs.ReadDir(own.FS(), ".")
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), kept+name+".")
		n, bad := strconv.Atoi(rest)
		if ok && bad == nil && n > 0 && e.IsDir() {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, cmp.Compare)
	return numbers, err
}

// ReadVersion is [Shelf.Read] for a version that was replaced.
func (s *Shelf) ReadVersion(owner, name string, version int, look func(*os.Root) error) error {
	if !Valid(name) {
		return fs.ErrNotExist
	}
	own, free, err := s.steady(owner)
	if err != nil {
		return err
	}
	defer free()
	root, err := own.OpenRoot(versionOf(name, version))
	if err != nil {
		return err
	}
	defer root.Close()
	return look(root)
}

func versionOf(name string, version int) string { return fmt.Sprintf("%s%s.%d", kept, name, version) }

// retire puts what was replaced away, if there is something: among the versions, of which the oldest go, or for ever.
func (s *Shelf) retire(own *os.Root, name string) error {
	if _, err := own.Lstat(past + name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.keep <= 0 {
		return own.RemoveAll(past + name)
	}
	numbers, err := versions(own, name)
	if err != nil {
		return err
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	if err := own.Rename(past+name, versionOf(name, next)); err != nil {
		return err
	}
	for i := 0; i <= len(numbers)-s.keep; i++ {
		if err := own.RemoveAll(versionOf(name, numbers[i])); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the versions of a folder.
func forget(own *os.Root, name string) error {
	numbers, err := versions(own, name)
	for _, n := range numbers {
		err = errors.Join(err, own.RemoveAll(versionOf(name, n)))
	}
	return err
}
