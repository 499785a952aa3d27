package files

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Top is the folder that models are shown above the three.
const Top = "/mnt/user-data"

// The three folders, by the names that they have below [Top] and in the thread's folder.
const (
	Workspace = "workspace"
	Uploads   = "uploads"
	Outputs   = "outputs"
)

var areas = []string{Workspace, Uploads, Outputs}

const (
	longestPath    = 4096
	longestElement = 255
)

// Path names a file or a folder.
type Path struct {
	Area string // one of the three folders; empty for the one above them
	Name string // below the area, with slashes; "." for the area itself
}

// ParsePath reads a name as models write it. One that does not begin with a slash is below the workspace. Dots are
// resolved in the text; nothing else is: what is encoded in some other way is a strange name and no more.
//
// Every Path that ParsePath returns is read from its String again.
func ParsePath(written string) (Path, error) {
	if err := readable(written); err != nil {
		return Path{}, err
	}
	whole := path.Clean(written)
	if !strings.HasPrefix(written, "/") {
		whole = path.Join(Top, Workspace, written)
	}
	if whole == Top {
		return Path{Name: "."}, nil
	}
	below, inside := strings.CutPrefix(whole, Top+"/")
	area, name, _ := strings.Cut(below, "/")
	if name == "" {
		name = "."
	}
	for _, a := range areas {
		// IsLocal knows the names that are devices on some systems.
		if inside && a == area && filepath.IsLocal(filepath.FromSlash(name)) {
			return Path{a, name}, nil
		}
	}
	return Path{}, fmt.Errorf("%q is not within your folders; they are %s/workspace, %s/uploads and %s/outputs", shortened(written), Top, Top, Top)
}

// readable refuses what no file of ours is called.
func readable(written string) error {
	switch {
	case written == "":
		return errors.New("the path is empty; write one such as " + Top + "/workspace/notes.md")
	case !utf8.ValidString(written):
		return errors.New("the path is not UTF-8")
	case strings.ContainsFunc(written, unprintable):
		return fmt.Errorf("the path %q has control characters or line breaks in it; write it without", shortened(written))
	case strings.Contains(written, `\`):
		return fmt.Errorf("the path %q has a backslash in it; folders are separated by /", shortened(written))
	case len(written) > longestPath:
		return fmt.Errorf("the path %q is %d bytes long; at most %d are possible", shortened(written), len(written), longestPath)
	}
	for element := range strings.SplitSeq(written, "/") {
		if len(element) > longestElement {
			return fmt.Errorf("the name %q is %d bytes long; at most %d are possible between two slashes", shortened(element), len(element), longestElement)
		}
	}
	return nil
}

func unprintable(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// String is the name that models are shown.
func (p Path) String() string { return path.Join(Top, p.Area, p.Name) }

// below is the path of a file in the folder p.
func (p Path) below(name string) Path { return Path{p.Area, path.Join(p.Name, name)} }

// shown is a name for a list of names. One that could not be written as an argument, such as one that holds a line break and
// then a lie, is quoted.
func (p Path) shown() string {
	name := p.String()
	if back, err := ParsePath(name); err != nil || back != p {
		return fmt.Sprintf("%q (a name that the tools cannot open)", name)
	}
	return name
}

// shortened keeps an error readable.
func shortened(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
