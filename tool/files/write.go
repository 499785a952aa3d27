package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// largest is how big a file may be that the tools write or change; they hold it in memory.
const largest = 16 << 20

type writeArguments struct {
	Path    string `json:"path" jsonschema:"the file, as in /mnt/user-data/workspace/notes.md"`
	Content string `json:"content" jsonschema:"the whole new content, or what is to be added"`
	Append  bool   `json:"append,omitempty" jsonschema:"true: add the content at the end of the file"`
}

func writeFile(ctx context.Context, d *desk, in writeArguments) (item.ToolResult, error) {
	done := "wrote"
	err := d.change(in.Path, func(p Path, old *os.File) ([]byte, bool, error) {
		switch {
		case old == nil:
			return []byte(in.Content), true, nil
		case in.Append:
			done = "added"
			before, err := whole(old)
			return append(before, in.Content...), d.knows(p, before), err
		}
		seen, ok := d.known(p)
		if !ok {
			return nil, false, fmt.Errorf("%s exists already, and you have not read it; read_file it first, or write to another name", p)
		}
		now, err := sumOf(ctx, old)
		if err == nil && now != seen {
			err = fmt.Errorf("%s has changed since you read it; read_file it again and keep what others wrote", p)
		}
		return []byte(in.Content), true, err
	})
	if err != nil {
		return item.ToolResult{}, err
	}
	p, _ := ParsePath(in.Path)
	return tool.Text(fmt.Sprintf("%s %d bytes: %s", done, len(in.Content), p)), nil
}

type replaceArguments struct {
	Path string `json:"path" jsonschema:"the file"`
	Old  string `json:"old_str" jsonschema:"the text to replace, exactly as it is in the file"`
	New  string `json:"new_str" jsonschema:"the text to put in its place"`
	All  bool   `json:"replace_all,omitempty" jsonschema:"true: replace it wherever it stands"`
}

func strReplace(_ context.Context, d *desk, in replaceArguments) (item.ToolResult, error) {
	if in.Old == "" {
		return item.ToolResult{}, errors.New("old_str is empty; to write a file use write_file")
	}
	var places int
	err := d.change(in.Path, func(p Path, old *os.File) ([]byte, bool, error) {
		if old == nil {
			return nil, false, explain("open", p, fs.ErrNotExist)
		}
		before, err := whole(old)
		if err != nil {
			return nil, false, err
		}
		if binary(before[:min(len(before), headBytes)]) {
			return nil, false, fmt.Errorf("%s is not text", p)
		}
		from, to := in.Old, in.New
		places = bytes.Count(before, []byte(from))
		if places == 0 { // models write plain line ends, whatever the file has
			from, to = crlf(from), crlf(to)
			places = bytes.Count(before, []byte(from))
		}
		switch {
		case places == 0:
			return nil, false, fmt.Errorf("old_str is not in %s; read_file shows what is there", p)
		case places > 1 && !in.All:
			return nil, false, fmt.Errorf("old_str stands %d times in %s; make it longer so that it is the only one, or set replace_all", places, p)
		case len(before)+places*(len(to)-len(from)) > largest:
			return nil, false, errTooLarge
		}
		return bytes.ReplaceAll(before, []byte(from), []byte(to)), d.knows(p, before), nil
	})
	if err != nil {
		return item.ToolResult{}, err
	}
	p, _ := ParsePath(in.Path)
	return tool.Text(fmt.Sprintf("replaced in %d places: %s", places, p)), nil
}

func crlf(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

var errTooLarge = fmt.Errorf("files of more than %d bytes cannot be written or changed with this tool", largest)

// whole reads a file that is to be changed.
func whole(f *os.File) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(content) > largest {
		err = errTooLarge
	}
	return content, err
}

// knows reports whether the agent of the call knew this content.
func (d *desk) knows(p Path, content []byte) bool {
	seen, ok := d.known(p)
	return ok && seen == sha256.Sum256(content)
}

// change replaces a file by what edit makes of it; old is nil where there is none yet. From the moment that edit looks at
// the file until the new one is in its place no other call of the run changes any. With known, edit says that the agent of
// the call knows the whole of the new content.
func (d *desk) change(written string, edit func(p Path, old *os.File) (content []byte, known bool, err error)) error {
	p, err := ParsePath(written)
	switch {
	case err != nil:
		return err
	case p.Name == ".":
		return explain("write", p, errFolder)
	case p.Area == Uploads:
		return fmt.Errorf("%s cannot be changed: what people uploaded is for reading; copy it to %s/%s", p, Top, Workspace)
	case strings.HasPrefix(path.Base(p.Name), hidden):
		return fmt.Errorf("%s: names that begin with %s are taken", p, hidden)
	}
	d.memory.writing.Lock()
	defer d.memory.writing.Unlock()
	root, err := d.area(p.Area)
	if err != nil {
		return explain("write", p, err)
	}
	defer root.Close()
	old, size, mode, err := current(root, p)
	if err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
	}
	content, known, err := edit(p, old)
	if err == nil && len(content) > largest {
		err = errTooLarge
	}
	if err != nil {
		return err
	}
	made := 0
	if old == nil {
		made = 1 + missing(root, p.Name)
	}
	if err := d.room(d.folder, int64(len(content))-size, made); err != nil {
		return fmt.Errorf("write %s: %w", p, err)
	}
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(p.Name)), 0o700); err != nil {
		return explain("write", p, err)
	}
	if err := replace(root, p.Name, content, mode); err != nil {
		return explain("write", p, err)
	}
	if known {
		d.saw(p, sha256.Sum256(content))
	}
	return nil
}

// current opens the file that is there. Links are not changed: it would not be plain which file is meant.
func current(root *os.Root, p Path) (f *os.File, size int64, mode fs.FileMode, err error) {
	info, err := root.Lstat(filepath.FromSlash(p.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, 0o600, nil
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, 0, fmt.Errorf("%s is a link; write to the file itself", p)
	case err == nil:
		f, info, err = open(root, p.Name)
	}
	if err != nil {
		return nil, 0, 0, explain("write", p, err)
	}
	return f, info.Size(), info.Mode().Perm(), nil
}

// missing counts the folders above a file that have to be made.
func missing(root *os.Root, name string) int {
	n := 0
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if _, err := root.Stat(filepath.FromSlash(up)); err == nil {
			break
		}
		n++
	}
	return n
}
