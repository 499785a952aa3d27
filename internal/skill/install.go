package skill

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// What a skill may hold.
const (
	mostFiles   = 1000
	mostFile    = 10 << 20
	mostBytes   = 50 << 20
	mostDepth   = 16
	mostElement = 200
	mostRatio   = 100     // of what is unpacked to what was packed,
	ratioFrom   = 1 << 20 // once it is more than this
)

// MostArchive is how many bytes an archive may have.
const MostArchive = 20 << 20

// RefusedError says why something is not installed.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Report is what was installed.
type Report struct {
	Skill   Skill
	Files   int
	Bytes   int64
	Scripts []Script
}

// Script is a file of a skill that can be run.
type Script struct {
	Name  string
	Kind  string   // a language, or "program"
	Hints []string // what it looks like it does; a reader's help, and no proof of anything else
}

// entry is a file of a skill that is to be installed.
type entry struct {
	name   string
	size   int64 // as it says of itself
	packed int64 // 0: it is not packed
	open   func() (io.ReadCloser, error)
}

// Install installs a skill from a folder or an archive for an owner, or for [Everybody]. One of its name is replaced only if
// that is wanted. A mistake of the source is a [*RefusedError].
func (s *Skills) Install(owner, from string, replace bool) (Report, error) {
	info, err := os.Stat(from)
	if err != nil {
		return Report{}, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(from)
		if err != nil {
			return Report{}, err
		}
		defer root.Close()
		entries, err := inFolder(root)
		if err != nil {
			return Report{}, err
		}
		return s.install(owner, filepath.Base(from), entries, replace)
	}
	file, err := os.Open(from)
	if err != nil {
		return Report{}, err
	}
	defer file.Close()
	return s.Unpack(owner, filepath.Base(from), file, info.Size(), replace)
}

// Unpack is [Skills.Install] for an archive that somebody sends; name is what he calls it.
func (s *Skills) Unpack(owner, name string, from io.ReaderAt, size int64, replace bool) (Report, error) {
	if size > MostArchive {
		return Report{}, refuse("%s has more than %d bytes", clip(name), MostArchive)
	}
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return Report{}, refuse("%s is neither a folder nor an archive that can be read: %v", clip(name), err)
	}
	entries, top, err := inArchive(archive)
	if err != nil {
		return Report{}, err
	}
	if top == "" {
		top = strings.TrimSuffix(name, path.Ext(name))
	}
	return s.install(owner, top, entries, replace)
}

// inFolder lists the files of a folder. What tools leave behind there is passed over.
func inFolder(root *os.Root) ([]entry, error) {
	var all []entry
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "__MACOSX"):
			return fs.SkipDir
		case e.IsDir() || e.Name() == ".DS_Store":
			return nil
		case !e.Type().IsRegular():
			return refuse("%s is a link or no file; a skill may have none", name)
		case len(all) >= mostFiles:
			return refuse("it has more than %d files", mostFiles)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all = append(all, entry{name: name, size: info.Size(), open: func() (io.ReadCloser, error) { return root.Open(name) }})
		return nil
	})
	return all, err
}

// inArchive lists the files of an archive. Where all of them are in one folder, top is its name, and they are listed without it.
func inArchive(archive *zip.Reader) (all []entry, top string, err error) {
	if len(archive.File) > 2*mostFiles { // folders are entries too
		return nil, "", refuse("it has more than %d entries", 2*mostFiles)
	}
	for _, f := range archive.File {
		name := f.Name
		mode := f.Mode()
		switch {
		case strings.HasPrefix(name, "__MACOSX/") || path.Base(name) == ".DS_Store":
			continue
		case mode.IsDir() && strings.HasSuffix(name, "/"):
			if err := checkName(strings.TrimSuffix(name, "/")); err != nil {
				return nil, "", err
			}
			continue
		case !mode.IsRegular() || mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
			return nil, "", refuse("%q is a link or no plain file; a skill may have none", clip(name))
		case f.Flags&1 != 0:
			return nil, "", refuse("%q is encrypted", clip(name))
		case f.UncompressedSize64 > mostFile:
			return nil, "", refuse("%q has more than %d bytes", clip(name), mostFile)
		}
		if err := checkName(name); err != nil {
			return nil, "", err
		}
		all = append(all, entry{name, int64(f.UncompressedSize64), max(int64(f.CompressedSize64), 1), f.Open})
	}
	if mainOf(all) >= 0 || len(all) == 0 {
		return all, "", nil
	}
	top, _, _ = strings.Cut(all[0].name, "/")
	if slices.ContainsFunc(all, func(e entry) bool { return !strings.HasPrefix(e.name, top+"/") }) {
		return all, "", nil
	}
	for i := range all {
		all[i].name = strings.TrimPrefix(all[i].name, top+"/")
	}
	return all, top, nil
}

