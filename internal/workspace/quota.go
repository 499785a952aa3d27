package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Quota bounds what the folder of one thread holds. Zero means the default, below zero no limit.
type Quota struct {
	Bytes int64 // of all files together; default 1 GiB
	Files int   // files and folders; default 20,000
}

// WithDefaults fills in what is zero.
func (q Quota) WithDefaults() Quota {
	if q.Bytes == 0 {
		q.Bytes = 1 << 30
	}
	if q.Files == 0 {
		q.Files = 20_000
	}
	return q
}

// Full is the error where a folder has no room.
type Full struct {
	Quota Quota // that would be passed
	Used  Usage
	More  Usage // what was to be added
}

func (e *Full) Error() string {
	if q := e.Quota.Bytes; q >= 0 && e.More.Bytes > 0 && e.Used.Bytes+e.More.Bytes > q {
		return fmt.Sprintf("the thread's folder is full: it holds %d of %d bytes, and %d more were to be written; files must be shortened or deleted first",
			e.Used.Bytes, q, e.More.Bytes)
	}
	return fmt.Sprintf("the thread's folder is full: it holds %d of %d files and folders, and %d more were to be made; some must be deleted first",
		e.Used.Files, e.Quota.Files, e.More.Files)
}

// Room returns a [*Full] if a thread's folder may not grow by so much. What does not grow it always has room. It looks at
// every file, so that it is right whoever wrote them.
func (q Quota) Room(folder *os.Root, bytes int64, files int) error {
	more := Usage{Bytes: bytes, Files: files}
	q = q.WithDefaults()
	if more.Bytes <= 0 && more.Files <= 0 || q.Bytes < 0 && q.Files < 0 {
		return nil
	}
	used := Measure(folder)
	if q.Bytes >= 0 && more.Bytes > 0 && used.Bytes+more.Bytes > q.Bytes || q.Files >= 0 && more.Files > 0 && used.Files+more.Files > q.Files {
		return &Full{Quota: q, Used: used, More: more}
	}
	return nil
}

// Usage is what a folder holds.
type Usage struct {
	Bytes int64
	Files int // and folders; the three that every thread has do not count
}

// Measure looks at everything in a thread's folder, versions of files too. What it cannot look into, or is gone meanwhile, does not count.
func Measure(folder *os.Root) (u Usage) {
	for _, area := range append([]string{versionsFolder}, Areas...) {
		walk(folder, area, func(_ string, e fs.DirEntry) {
			u.Files++
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				u.Bytes += info.Size()
			}
		})
	}
	return u
}

// walk visits everything below a folder, and each folder before what is in it. [fs.WalkDir] would pass over names that are
// not UTF-8.
func walk(root *os.Root, folder string, visit func(name string, e fs.DirEntry)) {
	f, err := root.Open(folder)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		visit(name, e)
		if e.IsDir() {
			walk(root, name, visit)
		}
	}
}
