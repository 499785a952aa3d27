package shelf

import (
	"os"
	"syscall"
)

// Folder is one of a shelf's folders, while somebody looks at it.
type Folder struct {
	Name string
	own  *os.Root
	place
}

// Stamp is what a file looks like from outside: as long as it is the same, so is the file. The zero Stamp is that of no file.
type Stamp struct {
	size  int64
	when  int64
	inode uint64
}

// Stamp is that of a file of the folder, without following a link. It is one question to the system, by the file's path: hundreds of folders
// are looked at before every run, and nothing of a file is told by its stamp.
func (f Folder) Stamp(file string) Stamp {
	info, err := os.Lstat(f.path + string(os.PathSeparator) + file)
	if err != nil {
		return Stamp{}
	}
	return stampOf(info)
}

func stampOf(info os.FileInfo) Stamp {
	s := Stamp{size: info.Size(), when: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = stat.Ino
	}
	return s
}

// Open opens the folder; the caller closes it.
func (f Folder) Open() (*os.Root, error) { return f.own.OpenRoot(f.at) }
