package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"time"

	"github.com/tributary-ai/tributary/tool/files"
)

// The folders of a thread.
const (
	workspaceArea = files.Workspace
	uploadsArea   = files.Uploads
	outputsArea   = files.Outputs
)

var areas = []string{workspaceArea, uploadsArea, outputsArea}

func mountPoint(area string) string { return path.Join(files.Top, area) }

// openArea opens a folder of the thread, and makes it if there is none.
func openArea(folder *os.Root, area string) (*os.File, error) {
	if err := folder.Mkdir(area, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := folder.Lstat(area)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", mountPoint(area))
	}
	if err == nil && info.Mode()&0o700 != 0o700 { // a command has locked itself out
		err = folder.Chmod(area, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return folder.Open(area)
}

// usage is what a folder holds.
type usage struct {
	bytes int64
	files int
	deep  string // a folder that lies too deep in others to be looked into; empty if there is none
}

// deepest is how far folders may be nested. What lies deeper cannot be reached by its name in the end, neither by us.
const deepest = 100

// measure looks at everything that a command may have written. A folder that it has locked against us is opened again.
func measure(ctx context.Context, folder *os.Root) (u usage) {
	for _, area := range areas {
		u.walk(ctx, folder, area, area, 0)
	}
	return u
}

func (u *usage) walk(ctx context.Context, parent *os.Root, name, shown string, depth int) {
	if ctx.Err() != nil {
		return
	}
	if depth > deepest {
		u.deep = shown
		return
	}
	dir, err := parent.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) && parent.Chmod(name, 0o700) == nil {
		dir, err = parent.OpenRoot(name)
	}
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := list(dir)
	for _, e := range entries {
		u.files++
		if e.IsDir() {
			u.walk(ctx, dir, e.Name(), path.Join(shown, e.Name()), depth+1)
		} else if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			u.bytes += info.Size()
		}
	}
}

// list reads a folder. [fs.ReadDir] would not take names that are not UTF-8.
func list(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// warden keeps the folder of a thread within its limits while a command works in it.
type warden struct {
	folder *os.Root
	bytes  int64 // that there may be; below 0: any
	files  int
	room   int64 // bytes that there may be more than now; below 0: any
}

// newWarden looks at the folder before a command. One that is full already may not grow, but what shrinks it can be run.
func newWarden(folder *os.Root, opt Options) (*warden, error) {
	if folder == nil {
		return nil, errors.New("there is no folder to work in")
	}
	w := &warden{folder: folder, bytes: -1, files: -1, room: -1}
	if opt.Bytes <= 0 && opt.Files <= 0 {
		return w, nil
	}
	now := measure(context.Background(), folder)
	if opt.Bytes > 0 {
		w.bytes, w.room = max(opt.Bytes, now.bytes), max(opt.Bytes-now.bytes, 0)
	}
	if opt.Files > 0 {
		w.files = max(opt.Files, now.files)
	}
	return w, nil
}

// largest is how large a single file may become where nothing else says so.
const largest = 1 << 30

// fileSize is how large a single file may become.
func (w *warden) fileSize() int64 {
	if w.bytes < 0 {
		return largest
	}
	return w.bytes
}

// excess says, for the model, in what the folder is over its limits; empty if it is not.
func (w *warden) excess(ctx context.Context) string {
	now := measure(ctx, w.folder)
	switch {
	case w.bytes >= 0 && now.bytes > w.bytes:
		return fmt.Sprintf("the thread's folder is full: it holds %d of %d bytes; files must be shortened or deleted", now.bytes, w.bytes)
	case w.files >= 0 && now.files > w.files:
		return fmt.Sprintf("the thread's folder is full: it holds %d of %d files and folders; some must be deleted", now.files, w.files)
	case now.deep != "":
		return fmt.Sprintf("folders are nested more than %d deep, as in %s; delete them", deepest, path.Join(files.Top, now.deep))
	}
	return ""
}

// The pace of the warden: often enough that a fast disk cannot be filled, and never more than a part of the time.
const (
	wardenPause = 100 * time.Millisecond
	wardenShare = 4
)

var errLate = errors.New("it took too long")

// guard lets work go on until it returns, and stops it if the context ends or the folder is too full. It returns why it
// was stopped, or what work says about that; empty if it was not. When guard returns, work has returned.
func (w *warden) guard(ctx context.Context, stop func() *time.Timer, work func() string) (why string) {
	done := make(chan string, 1)
	go func() { done <- work() }()
	pause := time.NewTimer(wardenPause)
	defer pause.Stop()
	for {
		select {
		case why = <-done:
			if why != "" {
				return why
			}
			if why = w.excess(context.WithoutCancel(ctx)); why != "" {
				why = "when it had ended, " + why
			}
			return why
		case <-ctx.Done():
			why = "it was told to stop"
			if errors.Is(context.Cause(ctx), errLate) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
				why = "it took too long"
			}
		case <-pause.C:
			began := time.Now()
			why = w.excess(ctx)
			pause.Reset(wardenPause + wardenShare*time.Since(began))
		}
		if why != "" {
			kill := stop()
			<-done
			kill.Stop()
			return why
		}
	}
}

// mark is what tells whether a file was changed.
type mark struct {
	size     int64
	modified time.Time
}

// marks are the plain files of outputs.
func marks(folder *os.Root) map[string]mark {
	found := map[string]mark{}
	root, err := folder.OpenRoot(outputsArea)
	if err != nil {
		return found
	}
	defer root.Close()
	markAll(found, root, ".", 0)
	return found
}

func markAll(found map[string]mark, dir *os.Root, at string, depth int) {
	entries, _ := list(dir)
	for _, e := range entries {
		name := path.Join(at, e.Name())
		if e.IsDir() && depth < deepest {
			if below, err := dir.OpenRoot(e.Name()); err == nil {
				markAll(found, below, name, depth+1)
				below.Close()
			}
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			found[name] = mark{info.Size(), info.ModTime()}
		}
	}
}

// mostArtifacts is how many files one command can present.
const mostArtifacts = 100

// changed are the files of outputs that were not there before, or were different, under the names that models know. Names
// that could not be written as an argument are left out.
func changed(before, after map[string]mark) (names []string) {
	for name, m := range after {
		if old, ok := before[name]; ok && old == m {
			continue
		}
		p := files.Path{Area: outputsArea, Name: name}
		if back, err := files.ParsePath(p.String()); err == nil && back == p {
			names = append(names, p.String())
		}
	}
	sort.Strings(names)
	return names[:min(len(names), mostArtifacts)]
}
