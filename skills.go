package tributary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/internal/skill"
	"github.com/tributary-ai/tributary/tool/files"
)

// Skill is a folder with a file SKILL.md that tells a model how to do something, without its text.
type Skill struct {
	Name        string
	Description string
	License     string
	Tools       []string // allowed-tools, as it is written; nil: it does not say
	Secrets     []string // required-secrets
	Origin      string   // "custom", "public" or "built in"
	Off         bool     // its owner has switched it off
	Problem     string   // why it cannot be used; empty if it can
}

// SkillReport is what was installed.
type SkillReport struct {
	Skill   Skill
	Files   int
	Bytes   int64
	Scripts []SkillScript
}

// SkillScript is a file of a skill that can be run, with what it looks like it does: a reader's help, and no proof of anything.
type SkillScript struct {
	Name  string
	Kind  string
	Hints []string
}

// SkillVersion is what a skill was before something replaced it.
type SkillVersion struct {
	Number      int
	At          time.Time
	Description string
}

// Skills are those of a data folder and those that are built in, by owner. An empty owner is the local user; [Everybody] stands for
// those that all have. [ErrNotFound] is the error where there is no such skill, and an [*InvalidError] says what is wrong with one.
type Skills struct{ kept *skill.Skills }

// Everybody is the owner of the skills that all have.
const Everybody = skill.Everybody

// SkillTool is the name of the tool with which models load skills.
const SkillTool = "load_skill"

// mostSkillText is how many bytes of a skill a model is shown at once. One of a hundred that people publish has more.
const mostSkillText = 40_000

// SkillsIn are the skills in a data folder, which need not belong to this process.
func SkillsIn(dir string) *Skills { return &Skills{skill.New(dir)} }

// Skills returns the skills in the runtime's folder.
func (r *Runtime) Skills() *Skills { return &Skills{r.skills} }

// List lists the skills of an owner by name, those with a problem and those that are off too.
func (s *Skills) List(_ context.Context, owner string) ([]Skill, error) {
	all, err := s.kept.List(skillOwner(owner))
	out := make([]Skill, 0, len(all))
	for _, k := range all {
		out = append(out, Skill(k))
	}
	return out, err
}

// Get finds a skill of an owner's.
func (s *Skills) Get(_ context.Context, owner, name string) (Skill, error) {
	k, err := s.kept.Get(skillOwner(owner), name)
	return Skill(k), skilled(err)
}

// Text is the whole file SKILL.md of a skill.
func (s *Skills) Text(_ context.Context, owner, name string) (string, error) {
	text, err := s.kept.Content(skillOwner(owner), name)
	return text, skilled(err)
}

// Install installs a skill from a folder or an archive (.skill, .zip), after a look at all that is in it. One of its name is replaced only
// if that is wanted.
func (s *Skills) Install(_ context.Context, owner, from string, replace bool) (SkillReport, error) {
	r, err := s.kept.Install(skillOwner(owner), from, replace)
	return reportOf(r), skilled(err)
}

// Change changes the files of a skill of an owner's own, or makes one: change gets them by name, none for a new skill, and its error is
// returned as it is.
func (s *Skills) Change(_ context.Context, owner, name string, change func(files map[string][]byte) error) (SkillReport, error) {
	r, err := s.kept.Change(skillOwner(owner), name, change)
	return reportOf(r), skilled(err)
}

// Switch switches a skill on or off for an owner.
func (s *Skills) Switch(_ context.Context, owner, name string, on bool) (Skill, error) {
	k, err := s.kept.Switch(skillOwner(owner), name, on)
	return Skill(k), skilled(err)
}

// History lists the versions of a skill that were replaced and are kept, the oldest first.
func (s *Skills) History(_ context.Context, owner, name string) ([]SkillVersion, error) {
	all, err := s.kept.History(skillOwner(owner), name)
	var out []SkillVersion
	for _, v := range all {
		out = append(out, SkillVersion(v))
	}
	return out, skilled(err)
}

// Rollback has a skill be again what a version of it was.
func (s *Skills) Rollback(_ context.Context, owner, name string, version int) (SkillReport, error) {
	r, err := s.kept.Rollback(skillOwner(owner), name, version)
	return reportOf(r), skilled(err)
}

