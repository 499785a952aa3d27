package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/tributary-ai/tributary/tool"
)

// desk is what one call works on.
type desk struct {
	folder *os.Root
	scope  tool.Scope
	task   string
	memory *memory
	room   func(*os.Root, int64, int) error
	keep   func(*os.Root, string) error
}

// memory is what a run knows of its files. It is gone after a crash; agents then have to read again what they change.
type memory struct {
	writing sync.Mutex // held by the one call that changes files: the room is counted over all of them

	mu   sync.Mutex
	seen map[sight]sum
}

// sight is one agent's knowledge of one file.
type sight struct {
	task string
	path Path
}

type sum [sha256.Size]byte

type memoryKey struct{}

func memoryOf(s tool.Scope) *memory {
	return s.Local(memoryKey{}, func() any { return &memory{seen: map[sight]sum{}} }).(*memory)
}

// saw notes the content that the agent of the call now knows.
func (d *desk) saw(p Path, content sum) {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	d.memory.seen[sight{d.task, p}] = content
}

// known is the content that the agent of the call saw last.
func (d *desk) known(p Path) (content sum, ok bool) {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	content, ok = d.memory.seen[sight{d.task, p}]
	return content, ok
}

// area opens one of the three folders as a root of its own, so that no link leads from one into another.
func (d *desk) area(name string) (*os.Root, error) {
	if err := d.folder.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := d.folder.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// The folder itself must not be a link to another.
	is, err := root.Stat(".")
	if err == nil {
		var named fs.FileInfo
		if named, err = d.folder.Lstat(name); err == nil && !os.SameFile(is, named) {
			err = errors.New("it is a link")
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// open opens a file for reading. What is no plain file is refused: a pipe would never end.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errFolder
	case !info.Mode().IsRegular():
		err = errors.New("it is not a plain file")
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

// openPath is open for callers that need the area no longer.
func (d *desk) openPath(p Path) (*os.File, fs.FileInfo, error) {
	if p.Area == "" {
		return nil, nil, explain("open", p, errFolder)
	}
	root, err := d.area(p.Area)
	if err != nil {
		return nil, nil, explain("open", p, err)
	}
	defer root.Close()
	f, info, err := open(root, p.Name)
	return f, info, explain("open", p, err)
}

var errFolder = errors.New("it is a folder")

// explain tells what went wrong with a file, under the name that the model knows, and nothing about where it really is.
func explain(op string, p Path, err error) error {
	var where *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s; ls and glob show what there is", p)
	case errors.Is(err, errFolder):
		return fmt.Errorf("%s is a folder; name a file", p)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	for {
		switch {
		case errors.As(err, &where):
			err = where.Err
		case errors.As(err, &link):
			err = link.Err
		case errors.As(err, &call):
			err = call.Err
		default:
			if strings.Contains(err.Error(), "escapes") { // os has no name for this error
				return fmt.Errorf("%s %s: a link on the way leads out of the folder", op, p)
			}
			return fmt.Errorf("%s %s: %w", op, p, err)
		}
	}
}

// hidden begins the names of files that are being written. They are not shown: they are gone in a moment.
const hidden = ".tributary-"

// replace puts a file into its place. Whoever reads it meanwhile sees the old content or the new, and never a part; a
// link or a second name in its place is taken away and not written through.
func replace(root *os.Root, name string, content []byte, mode fs.FileMode) (err error) {
	temp := filepath.FromSlash(path.Join(path.Dir(name), hidden+rand.Text()))
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	if _, err = f.Write(content); err == nil {
		err = f.Sync() // or the loss of power may leave the new name with nothing in it
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(temp, filepath.FromSlash(name))
}

// sumOf reads to the end.
func sumOf(ctx context.Context, r io.Reader) (s sum, err error) {
	h := sha256.New()
	for err == nil && ctx.Err() == nil {
		_, err = io.CopyN(h, r, 1<<20)
	}
	h.Sum(s[:0])
	if errors.Is(err, io.EOF) {
		return s, nil
	}
	return s, errors.Join(err, ctx.Err())
}
