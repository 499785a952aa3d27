// Package skill keeps skills: folders with a file SKILL.md that tells a model how to do something, in the public format, and whatever
// else that needs.
//
//	<data>/skills/custom/<owner>/<name>/SKILL.md    an owner's own
//	<data>/skills/public/<name>/SKILL.md            everybody's
//	built in
//
// # Laws
//
//   - The first of these that has a name counts. Nobody sees another owner's.
//   - An owner may switch a skill off. Then nothing loads it for him; it is listed all the same.
//   - What is installed is there as a whole and at once (see package shelf), and so is what people put there by hand. A folder that is no skill is
//     listed with its problem, and never loaded.
//   - What an installation or a change replaces is kept, the latest ten of each skill, and can be had again. What is removed is gone with them.
//   - An archive writes nothing outside of its own folder, whatever is in it: no links, no names that lead elsewhere, and no more
//     than the limits say, whatever it says of itself. One that breaks a rule is refused as a whole.
//   - Nothing of a skill is run here. Its text is material for a model, and gives no rights: allowed-tools opens nothing. Whoever runs agents
//     holds them to it: a list that is empty allows nothing, one that is missing says nothing.
package skill

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// File is the name of the file that makes a folder a skill.
const File = "SKILL.md"

// Where a skill comes from.
const (
	Custom  = "custom"
	Public  = "public"
	Builtin = "built in"
)

// Skill is a skill, without its text.
type Skill struct {
	Name        string
	Description string
	License     string
	Tools       []string // allowed-tools; nil: it does not say
	Secrets     []string // required-secrets
	Origin      string
	Off         bool   // its owner has switched it off
	Problem     string // why it cannot be used; empty if it can
}

// ErrNone says that there is no such skill.
var ErrNone = errors.New("there is no such skill")

const (
	mostText        = 256 << 10
	mostDescription = 4096
)

//go:embed builtin
var embedded embed.FS

// Skills are those of all owners. They are safe for concurrent use.
type Skills struct {
	custom *shelf.Shelf
	public *shelf.Shelf // its owner is Public

	mu    sync.Mutex
	known map[string]read // what was read, by folder
}

// read is a skill with what its file looked like.
type read struct {
	stamp shelf.Stamp
	skill Skill
}

// mostVersions is how many of the versions that were replaced are kept of each skill.
const mostVersions = 10

// New are the skills of a data folder. It touches nothing.
func New(data string) *Skills {
	dir := filepath.Join(data, "skills")
	return &Skills{custom: shelf.New(filepath.Join(dir, Custom)).Keep(mostVersions), public: shelf.New(dir).Keep(mostVersions), known: map[string]read{}}
}