// Remove removes a skill that was installed, with its history. Those that are built in stay.
func (s *Skills) Remove(_ context.Context, owner, name string) error {
	return skilled(s.kept.Remove(skillOwner(owner), name))
}

func skillOwner(owner string) string {
	if owner == Everybody {
		return owner
	}
	return identity(owner).Owner
}

func reportOf(r skill.Report) SkillReport {
	out := SkillReport{Skill: Skill(r.Skill), Files: r.Files, Bytes: r.Bytes}
	for _, s := range r.Scripts {
		out.Scripts = append(out.Scripts, SkillScript(s))
	}
	return out
}

// skilled says in this package's words what is wrong.
func skilled(err error) error {
	var refused *skill.RefusedError
	switch {
	case errors.As(err, &refused):
		return &as{err, &InvalidError{"skill", refused.Reason}}
	case errors.Is(err, skill.ErrNone):
		return &as{err, ErrNotFound}
	}
	return err
}

// Options has the lead agent tell models of the skills, and load them; for the place of that name in lead.Options. The files of a skill that
// is loaded are put into the thread's folder as long as room, which may be nil, has no objection; without withFiles they are not.
func (s *Skills) Options(withFiles bool, room func(folder *os.Root, bytes int64, files int) error) *middleware.SkillOptions {
	within := path.Join(files.Top, skillFolder("")) + "/" // put together here: there may be hundreds of them, before every run
	return &middleware.SkillOptions{
		Tool: SkillTool,
		Most: mostSkillText + 1000, // what is said before it is not to cost it a byte
		List: func(_ context.Context, step *agent.Step) ([]middleware.Skill, error) {
			all, err := s.kept.List(step.Config().Owner)
			var out []middleware.Skill
			for _, k := range all {
				if k.Problem == "" && !k.Off {
					out = append(out, middleware.Skill{Name: k.Name, Description: k.Description, Path: within + k.Name + "/" + skill.File, Tools: toolsOf(k.Tools), Secrets: k.Secrets})
				}
			}
			return out, err
		},
		Load: func(_ context.Context, step *agent.Step, k middleware.Skill) (text string, err error) {
			err = s.kept.Open(step.Config().Owner, k.Name, func(folder fs.FS) error {
				if text, err = skill.Text(folder); err != nil || !withFiles {
					return err
				}
				thread, err := step.Folder()
				if err != nil {
					return err
				}
				long, at := len(text) > mostSkillText, path.Join(files.Top, skillFolder(k.Name))
				n, err := skill.Unfold(folder, thread, skillFolder(k.Name), long, room)
				if n > 0 && err == nil {
					text = fmt.Sprintf("The files that the skill speaks of are in %s.\n\n%s", at, text)
				}
				if long && err == nil {
					text = fmt.Sprintf("The instructions are long, and a part in the middle is left out here. All of them are in %s; read that part there.\n\n%s", path.Join(at, skill.File), text)
				}
				return err
			})
			if len(k.Secrets) > 0 {
				text = fmt.Sprintf("The skill says that its scripts need these secrets in their environment: %s. Say so if they are not there; do not ask for them in the conversation.\n\n%s",
					strings.Join(k.Secrets, ", "), text)
			}
			return text, err
		},
	}
}

// publicTools are the names by which skills in the public format call tools that have other names here.
var publicTools = map[string][]string{
	"Read": {"read_file"}, "Write": {"write_file"}, "Edit": {"str_replace"}, "MultiEdit": {"str_replace"}, "LS": {"ls"}, "Glob": {"glob"}, "Grep": {"grep"},
	"Bash": {"bash", "python"}, "WebFetch": {"web_fetch"}, "WebSearch": {"web_search"}, "TodoWrite": {"write_todos"}, "Task": {"task"}, "AskUserQuestion": {"ask_clarification"},
}

// toolsOf are the tools that a skill names, by their names here. What is in brackets behind one, as in Bash(git:*), is passed over.
func toolsOf(names []string) []string {
	if names == nil {
		return nil
	}
	out := []string{}
	for _, name := range names {
		name, _, _ = strings.Cut(name, "(")
		if ours, ok := publicTools[name]; ok {
			out = append(out, ours...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

// skillFolder is where the files of a skill that is used are, within the folder of its thread.
func skillFolder(name string) string { return path.Join(files.Workspace, "skills", name) }
