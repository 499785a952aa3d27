// Package custom keeps custom agents: what people say of an agent of their own, in two files that they may also write by hand.
//
//	<data>/agents/<owner>/<name>/config.yaml    description, model, tool_groups, skills, ...
//	<data>/agents/<owner>/<name>/SOUL.md        its character and knowledge
//
// # Laws
//
//   - An agent is its owner's alone.
//   - What is written is there as a whole and at once, for this process and for others (see package shelf); what people change by hand
//     counts from the next look on.
//   - Nothing is kept that is not valid. What people wrote by hand and is not valid is listed with its problem, and never used.
//   - Members of config.yaml that are unknown here are passed over, so that folders of DeerFlow can be used; they are lost when the
//     agent is changed here.
package custom

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/tributary-ai/tributary/internal/shelf"
)

// Agent is a custom agent.
type Agent struct {
	Name        string
	Description string
	Model       string
	Settings    Settings
	Thinking    *bool // nil: as the run or the installation has it
	Effort      string
	// Groups are the groups of tools that it has, and Skills its skills; nil: all, empty: none.
	Groups []string
	Skills []string
	Soul   string
	// Changed is when its files were written last. It is not for those who write.
	Changed time.Time
	// Problem says why what is in the folder cannot be used; the other members but Name are empty then.
	Problem string
}

// Settings are those of its model calls; nil and 0: the model's own.
type Settings struct {
	Temperature *float64 `json:"temperature" yaml:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens" yaml:"max_tokens,omitempty"`
}

// The errors of those who look for an agent that is not there, or make one that is.
var (
	ErrNone   = errors.New("there is no such agent")
	ErrExists = errors.New("there is an agent of that name already")
	ErrFull   = fmt.Errorf("there are %d agents already, and no more can be kept; delete some", mostAgents)
)

// InvalidError is a mistake in what an agent is said to be.
type InvalidError struct {
	Field   string // as the files and the routes name it
	Problem string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Problem }

const (
	mostAgents      = 200
	mostDescription = 2000
	mostSoul        = 100_000
	mostNames       = 100
	mostName        = 100
	mostConfig      = 64 << 10
	mostTokens      = 200_000
)

// The files of an agent.
const (
	configFile = "config.yaml"
	soulFile   = "SOUL.md"
)

// reserved are names that mean something else already: built-in agents and sub-agents, and a route.
var reserved = []string{"agent", "lead-agent", "research", "team", "general-purpose", "researcher", "bash", "check"}

// NameOf is the name under which an agent is kept: names do not tell capitals from small letters. The error is an [*InvalidError].
func NameOf(name string) (string, error) {
	name = strings.ToLower(name)
	bad := func(problem string) (string, error) { return "", &InvalidError{"name", problem} }
	switch {
	case !shelf.Valid(name):
		return bad("must be letters of a to z, digits and dashes, 1 to 64 of them, and not begin with a dash")
	case strings.HasPrefix(name, "user-"), strings.HasPrefix(name, "project-"):
		return bad("must not begin with user- or project-, which the platform keeps for itself")
	case slices.Contains(reserved, name):
		return bad("is the name of something else: " + strings.Join(reserved, ", ") + " are taken")
	}
	return name, nil
}

var efforts = []string{"", "none", "minimal", "low", "medium", "high", "xhigh"}

// Check says what is wrong with an agent, its name apart; an [*InvalidError].
func (a *Agent) Check() error {
	switch {
	case utf8.RuneCountInString(a.Description) > mostDescription || !plain(a.Description):
		return &InvalidError{"description", fmt.Sprintf("must be text of at most %d characters", mostDescription)}
	case len(a.Soul) > mostSoul || !plain(a.Soul):
		return &InvalidError{"soul", fmt.Sprintf("must be text of at most %d bytes", mostSoul)}
	case len(a.Model) > mostName || !plain(a.Model):
		return &InvalidError{"model", "must be the name of a model"}
	case !slices.Contains(efforts, a.Effort):
		return &InvalidError{"reasoning_effort", "must be one of " + strings.Join(efforts[1:], ", ")}
	case a.Settings.Temperature != nil && !(*a.Settings.Temperature >= 0 && *a.Settings.Temperature <= 2): // so that NaN is none
		return &InvalidError{"model_settings.temperature", "must be from 0 to 2"}
	case a.Settings.MaxTokens < 0 || a.Settings.MaxTokens > mostTokens:
		return &InvalidError{"model_settings.max_tokens", fmt.Sprintf("must be from 1 to %d", mostTokens)}
	}
	for field, names := range map[string][]string{"tool_groups": a.Groups, "skills": a.Skills} {
		if len(names) > mostNames {
			return &InvalidError{field, fmt.Sprintf("must be at most %d", mostNames)}
		}
		if slices.ContainsFunc(names, func(n string) bool { return n == "" || len(n) > mostName || !plain(n) }) {
			return &InvalidError{field, fmt.Sprintf("must be names of at most %d bytes", mostName)}
		}
	}
	return nil
}

// plain reports that a text is one, for models and files.
func plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// Agents are those of all owners. They are safe for concurrent use.
type Agents struct {
	shelf *shelf.Shelf

	mu    sync.Mutex
	known map[key]known
}

// New are the agents in a data folder. It touches nothing.
func New(data string) *Agents {
	return &Agents{shelf: shelf.New(filepath.Join(data, "agents")), known: map[key]known{}}
}

// Names lists the names of an owner's agents, those with a problem too.
func (s *Agents) Names(owner string) ([]string, error) {
	names, err := s.shelf.Names(owner)
	return slices.DeleteFunc(names, func(n string) bool { _, bad := NameOf(n); return bad != nil }), err
}

