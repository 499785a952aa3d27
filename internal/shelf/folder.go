package shelf

import (
	"io/fs"
	"os"
	"syscall"
)

// Folder is one of a shelf's folders, while somebody looks at it.
type Folder struct {
	Name string
	own  *os.Root
	at   string // the name under which it is at the moment
}

// Stat tells of a file of the folder, without following links. It costs a fraction of [Folder.Open].
func (f Folder) Stat(file string) (fs.FileInfo, error) { return f.own.Lstat(f.at + "/" + file) }

// Stamp is what a file looks like from outside: as long as it is the same, so is the file. The zero Stamp is that of no file.
type Stamp struct {
	size  int64
	when  int64
	inode uint64
}

// Stamp is that of a file of the folder.
func (f Folder) Stamp(file string) Stamp {
	info, err := f.Stat(file)
	if err != nil {
		return Stamp{}
	}
	s := Stamp{size: info.Size(), when: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = stat.Ino
	}
	return s
}

// Open opens the folder; the caller closes it.
func (f Folder) Open() (*os.Root, error) { return f.own.OpenRoot(f.at) }
