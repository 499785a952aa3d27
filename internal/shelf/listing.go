package shelf

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A listing is the folders of an owner, with what his own folder looked like before they were listed. Whoever puts, removes or renames
// one, in this process, in another or by hand, changes the time of the owner's folder.
type listing struct {
	stamp Stamp
	read  int64 // when, in nanoseconds
	all   []place
}

// place is a folder's name, and the path at which it is at the moment.
type place struct{ name, at, path string }

// settled is how long a folder must have been left alone, when it is listed, for its time to be trusted later: what is changed twice within
// the grain of the clock has the same time.
const settled = 2 * time.Second

// mostListings is how many owners' listings are remembered.
const mostListings = 1000

type listings struct {
	mu    sync.Mutex
	known map[string]listing // by owner
}

func (l *listings) find(owner string, now Stamp) ([]place, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.known[owner]
	return k.all, ok && k.stamp == now && now.when < k.read-int64(settled)
}

func (l *listings) put(owner string, k listing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= mostListings {
		l.known = map[string]listing{}
	}
	l.known[owner] = k
}

// each calls found with the place of every folder, by name. They stay as they are until it returns.
func (s *Shelf) each(owner string, found func(own *os.Root, p place) error) error {
	own, free, err := s.steady(owner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer free()
	all, err := s.list(owner, own)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := found(own, p); err != nil {
			return err
		}
	}
	return nil
}

// list lists the folders of an owner, or remembers them where his own folder has not changed. Hundreds are listed before every run.
func (s *Shelf) list(owner string, own *os.Root) ([]place, error) {
	read := time.Now().UnixNano()
	info, err := own.Stat(".")
	if err != nil {
		return nil, err
	}
	stamp := stampOf(info)
	if all, ok := s.listed.find(owner, stamp); ok {
		return all, nil
	}
	entries, err := fs.ReadDir(own.FS(), ".")
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, e := range entries { // in the order of their names: what is to be replaced comes first
		if name := strings.TrimPrefix(e.Name(), past); e.IsDir() && Valid(name) {
			at[name] = e.Name()
		}
	}
	dir := filepath.Join(s.dir, folderOf(owner))
	all := make([]place, 0, len(at))
	for _, name := range slices.Sorted(maps.Keys(at)) {
		all = append(all, place{name, at[name], filepath.Join(dir, at[name])})
	}
	s.listed.put(owner, listing{stamp, read, all})
	return all, nil
}