// List lists an owner's agents by name, those with a problem too.
func (s *Agents) List(owner string) ([]Agent, error) {
	var all []Agent
	err := s.shelf.Each(owner, func(f shelf.Folder) error {
		if name, err := NameOf(f.Name); err != nil || name != f.Name {
			return nil //nolint:nilerr // a name that is not for agents
		}
		all = append(all, s.look(owner, f))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return all, nil
}

// Get finds an agent; [ErrNone] if there is none.
func (s *Agents) Get(owner, name string) (a Agent, err error) {
	if name, err = NameOf(name); err != nil {
		return Agent{}, ErrNone
	}
	err = s.shelf.Read(owner, name, func(root *os.Root) error {
		a, err = read(root, name)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNone
	}
	return a, err
}

// Create keeps a new agent, and returns it as it is kept. [ErrExists] if its name is taken.
func (s *Agents) Create(owner string, a Agent) (Agent, error) {
	name, err := NameOf(a.Name)
	if err != nil {
		return a, err
	}
	a.Name = name
	if err := a.Check(); err != nil {
		return a, err
	}
	names, err := s.shelf.Names(owner)
	if err != nil {
		return a, fmt.Errorf("create agent %s: %w", name, err)
	}
	err = s.shelf.Put(owner, name, func(to, old *os.Root) error {
		if old != nil {
			return ErrExists
		}
		if len(names) >= mostAgents {
			return ErrFull
		}
		return write(to, a)
	})
	return a, err
}

// Update changes an agent, and returns it as it is then. change gets what is kept; its error is returned as it is.
func (s *Agents) Update(owner, name string, change func(*Agent) error) (a Agent, err error) {
	if name, err = NameOf(name); err != nil {
		return Agent{}, ErrNone
	}
	if _, err := s.Get(owner, name); errors.Is(err, ErrNone) {
		return Agent{}, ErrNone // no folder is made for an owner who has nothing
	}
	err = s.shelf.Put(owner, name, func(to, old *os.Root) error {
		if old == nil {
			return ErrNone
		}
		if a, err = read(old, name); err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		a.Name = name
		if err := a.Check(); err != nil {
			return err
		}
		return write(to, a)
	})
	return a, err
}

// Delete deletes an agent, whatever is in its folder; [ErrNone] if there is none.
func (s *Agents) Delete(owner, name string) error {
	name, err := NameOf(name)
	if err != nil {
		return ErrNone
	}
	if _, err := s.Get(owner, name); errors.Is(err, ErrNone) {
		return ErrNone
	}
	if err = s.shelf.Remove(owner, name); errors.Is(err, fs.ErrNotExist) {
		err = ErrNone
	}
	return err
}

// file is config.yaml.
type file struct {
	Name        string    `yaml:"name,omitempty"`
	Description string    `yaml:"description,omitempty"`
	Model       string    `yaml:"model,omitempty"`
	Settings    *Settings `yaml:"model_settings,omitempty"`
	Thinking    *bool     `yaml:"thinking_enabled,omitempty"`
	Short       *bool     `yaml:"thinking,omitempty"` // what people may write for it
	Effort      string    `yaml:"reasoning_effort,omitempty"`
	Groups      *[]string `yaml:"tool_groups,omitempty"`
	Skills      *[]string `yaml:"skills,omitempty"`
}

// read reads the files of an agent. Either may be missing: an agent that has nothing but a soul is one.
func read(root *os.Root, name string) (Agent, error) {
	bad := func(file string, err error) (Agent, error) {
		return Agent{}, fmt.Errorf("agent %s: %s: %w", name, file, err)
	}
	config, err := text(root, configFile, mostConfig)
	if err != nil {
		return bad(configFile, err)
	}
	var f file
	if err := yaml.Unmarshal(config, &f); err != nil {
		return bad(configFile, errors.New(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	soul, err := text(root, soulFile, mostSoul)
	if err != nil {
		return bad(soulFile, err)
	}
	a := Agent{Name: name, Description: f.Description, Model: f.Model, Thinking: f.Thinking, Effort: f.Effort, Soul: string(soul)}
	if a.Thinking == nil {
		a.Thinking = f.Short
	}
	if f.Settings != nil {
		a.Settings = *f.Settings
	}
	a.Groups, a.Skills = listed(f.Groups), listed(f.Skills)
	for _, file := range []string{configFile, soulFile} {
		if info, err := root.Lstat(file); err == nil && info.ModTime().After(a.Changed) {
			a.Changed = info.ModTime()
		}
	}
	if err := a.Check(); err != nil {
		return bad(configFile, err)
	}
	return a, nil
}

// listed tells a list that is empty from one that is not there.
func listed(names *[]string) []string {
	if names == nil {
		return nil
	}
	return append([]string{}, *names...)
}

// text reads a file that may be missing. It must be a file: a pipe would wait for somebody.
func text(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("it must be a file of at most %d bytes", most)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func write(to *os.Root, a Agent) error {
	f := file{Name: a.Name, Description: a.Description, Model: a.Model, Thinking: a.Thinking, Effort: a.Effort}
	if a.Settings != (Settings{}) {
		f.Settings = &a.Settings
	}
	if a.Groups != nil {
		f.Groups = &a.Groups
	}
	if a.Skills != nil {
		f.Skills = &a.Skills
	}
	config, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	if err := shelf.Write(to, configFile, bytes.NewReader(config)); err != nil {
		return err
	}
	return shelf.Write(to, soulFile, strings.NewReader(a.Soul))
}
