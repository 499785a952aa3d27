package skill

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// spellings are how authors spell [File], the best first. What is installed has it as it should be.
var spellings = []string{File, "skill.md", "Skill.md", "SKILLS.md"}

// mainOf finds the file that makes entries a skill; -1 if there is none.
func mainOf(entries []entry) int {
	for _, name := range spellings {
		if at := slices.IndexFunc(entries, func(e entry) bool { return e.name == name }); at >= 0 {
			return at
		}
	}
	return -1
}

// IsMain reports whether a file of this name makes its folder a skill.
func IsMain(name string) bool { return slices.Contains(spellings, name) }

var nameLine = regexp.MustCompile(`(?m)^name:[ \t]*["']?([^"'\n]*?)["']?[ \t]*$`)

// nameIn is the name that a skill gives itself in its head; empty if it gives none.
func nameIn(text []byte) string {
	head, _, _ := split(text)
	if m := nameLine.FindSubmatch(head); m != nil {
		return string(m[1])
	}
	return ""
}

// nameOf is what a skill is called here: as it calls itself, or else as the place that it comes from. Many authors write a title, such as
// "Docker Hub", or one in letters that no address has; those that look like a path are refused.
func nameOf(own, place string) (string, error) {
	name := spell(own)
	if own == "" || name == "" && plain(own) {
		own, name = place, spell(place)
	}
	if !shelf.Valid(name) || !plain(own) {
		return "", refuse("its name %q must be small letters, digits and dashes, 1 to 64 of them", clip(own))
	}
	return name, nil
}

// plain reports whether a name is words, in whatever letters.
func plain(name string) bool {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -_.", r)
	}
	return !strings.HasPrefix(name, ".") && !strings.ContainsFunc(name, odd)
}

// spell spells words with small letters, digits and single dashes; it is empty for words that need other letters.
func spell(words string) string {
	if strings.ContainsFunc(words, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	between := func(r rune) bool { return strings.ContainsRune(" -_.", r) }
	if shelf.Valid(words) { // as it is, whatever dashes it has
		return words
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(words), between), "-")
}