// checkName refuses names that would lead elsewhere, somewhere.
func checkName(name string) error {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || r == '\\' || r == ':' || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
	}
	switch {
	case !fs.ValidPath(name) || name == ".":
		return refuse("%q leads out of the skill, or is no name", clip(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, odd):
		return refuse("%q has characters that no name of a file should have", clip(name))
	case strings.Count(name, "/") >= mostDepth:
		return refuse("%q is in more than %d folders", clip(name), mostDepth)
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > mostElement || strings.TrimRight(element, ". ") != element {
			return refuse("%q is too long, or ends in a dot or a space", clip(element))
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// install writes a skill. Its name is the one that it gives itself, or else that of where it comes from.
func (s *Skills) install(owner, fallback string, entries []entry, replace bool) (Report, error) {
	on, owner, origin := s.place(owner)
	r, err := check(fallback, origin, entries)
	if err != nil {
		return r, err
	}
	err = on.Put(owner, r.Skill.Name, func(to, old *os.Root) error {
		if old != nil && !replace {
			return refuse("there is a skill %s already; replace it, or remove it first", r.Skill.Name)
		}
		return r.fill(to, entries)
	})
	return r, err
}

// taken are names that mean something else: routes.
var taken = []string{"custom", "install", "reload"}

// check looks at what is to be installed, as far as that can be done without unpacking it.
func check(fallback, origin string, entries []entry) (Report, error) {
	var total int64
	seen := map[string]bool{}
	for _, e := range entries {
		if err := checkName(e.name); err != nil {
			return Report{}, err
		}
		if seen[strings.ToLower(e.name)] {
			return Report{}, refuse("%q is there twice, or differs from another by capitals alone", clip(e.name))
		}
		seen[strings.ToLower(e.name)] = true
		if e.size > mostFile {
			return Report{}, refuse("%q has more than %d bytes", clip(e.name), mostFile)
		}
		if total += e.size; total > mostBytes {
			return Report{}, refuse("it has more than %d bytes", mostBytes)
		}
	}
	if len(entries) > mostFiles {
		return Report{}, refuse("it has more than %d files", mostFiles)
	}
	at := mainOf(entries)
	if at < 0 {
		return Report{}, refuse("there is no %s at its top", File)
	}
	entries[at].name = File
	text, err := take(entries[at], mostText)
	if err != nil {
		return Report{}, err
	}
	name, err := nameOf(nameIn(text), fallback)
	if err != nil {
		return Report{}, err
	}
	if slices.Contains(taken, name) {
		return Report{}, refuse("%s is no name for a skill: %s mean something else", name, strings.Join(taken, ", "))
	}
	r := Report{Skill: parse(name, origin, text)}
	if r.Skill.Problem != "" {
		return r, refuse("%s", r.Skill.Problem)
	}
	return r, nil
}

// fill writes the files of a skill, and notes what they are.
func (r *Report) fill(to *os.Root, entries []entry) error {
	r.Files, r.Bytes, r.Scripts = 0, 0, nil
	for _, e := range entries {
		data, err := take(e, min(mostFile, mostBytes-r.Bytes))
		if err != nil {
			return err
		}
		if err := shelf.Write(to, e.name, bytes.NewReader(data)); err != nil {
			return refuse("%q cannot be written: %v", clip(e.name), err)
		}
		r.Files++
		r.Bytes += int64(len(data))
		if script, ok := scan(e.name, data); ok {
			r.Scripts = append(r.Scripts, script)
		}
	}
	return nil
}

// take reads a file, and believes nothing that it says of its size.
func take(e entry, most int64) ([]byte, error) {
	from, err := e.open()
	if err != nil {
		return nil, refuse("%q cannot be read: %v", clip(e.name), err)
	}
	defer from.Close()
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	switch {
	case int64(len(data)) > most:
		return nil, refuse("%q is larger than a skill may be", clip(e.name))
	case err != nil:
		return nil, refuse("%q cannot be read: %v", clip(e.name), err)
	case e.packed > 0 && len(data) > ratioFrom && int64(len(data)) > mostRatio*e.packed:
		return nil, refuse("%q is packed more than %d times, as no honest file is", clip(e.name), mostRatio)
	}
	return data, nil
}

// languages are the endings of files that can be run.
var languages = map[string]string{
	".py": "Python", ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".ts": "TypeScript", ".rb": "Ruby",
	".pl": "Perl", ".php": "PHP", ".ps1": "PowerShell", ".bat": "batch", ".cmd": "batch", ".go": "Go", ".lua": "Lua", ".r": "R", ".jar": "program", ".exe": "program", ".dll": "program", ".so": "program",
}

// signs are what scripts that do something look like.
var signs = []struct {
	hint string
	sign *regexp.Regexp
}{
	{"uses the network", regexp.MustCompile(`\b(curl|wget|requests|urllib|httpx|aiohttp|socket|fetch\(|axios|https?\.(get|request|Get|Post)|net/http|Invoke-WebRequest)`)},
	{"runs programs", regexp.MustCompile(`\b(subprocess|os\.system|os\.popen|exec\(|eval\(|child_process|spawn\(|os/exec|Start-Process)`)},
	{"deletes files", regexp.MustCompile(`\b(rm\s+-[a-z]*[rf]|rmtree|unlink|os\.remove|rmSync|Remove-Item)`)},
	{"looks at secrets or the environment", regexp.MustCompile(`(os\.environ|getenv|process\.env|\.ssh\b|\.aws\b|id_rsa|API_KEY|SECRET|TOKEN)`)},
	{"hides what it does", regexp.MustCompile(`(base64\s+-d|b64decode|atob\(|fromCharCode|\\x[0-9a-f]{2}\\x[0-9a-f]{2}\\x[0-9a-f]{2})`)},
}

// scan says what a file looks like it does, if it can be run.
func scan(name string, data []byte) (Script, bool) {
	s := Script{Name: name, Kind: languages[strings.ToLower(path.Ext(name))]}
	switch {
	case bytes.HasPrefix(data, []byte("\x7fELF")), bytes.HasPrefix(data, []byte("MZ")), bytes.HasPrefix(data, []byte("\xcf\xfa\xed\xfe")):
		s.Kind = "program"
	case s.Kind == "" && bytes.HasPrefix(data, []byte("#!")):
		line, _, _ := bytes.Cut(data, []byte("\n"))
		s.Kind = path.Base(strings.TrimSpace(string(line[2:])))
		s.Kind = clip(strings.TrimPrefix(s.Kind, "env "))
	}
	if s.Kind == "" {
		return s, false
	}
	for _, sign := range signs {
		if sign.sign.Match(data) {
			s.Hints = append(s.Hints, sign.hint)
		}
	}
	return s, true
}
