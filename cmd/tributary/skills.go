package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/internal/skill"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool/files"
)

// skillTool is the name of the tool with which models load skills.
const skillTool = "load_skill"

// skillFolder is where the files of a skill that is used are, within the folder of its thread.
func skillFolder(name string) string { return path.Join(files.Workspace, "skills", name) }

// skills are those of the data folder and those that are built in, as the lead agent knows them.
func (c Config) skills() *middleware.SkillOptions {
	kept := skill.New(c.Data)
	quota := workspace.Quota{Bytes: c.ThreadBytes, Files: c.ThreadFiles}
	return &middleware.SkillOptions{
		Tool: skillTool,
		List: func(_ context.Context, s *agent.Step) ([]middleware.Skill, error) {
			all, err := kept.List(s.Config().Owner)
			var out []middleware.Skill
			for _, k := range all {
				if k.Problem == "" {
					out = append(out, middleware.Skill{Name: k.Name, Description: k.Description, Path: path.Join(files.Top, skillFolder(k.Name), skill.File)})
				}
			}
			return out, err
		},
		Load: func(_ context.Context, s *agent.Step, k middleware.Skill) (text string, err error) {
			err = kept.Open(s.Config().Owner, k.Name, func(folder fs.FS) error {
				if text, err = skill.Text(folder); err != nil || !c.Files {
					return err
				}
				thread, err := s.Folder()
				if err != nil {
					return err
				}
				n, err := skill.Unfold(folder, thread, skillFolder(k.Name), quota.Room)
				if n > 0 && err == nil {
					text = fmt.Sprintf("The files that the skill speaks of are in %s.\n\n%s", path.Join(files.Top, skillFolder(k.Name)), text)
				}
				return err
			})
			return text, err
		},
	}
}

type skillsCmd struct {
	List    skillsListCmd    `cmd:"" help:"List the skills, where they come from, and why one cannot be used."`
	Install skillsInstallCmd `cmd:"" help:"Install a skill from a folder or an archive."`
	Remove  skillsRemoveCmd  `cmd:"" help:"Remove a skill that was installed."`
}

type skillsListCmd struct{}

// Run lists the skills.
func (skillsListCmd) Run(e *env) error {
	all, err := skill.New(e.config.Data).List(tributary.DefaultOwner)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFROM\tNEEDS\tDESCRIPTION")
	for _, k := range all {
		needs, text := strings.Join(k.Secrets, " "), firstSentence(k.Description)
		if needs == "" {
			needs = "-"
		}
		if k.Problem != "" {
			text = "cannot be used: " + k.Problem
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.Name, k.Origin, needs, text)
	}
	return w.Flush()
}

type skillsInstallCmd struct {
	From    string `arg:"" type:"path" help:"The folder, or the archive (.skill or .zip)."`
	Public  bool   `help:"For all users of the server."`
	Replace bool   `help:"Replace a skill of the same name."`
}

// Run installs a skill and says what is in it.
func (c skillsInstallCmd) Run(e *env) error {
	r, err := skill.New(e.config.Data).Install(skillOwner(c.Public), c.From, c.Replace)
	if err != nil {
		return fmt.Errorf("install %s: %w", c.From, err)
	}
	fmt.Fprintf(e.stdout, "%s is installed, %d files of %d bytes together. Agents can use it at once; people with /%s.\n", r.Skill.Name, r.Files, r.Bytes, r.Skill.Name)
	for _, s := range r.Scripts {
		does := "nothing that stands out"
		if len(s.Hints) > 0 {
			does = strings.Join(s.Hints, ", ")
		}
		fmt.Fprintf(e.stdout, "script %s (%s): %s\n", s.Name, s.Kind, does)
	}
	if len(r.Scripts) > 0 {
		fmt.Fprintln(e.stdout, "Read scripts before you let an agent run them: this was a look at words, and proves nothing.")
	}
	if len(r.Skill.Secrets) > 0 {
		fmt.Fprintf(e.stdout, "It says that it needs secrets, which it is not given: %s\n", strings.Join(r.Skill.Secrets, ", "))
	}
	return nil
}

type skillsRemoveCmd struct {
	Name   string `arg:"" help:"Its name, as skills list shows it."`
	Public bool   `help:"One of those for all users."`
}

// Run removes a skill.
func (c skillsRemoveCmd) Run(e *env) error {
	err := skill.New(e.config.Data).Remove(skillOwner(c.Public), c.Name)
	if errors.Is(err, skill.ErrNone) {
		return remedied{fmt.Errorf("there is no skill %q that was installed", c.Name), "tributary skills list shows where each comes from; those that are built in stay"}
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "%s is removed.\n", c.Name)
	}
	return err
}

func skillOwner(public bool) string {
	if public {
		return skill.Everybody
	}
	return tributary.DefaultOwner
}
