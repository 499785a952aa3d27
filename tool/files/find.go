package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

const (
	mostNames   = 500
	mostMatches = 100
	mostEntries = 50_000    // that one search looks at
	mostBytes   = 512 << 20 // that one grep reads
	matchBytes  = 300       // of a line that is shown
)

// listing is a result of many lines, cut where it becomes too long.
type listing struct {
	lines []string
	most  int
	note  string // why it is not all, if so
}

func (l *listing) full() bool {
	if len(l.lines) < l.most {
		return false
	}
	l.note = fmt.Sprintf("only the first %d are shown; ask for less at a time", l.most)
	return true
}

func (l *listing) result(none string) item.ToolResult {
	text := strings.Join(l.lines, "\n")
	if text == "" {
		text = none
	}
	if l.note != "" {
		text += "\n[" + l.note + "]"
	}
	return tool.Text(text)
}

type lsArguments struct {
	Path string `json:"path,omitempty" jsonschema:"the folder; /mnt/user-data if left out"`
}

func ls(_ context.Context, d *desk, in lsArguments) (item.ToolResult, error) {
	p, err := folderOf(in.Path)
	if err != nil {
		return item.ToolResult{}, err
	}
	out := listing{most: mostNames}
	if p.Area == "" {
		for _, a := range areas {
			out.lines = append(out.lines, Path{a, "."}.String()+"/")
		}
		return out.result(""), nil
	}
	root, err := d.area(p.Area)
	if err != nil {
		return item.ToolResult{}, explain("ls", p, err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), p.Name)
	if err != nil {
		if info, serr := root.Stat(filepath.FromSlash(p.Name)); serr == nil && !info.IsDir() {
			err = errors.New("it is a file, not a folder; read_file reads it")
		}
		return item.ToolResult{}, explain("ls", p, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), hidden) {
			continue
		}
		if out.full() {
			break
		}
		out.lines = append(out.lines, entryLine(p.below(e.Name()), e))
	}
	return out.result("The folder is empty."), nil
}

func entryLine(p Path, e fs.DirEntry) string {
	info, err := e.Info()
	switch {
	case e.IsDir():
		return p.shown() + "/"
	case err == nil && e.Type().IsRegular():
		return fmt.Sprintf("%s\t%d", p.shown(), info.Size())
	case e.Type()&fs.ModeSymlink != 0:
		return p.shown() + "\t(link)"
	}
	return p.shown() + "\t(not a plain file)"
}

// folderOf is the folder to look into, all three if nothing is said.
func folderOf(written string) (Path, error) {
	if written == "" {
		return Path{Name: "."}, nil
	}
	return ParsePath(written)
}

type globArguments struct {
	Pattern string `json:"pattern" jsonschema:"as in *.md or src/**/*.go, below the path: * is anything but a slash, ** any folders"`
	Path    string `json:"path,omitempty" jsonschema:"the folder to look into; /mnt/user-data if left out"`
}

func glob(ctx context.Context, d *desk, in globArguments) (item.ToolResult, error) {
	p, err := folderOf(in.Path)
	if err != nil {
		return item.ToolResult{}, err
	}
	if err := checkPattern(in.Pattern); err != nil {
		return item.ToolResult{}, err
	}
	out := listing{most: mostNames}
	err = d.walk(ctx, p, &out, func(_ *os.Root, file Path, below string) error {
		if !matches(in.Pattern, below) {
			return nil
		}
		if out.full() {
			return fs.SkipAll
		}
		out.lines = append(out.lines, file.shown())
		return nil
	})
	return out.result("No file has such a name."), err
}

type grepArguments struct {
	Pattern    string `json:"pattern" jsonschema:"the regular expression (RE2) that a line must match"`
	Path       string `json:"path,omitempty" jsonschema:"the file, or the folder to look into; /mnt/user-data if left out"`
	Glob       string `json:"glob,omitempty" jsonschema:"look only into files with such names, as in *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"true: capitals and small letters are the same"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"true: the pattern is plain text"`
}

