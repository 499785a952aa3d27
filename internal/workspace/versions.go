package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// versionsFolder is where versions of files are, beside the areas: no tool and no sandbox reaches it.
const versionsFolder = ".versions"

// What is kept of one file.
const (
	mostVersions = 20
	mostVersion  = 50 << 20
)

// keeping is held by the one who keeps a version, since versions are numbered.
var keeping sync.Mutex

// Version is what a file was at some time.
type Version struct {
	Number int
	Hash   string // SHA-256 of its content
	Size   int64
	At     time.Time // when it was kept
}

// Keep keeps what a file of a thread's folder is now as its next version, unless the latest is the same. name begins with an area. Of
// each file the latest 20 versions are kept; one that is larger than 50 MiB, or for which there is no room, is not.
func (q Quota) Keep(folder *os.Root, name string) error {
	info, err := folder.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if info.Size() > mostVersion || q.Room(folder, info.Size(), 1) != nil {
		return nil
	}
	keeping.Lock()
	defer keeping.Unlock()
	from, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	where := filepath.Join(versionsFolder, versionsOf(name))
	if err := folder.MkdirAll(where, 0o700); err != nil {
		return err
	}
	temp := filepath.Join(where, ".new")
	if err := folder.RemoveAll(temp); err != nil {
		return err
	}
	to, err := folder.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, mostVersion))
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, folder.Remove(temp))
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	all, err := Versions(folder, name)
	if err != nil {
		return err
	}
	next := 1
	if n := len(all); n > 0 {
		if all[n-1].Hash == hash {
			return folder.Remove(temp)
		}
		next = all[n-1].Number + 1
	}
	if err := folder.Rename(temp, filepath.Join(where, fmt.Sprintf("%d.%s", next, hash))); err != nil {
		return err
	}
	for i := 0; i <= len(all)-mostVersions; i++ {
		if err := folder.Remove(filepath.Join(where, fmt.Sprintf("%d.%s", all[i].Number, all[i].Hash))); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf is the name of the folder with the versions of a file: a hash, since names can be as long as a folder's may be.
func versionsOf(name string) string {
	sum := sha256.Sum256([]byte(filepath.ToSlash(filepath.Clean(name))))
	return hex.EncodeToString(sum[:16])
}

// Versions lists the versions of a file that are kept, the oldest first.
func Versions(folder *os.Root, name string) ([]Version, error) {
	entries, err := fs.ReadDir(folder.FS(), versionsFolder+"/"+versionsOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Version
	for _, e := range entries {
		number, hash, _ := strings.Cut(e.Name(), ".")
		n, bad := strconv.Atoi(number)
		info, gone := e.Info()
		if bad == nil && gone == nil && n > 0 && info.Mode().IsRegular() {
			all = append(all, Version{n, hash, info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b Version) int { return a.Number - b.Number })
	return all, err
}

// OpenVersion opens a version of a file; [fs.ErrNotExist] if there is none of that number. The caller closes it.
func OpenVersion(folder *os.Root, name string, number int) (*os.File, Version, error) {
	all, err := Versions(folder, name)
	if err != nil {
		return nil, Version{}, err
	}
	at := slices.IndexFunc(all, func(v Version) bool { return v.Number == number })
	if at < 0 {
		return nil, Version{}, fs.ErrNotExist
	}
	v := all[at]
	f, err := folder.Open(filepath.Join(versionsFolder, versionsOf(name), fmt.Sprintf("%d.%s", v.Number, v.Hash)))
	return f, v, err
}
