package research

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/tool/files"
)

// toReport leads to the reporter. The file that the report grows in is there, and in the state, before its first word.
func (w *work) toReport(ctx context.Context, s *graph.Scope, writes ...graph.Write) (graph.Command, error) {
	folder, err := s.Folder()
	if err != nil { // of a run without files the report is in the conversation alone
		return graph.Update(writes...).Go(NodeReporter), nil
	}
	name := reportFile.Get(s)
	for n := 1; name == ""; n++ { // an earlier report of the thread stays
		file := "report.md"
		if n > 1 {
			file = fmt.Sprintf("report-%d.md", n)
		}
		if full := path.Join(files.Top, files.Outputs, file); !slices.Contains(artifacts.Get(s), full) {
			name = full
		}
	}
	d := &draft{folder: folder, name: name}
	if err := errors.Join(d.begin(), d.close()); err != nil {
		return graph.Update(writes...).Go(NodeReporter), s.Emit(ctx, unwritten(name, err))
	}
	return graph.Update(append(writes, artifacts.Add(name), reportFile.Set(name))...).Go(NodeReporter), nil
}

func unwritten(name string, err error) event.Warned {
	var where *fs.PathError
	if errors.As(err, &where) {
		err = where.Err // where the folder really is is nobody's business
	}
	return event.Warned{Code: "report_file", Message: fmt.Sprintf("the report is not written into %s, but stands in the conversation: %v", name, err)}
}

// draft is a report as a file, which grows while the report is written: what a person has seen of it is in the file. The
// first piece of another try takes the place of what the one before wrote.
type draft struct {
	folder *os.Root
	name   string // as models know it
	file   *os.File
	text   strings.Builder // what the file has
	failed error           // the first; nothing is written after it
}

// draft opens that of the run; nil if it has none.
func (w *work) draft(s *graph.Scope) *draft {
	name := reportFile.Get(s)
	folder, err := s.Folder()
	if name == "" || err != nil {
		return nil
	}
	return &draft{folder: folder, name: name}
}

// begin makes the file anew.
func (d *draft) begin() error {
	err := d.close()
	d.text.Reset()
	if err == nil {
		d.file, err = d.create(path.Base(d.name))
	}
	return err
}

// create makes a file of the outputs. It is never one that somebody put there: that might be a pipe, or lead elsewhere.
func (d *draft) create(name string) (*os.File, error) {
	if err := d.folder.Mkdir(files.Outputs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	name = path.Join(files.Outputs, name)
	if err := d.folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return d.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// add writes the next piece.
func (d *draft) add(text string) {
	if d == nil || d.failed != nil {
		return
	}
	if d.file == nil {
		d.failed = d.begin()
	}
	if d.failed == nil {
		d.text.WriteString(text)
		_, d.failed = d.file.WriteString(text)
	}
}

// again has the next piece begin anew.
func (d *draft) again() {
	if d != nil {
		d.failed = errors.Join(d.failed, d.close())
	}
}

// whole makes sure that the file has all of the report: it may be from before a crash, and the file has only a part of it then.
// Who reads the file meanwhile has the one or the other.
func (d *draft) whole(text string) error {
	if d == nil {
		return nil
	}
	if err := errors.Join(d.failed, d.close()); err != nil || d.text.String() == text {
		return err
	}
	name := path.Base(d.name)
	f, err := d.create("." + name + ".part")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.folder.Rename(path.Join(files.Outputs, "."+name+".part"), path.Join(files.Outputs, name))
}

func (d *draft) close() error {
	if d == nil || d.file == nil {
		return nil
	}
	err := d.file.Close()
	d.file = nil
	return err
}
