package research

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Prompts are files, one for each role and style, in English and in Chinese. The first line of each is its version, which
// rises when the text changes.
//
//go:embed prompts
var promptFiles embed.FS

// promptData is what a prompt may speak of.
type promptData struct {
	Locale        string
	Today         string
	MaxSteps      int
	Round, Rounds int
	Search, Tools bool
	Clarify       bool
	Left          int
	Style         string // the text of the style
}

var templates = func() *template.Template {
	all := template.New("prompts")
	err := fs.WalkDir(promptFiles, "prompts", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := promptFiles.ReadFile(name)
		if err != nil {
			return err
		}
		_, text, _ := strings.Cut(string(raw), "\n") // the version
		_, err = all.New(strings.TrimSuffix(strings.TrimPrefix(name, "prompts/"), ".md")).Option("missingkey=error").Parse(text)
		return err
	})
	if err != nil {
		panic(err) // a mistake in a file that is built in
	}
	return all
}()

// prompt is what a role is told in a language.
func prompt(role, locale string, data promptData) string {
	folder := "en"
	if chinese(locale) {
		folder = "zh"
	}
	data.Today = time.Now().UTC().Format(time.DateOnly)
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, folder+"/"+role, data); err != nil {
		panic(err) // as above; a test writes every prompt
	}
	return strings.TrimSpace(b.String())
}

// Prompt is a prompt as it is built in.
type Prompt struct {
	Role     string // or "styles/academic"
	Language string // "en" or "zh"
	Version  string
	Text     string
}

// Prompts lists what the roles are told.
func Prompts() []Prompt {
	var out []Prompt
	_ = fs.WalkDir(promptFiles, "prompts", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := promptFiles.ReadFile(name)
		if err != nil {
			return err
		}
		version, text, _ := strings.Cut(string(raw), "\n")
		lang, role, _ := strings.Cut(strings.TrimPrefix(name, "prompts/"), "/")
		out = append(out, Prompt{strings.TrimSuffix(role, path.Ext(role)), lang, strings.TrimPrefix(version, "version: "), strings.TrimSpace(text)})
		return nil
	})
	slices.SortFunc(out, func(a, b Prompt) int { return strings.Compare(a.Language+a.Role, b.Language+b.Role) })
	return out
}

// String is the prompt under a heading.
func (p Prompt) String() string {
	return fmt.Sprintf("# %s (%s, version %s)\n\n%s\n", p.Role, p.Language, p.Version, p.Text)
}