func grep(ctx context.Context, d *desk, in grepArguments) (item.ToolResult, error) {
	p, err := folderOf(in.Path)
	if err != nil {
		return item.ToolResult{}, err
	}
	if err := checkPattern(in.Glob); in.Glob != "" && err != nil {
		return item.ToolResult{}, err
	}
	expression := in.Pattern
	if in.Literal {
		expression = regexp.QuoteMeta(expression)
	}
	if in.IgnoreCase {
		expression = "(?i)" + expression
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return item.ToolResult{}, fmt.Errorf("pattern: %w; set literal to look for plain text", err)
	}
	out := listing{most: mostMatches}
	var read int64
	err = d.walk(ctx, p, &out, func(root *os.Root, file Path, below string) error {
		if in.Glob != "" && !matches(in.Glob, below) {
			return nil
		}
		f, info, err := open(root, file.Name)
		if err != nil {
			return nil // gone meanwhile, or not for us
		}
		defer f.Close()
		if read += info.Size(); read > mostBytes {
			out.note = "there is too much to look through; name a folder or a glob"
			return fs.SkipAll
		}
		return grepFile(ctx, bufio.NewReaderSize(f, headBytes), re, file, &out)
	})
	return out.result("No line matches."), err
}

func grepFile(ctx context.Context, r *bufio.Reader, re *regexp.Regexp, file Path, out *listing) error {
	if head, _ := r.Peek(headBytes); binary(head) {
		return nil
	}
	for l, err := range lines(ctx, r) {
		if err != nil {
			return err
		}
		text := bytes.TrimRight(l.text, "\r\n")
		at := re.FindIndex(text)
		if at == nil {
			continue
		}
		if out.full() {
			return fs.SkipAll
		}
		out.lines = append(out.lines, fmt.Sprintf("%s:%d: %s", file.shown(), l.number, excerpt(text, at[0])))
	}
	return nil
}

// excerpt is the part of a long line in which something was found.
func excerpt(text []byte, at int) string {
	from, before, after := 0, "", ""
	if at > matchBytes/2 && len(text) > matchBytes {
		from, before = min(at-matchBytes/3, len(text)-matchBytes), "…"
	}
	if len(text) > from+matchBytes {
		text, after = text[:from+matchBytes], "…"
	}
	return before + strings.ToValidUTF8(string(text[from:]), "\uFFFD") + after
}

// walk calls do for every plain file at or below p, in order; below is its name from there. Links are not followed.
func (d *desk) walk(ctx context.Context, p Path, out *listing, do func(root *os.Root, file Path, below string) error) error {
	below := []string{p.Area}
	if p.Area == "" {
		below = areas
	}
	seen := 0
	for _, area := range below {
		root, err := d.area(area)
		if err != nil {
			return explain("look into", Path{area, "."}, err)
		}
		err = walkArea(ctx, root, Path{area, p.Name}, &seen, out, func(file Path) error {
			rest := strings.TrimPrefix(strings.TrimPrefix(file.String(), p.String()), "/")
			if rest == "" {
				rest = path.Base(file.Name)
			}
			return do(root, file, rest)
		})
		root.Close()
		if errors.Is(err, fs.SkipAll) {
			return nil
		}
		if err != nil {
			return explain("look into", p, err)
		}
	}
	return nil
}

func walkArea(ctx context.Context, root *os.Root, from Path, seen *int, out *listing, do func(Path) error) error {
	stopped := false
	err := fs.WalkDir(root.FS(), from.Name, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == from.Name {
				return err
			}
			return nil // what is gone meanwhile, or not for us, has no files
		}
		if *seen++; *seen > mostEntries {
			out.note = "there are too many files; name a folder"
			stopped = true
			return fs.SkipAll
		}
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), hidden) {
			return ctx.Err()
		}
		err = do(Path{from.Area, name})
		stopped = stopped || errors.Is(err, fs.SkipAll)
		return err
	})
	if err == nil && stopped {
		return fs.SkipAll
	}
	return err
}

func checkPattern(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > longestPath || !utf8.ValidString(pattern):
		return errors.New("the pattern of names is empty or too long")
	case strings.ContainsAny(pattern, "{}"):
		return errors.New("braces are not understood in patterns of names; call once for each alternative")
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("pattern of names %q: %w", shortened(pattern), err)
	}
	return nil
}

// matches reports whether a name below the searched folder fits a pattern. One without a slash is for the last part of
// the name, as people mean it.
func matches(pattern, name string) bool {
	if pattern = strings.TrimPrefix(pattern, "/"); !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	// reached[j]: the pattern so far fits the first j parts of the name. This is linear in both, whatever the pattern.
	parts := strings.Split(name, "/")
	reached := make([]bool, len(parts)+1)
	reached[0] = true
	for element := range strings.SplitSeq(pattern, "/") {
		next := make([]bool, len(parts)+1)
		for j, ok := range reached {
			switch {
			case element == "**":
				next[j] = ok || j > 0 && next[j-1]
			case ok && j < len(parts):
				fits, _ := path.Match(element, parts[j])
				next[j+1] = fits
			}
		}
		reached = next
	}
	return reached[len(parts)]
}