// List lists the skills of an owner by name, those with a problem and those that are off too.
func (s *Skills) List(owner string) ([]Skill, error) {
	all := map[string]Skill{}
	for _, k := range builtins() {
		all[k.Name] = k
	}
	for _, from := range []struct {
		shelf         *shelf.Shelf
		owner, origin string
	}{{s.public, Public, Public}, {s.custom, owner, Custom}} {
		err := from.shelf.Each(from.owner, func(f shelf.Folder) error {
			all[f.Name] = s.look(f, from.owner, from.origin)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list skills: %w", err)
		}
	}
	off, err := s.off(owner)
	if err != nil {
		return nil, fmt.Errorf("list skills: %w", err)
	}
	list := make([]Skill, 0, len(all))
	for _, k := range all {
		k.Off = slices.Contains(off, k.Name)
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Get finds a skill of an owner's; [ErrNone] if there is none.
func (s *Skills) Get(owner, name string) (Skill, error) {
	all, err := s.List(owner)
	if err != nil {
		return Skill{}, err
	}
	at, ok := slices.BinarySearchFunc(all, name, func(k Skill, name string) int { return strings.Compare(k.Name, name) })
	if !ok {
		return Skill{}, ErrNone
	}
	return all[at], nil
}

// builtins are the skills that the program brings.
var builtins = sync.OnceValue(func() (all []Skill) {
	entries, err := fs.ReadDir(embedded, "builtin")
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, e := range entries {
		text, err := fs.ReadFile(embedded, "builtin/"+e.Name()+"/"+File)
		if err != nil {
			panic(err)
		}
		all = append(all, parse(e.Name(), Builtin, text))
	}
	return all
})

// look reads what is said of a skill, or remembers it where the file has not changed.
func (s *Skills) look(f shelf.Folder, owner, origin string) Skill {
	key := origin + "\x00" + owner + "\x00" + f.Name
	stamp := f.Stamp(File)
	s.mu.Lock()
	old, ok := s.known[key]
	s.mu.Unlock()
	if ok && old.stamp == stamp && stamp != (shelf.Stamp{}) {
		return old.skill
	}
	bad := func(err error) Skill { return Skill{Name: f.Name, Origin: origin, Problem: err.Error()} }
	folder, err := f.Open()
	if err != nil {
		return bad(err)
	}
	defer folder.Close()
	text, err := textOf(folder)
	if err != nil {
		return bad(err)
	}
	k := parse(f.Name, origin, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) > 10_000 {
		clear(s.known)
	}
	s.known[key] = read{stamp, k}
	return k
}

// textOf reads SKILL.md. It must be a file: a link could lead elsewhere, and a pipe would wait for somebody.
func textOf(folder *os.Root) ([]byte, error) {
	info, err := folder.Lstat(File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no " + File)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > mostText:
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", File, mostText)
	}
	f, err := folder.Open(File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostText))
}

// parse reads the head of a skill. The name is that of its folder, by which people call it.
func parse(name, origin string, text []byte) Skill {
	k := Skill{Name: name, Origin: origin}
	head, _, ok := split(text)
	if !ok {
		k.Problem = File + " must begin with a head of YAML between two lines of ---"
		return k
	}
	var h struct {
		Description string `yaml:"description"`
		License     string `yaml:"license"`
		Tools       names  `yaml:"allowed-tools"`
		Secrets     names  `yaml:"required-secrets"`
	}
	if err := yaml.Unmarshal(head, &h); err != nil {
		k.Problem = File + ": " + strings.TrimPrefix(err.Error(), "yaml: ")
		return k
	}
	k.Description, k.License, k.Tools, k.Secrets = strings.Join(strings.Fields(h.Description), " "), h.License, h.Tools, h.Secrets
	switch {
	case k.Description == "":
		k.Problem = File + ": its head has no description, by which a model would know when to use it"
	case len(k.Description) > mostDescription || !utf8.Valid(text):
		k.Problem = fmt.Sprintf("%s: must be text, with a description of at most %d bytes", File, mostDescription)
	}
	return k
}

// split takes a text apart into the head between two lines of --- and the rest.
func split(text []byte) (head, body []byte, ok bool) {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	if !ok {
		return nil, nil, false
	}
	if body, ok := bytes.CutPrefix(rest, []byte("---\n")); ok {
		return nil, body, true
	}
	head, body, ok = bytes.Cut(append(rest, '\n'), []byte("\n---\n"))
	return head, body, ok
}

// names are a list, or one text with commas or spaces between them, as both are written. Of an object its member name counts.
type names []string

// UnmarshalYAML reads either form.
func (n *names) UnmarshalYAML(node *yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag != "!!null" && strings.TrimSpace(node.Value) != "" {
			*n = strings.FieldsFunc(node.Value, func(r rune) bool { return r == ',' || r == ' ' })
		}
		return nil
	case yaml.SequenceNode:
		*n = names{}
		for _, one := range node.Content {
			var named struct {
				Name string `yaml:"name"`
			}
			if one.Kind == yaml.ScalarNode {
				*n = append(*n, one.Value)
			} else if one.Decode(&named) == nil && named.Name != "" {
				*n = append(*n, named.Name)
			}
		}
		return nil
	}
	return errors.New("allowed-tools and required-secrets must be lists of names")
}

// Open calls look with the folder of the skill that has a name for an owner; [ErrNone] if there is none. Links in it are not for looking at.
func (s *Skills) Open(owner, name string, look func(fs.FS) error) error {
	open := func(r *os.Root) error { return look(r.FS()) }
	err := s.custom.Read(owner, name, open)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.public.Read(Public, name, open)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !shelf.Valid(name) {
		return ErrNone
	}
	folder, err := fs.Sub(embedded, "builtin/"+name)
	if err == nil {
		_, err = fs.Stat(folder, File)
	}
	if err != nil {
		return ErrNone
	}
	return look(folder)
}

// Text is the text of a skill without its head.
func Text(folder fs.FS) (string, error) {
	text, err := fs.ReadFile(folder, File)
	if err != nil {
		return "", err
	}
	if len(text) > mostText {
		return "", fmt.Errorf("%s has more than %d bytes", File, mostText)
	}
	_, body, ok := split(text)
	if !ok {
		body = text
	}
	return strings.TrimSpace(string(body)), nil
}

// Remove removes a skill of an owner's, or of [Everybody]'s. Built-in ones cannot be removed.
func (s *Skills) Remove(owner, name string) error {
	on, owner, _ := s.place(owner)
	err := on.Read(owner, name, func(*os.Root) error { return nil })
	if err == nil {
		err = on.Remove(owner, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	return err
}

// Everybody stands for the owner of the public skills. It is no name that a person can have.
const Everybody = "\x00everybody"

// place is where the skills of an owner are, whose they are there, and what that is called.
func (s *Skills) place(owner string) (on *shelf.Shelf, whose, origin string) {
	if owner == Everybody {
		return s.public, Public, Public
	}
	return s.custom, owner, Custom
}
