package tributary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool/files"
)

// File is a file of a thread.
type File struct {
	Path     string // the name that agents know it by, as in /mnt/user-data/uploads/a.txt
	Size     int64
	Modified time.Time
}

// Upload puts a file among the uploads of a thread, which is made if it is missing; the agent's next run is told of it. Where the name is
// taken it gets the next that is free: a.txt, a_1.txt. Nobody sees a part of it.
func (r *Runtime) Upload(ctx context.Context, owner, thread, name string, content io.Reader) (File, error) {
	p, err := files.ParsePath(path.Join(files.Top, files.Uploads) + "/" + name)
	if err != nil || p.Area != files.Uploads || p.Name != name || strings.ContainsAny(name, "/") || strings.Trim(name, ".") == "" || strings.HasPrefix(name, workspace.Part) {
		return File{}, invalid("filename", fmt.Sprintf("%q cannot be the name of a file", name))
	}
	if _, err := r.Threads().Create(ctx, owner, NewThread{ID: thread}); err != nil && !errors.Is(err, ErrExists) {
		return File{}, err
	}
	folder, err := r.Folder(ctx, owner, thread)
	if err != nil {
		return File{}, err
	}
	defer folder.Close()
	temp, _, err := workspace.Stage(folder, p.Area, content)
	defer func() { _ = folder.Remove(temp) }()
	if err == nil {
		err = r.quota().Room(folder, 1, 0) // it is counted already
	}
	if err == nil {
		p.Name, err = workspace.Place(folder, temp, p.Area, name)
	}
	if err != nil {
		return File{}, fmt.Errorf("upload %s: %w", name, err)
	}
	return described(folder, p)
}

// Files lists the files of a thread below one of its folders, uploads, workspace or outputs, in the order of their names.
func (r *Runtime) Files(ctx context.Context, owner, thread, below string) ([]File, error) {
	if below != files.Uploads && below != files.Workspace && below != files.Outputs {
		return nil, invalid("folder", fmt.Sprintf("must be uploads, workspace or outputs, not %q", below))
	}
	folder, err := r.Folder(ctx, owner, thread)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var all []File
	err = fs.WalkDir(folder.FS(), below, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), workspace.Part) {
			return err
		}
		f, err := described(folder, files.Path{Area: below, Name: strings.TrimPrefix(name, below+"/")})
		switch {
		case err == nil:
			all = append(all, f)
		case errors.Is(err, ErrNotFound): // it went meanwhile
			return nil
		}
		return err
	})
	return all, err
}

// OpenFile opens a file of a thread, by the name that agents know it by.
func (r *Runtime) OpenFile(ctx context.Context, owner, thread, name string) (*os.File, error) {
	p, folder, err := r.fileOf(ctx, owner, thread, name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	f, err := folder.Open(path.Join(p.Area, p.Name))
	return f, gone(p, err)
}

// RemoveFile removes one.
func (r *Runtime) RemoveFile(ctx context.Context, owner, thread, name string) error {
	p, folder, err := r.fileOf(ctx, owner, thread, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return gone(p, folder.Remove(path.Join(p.Area, p.Name)))
}

// fileOf finds a file and opens the folder that it is in.
func (r *Runtime) fileOf(ctx context.Context, owner, thread, name string) (p files.Path, folder *os.Root, err error) {
	if p, err = files.ParsePath(name); err != nil {
		return p, nil, invalid("path", err.Error())
	}
	if folder, err = r.Folder(ctx, owner, thread); err != nil {
		return p, nil, err
	}
	if _, err = described(folder, p); err != nil {
		_ = folder.Close()
		return p, nil, err
	}
	return p, folder, nil
}

// described is what there is to say of a file. A folder, a link or a pipe is none.
func described(folder *os.Root, p files.Path) (File, error) {
	info, err := folder.Lstat(path.Join(p.Area, p.Name))
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return File{}, gone(p, err)
	}
	return File{Path: p.String(), Size: info.Size(), Modified: info.ModTime().UTC()}, nil
}

// gone says that there is no such file.
func gone(p files.Path, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s: %w", p, ErrNotFound)
	}
	return err
}
