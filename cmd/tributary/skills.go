package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/skill"
	"github.com/tributary-ai/tributary/tool"
)

type skillsCmd struct {
	List     skillsListCmd     `cmd:"" help:"List the skills, where they come from, and why one cannot be used."`
	Show     skillsShowCmd     `cmd:"" help:"Print the text of a skill."`
	Install  skillsInstallCmd  `cmd:"" help:"Install a skill from a folder or an archive."`
	Check    skillsCheckCmd    `cmd:"" help:"Look at all skills below a folder, and say which could not be installed and why."`
	Enable   skillsEnableCmd   `cmd:"" help:"Switch a skill on."`
	Disable  skillsDisableCmd  `cmd:"" help:"Switch a skill off: agents are not told of it."`
	History  skillsHistoryCmd  `cmd:"" help:"List what a skill was before."`
	Rollback skillsRollbackCmd `cmd:"" help:"Have a skill be what it was before."`
	Remove   skillsRemoveCmd   `cmd:"" help:"Remove a skill that was installed."`
}

type skillsListCmd struct{}

// Run lists the skills.
func (skillsListCmd) Run(e *env) error {
	all, err := tributary.SkillsIn(e.config.Data).List(e.ctx, "")
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
		switch {
		case k.Problem != "":
			text = "cannot be used: " + k.Problem
		case k.Off:
			text = "off: " + text
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.Name, k.Origin, needs, text)
	}
	return w.Flush()
}

type skillsInstallCmd struct {
	From    string `arg:"" type:"path" help:"The folder, the archive (.skill or .zip), or a folder with many skills in it."`
	Public  bool   `help:"For all users of the server."`
	Replace bool   `help:"Replace skills of the same name."`
}

// Run installs a skill, or all those in a repository of them, and says what is in each.
func (c skillsInstallCmd) Run(e *env) error {
	skills := tributary.SkillsIn(e.config.Data)
	all, err := skillsBelow(c.From)
	if err != nil {
		return fmt.Errorf("install %s: %w", c.From, err)
	}
	if len(all) == 0 { // an archive, or nothing: the error says what is missing
		all = []string{c.From}
	}
	bad := 0
	for _, from := range all {
		r, err := skills.Install(e.ctx, skillOwner(c.Public), from, c.Replace)
		if err != nil && len(all) == 1 {
			return fmt.Errorf("install %s: %w", from, err)
		}
		if err != nil {
			bad++
			fmt.Fprintf(e.stdout, "%s: %v\n", from, err)
			continue
		}
		tellInstalled(e.stdout, r)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d skills in %s could not be installed", bad, len(all), c.From)
	}
	return nil
}

// tellInstalled says what is in a skill.
func tellInstalled(w io.Writer, r tributary.SkillReport) {
	fmt.Fprintf(w, "%s is installed, %d files of %d bytes together. Agents can use it at once; people with /%s.\n", r.Skill.Name, r.Files, r.Bytes, r.Skill.Name)
	for _, s := range r.Scripts {
		does := "nothing that stands out"
		if len(s.Hints) > 0 {
			does = strings.Join(s.Hints, ", ")
		}
		fmt.Fprintf(w, "script %s (%s): %s\n", s.Name, s.Kind, does)
	}
	if len(r.Scripts) > 0 {
		fmt.Fprintln(w, "Read scripts before you let an agent run them: this was a look at words, and proves nothing.")
	}
	if len(r.Skill.Secrets) > 0 {
		fmt.Fprintf(w, "It says that it needs secrets, which it is not given: %s\n", strings.Join(r.Skill.Secrets, ", "))
	}
}

// skillsBelow are the folders at or below one that are skills. What is within a skill is a part of it.
func skillsBelow(folder string) (all []string, err error) {
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case entry.Name() == ".git" || entry.Name() == "node_modules":
			return fs.SkipDir
		}
		files, err := os.ReadDir(name)
		if err == nil && slices.ContainsFunc(files, func(f fs.DirEntry) bool { return skill.IsMain(f.Name()) }) {
			all, err = append(all, name), fs.SkipDir
		}
		return err
	})
	return all, err
}

type skillsRemoveCmd struct {
	Name   string `arg:"" help:"Its name, as skills list shows it."`
	Public bool   `help:"One of those for all users."`
}

// Run removes a skill.
func (c skillsRemoveCmd) Run(e *env) error {
	err := installed(c.Name, tributary.SkillsIn(e.config.Data).Remove(e.ctx, skillOwner(c.Public), c.Name))
	if err == nil {
		fmt.Fprintf(e.stdout, "%s is removed.\n", c.Name)
	}
	return err
}

func skillOwner(public bool) string {
	if public {
		return tributary.Everybody
	}
	return tributary.DefaultOwner
}

// installed says what to do where there is no such skill.
func installed(name string, err error) error {
	if errors.Is(err, tributary.ErrNotFound) {
		return remedied{fmt.Errorf("there is no skill %q that was installed", name), "tributary skills list shows where each comes from; those that are built in stay"}
	}
	return err
}

type skillsShowCmd struct {
	Name string `arg:"" help:"Its name, as skills list shows it."`
}

// Run prints a skill.
func (c skillsShowCmd) Run(e *env) error {
	text, err := tributary.SkillsIn(e.config.Data).Text(e.ctx, "", c.Name)
	if errors.Is(err, tributary.ErrNotFound) {
		return remedied{fmt.Errorf("there is no skill %q", c.Name), "tributary skills list shows those that there are"}
	}
	if err == nil {
		fmt.Fprintln(e.stdout, strings.TrimRight(text, "\n"))
	}
	return err
}

type skillsEnableCmd struct {
	Name string `arg:"" help:"Its name, as skills list shows it."`
}

// Run switches a skill on.
func (c skillsEnableCmd) Run(e *env) error { return switchSkill(e, c.Name, true) }

type skillsDisableCmd struct {
	Name string `arg:"" help:"Its name, as skills list shows it."`
}

// Run switches a skill off.
func (c skillsDisableCmd) Run(e *env) error { return switchSkill(e, c.Name, false) }

func switchSkill(e *env, name string, on bool) error {
	_, err := tributary.SkillsIn(e.config.Data).Switch(e.ctx, "", name, on)
	if errors.Is(err, tributary.ErrNotFound) {
		return remedied{fmt.Errorf("there is no skill %q", name), "tributary skills list shows those that there are"}
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "%s is %s from the next run on.\n", name, map[bool]string{true: "on", false: "off"}[on])
	}
	return err
}

type skillsHistoryCmd struct {
	Name   string `arg:"" help:"Its name, as skills list shows it."`
	Public bool   `help:"One of those for all users."`
}

// Run lists what a skill was.
func (c skillsHistoryCmd) Run(e *env) error {
	all, err := tributary.SkillsIn(e.config.Data).History(e.ctx, skillOwner(c.Public), c.Name)
	if err != nil {
		return installed(c.Name, err)
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tWRITTEN\tDESCRIPTION")
	for _, v := range all {
		fmt.Fprintf(w, "%d\t%s\t%s\n", v.Number, v.At.Format("2006-01-02 15:04:05"), firstSentence(v.Description))
	}
	return w.Flush()
}

type skillsRollbackCmd struct {
	Name    string `arg:"" help:"Its name, as skills list shows it."`
	Version int    `arg:"" help:"The version, as skills history lists it."`
	Public  bool   `help:"One of those for all users."`
}

// Run has a skill be what it was.
func (c skillsRollbackCmd) Run(e *env) error {
	_, err := tributary.SkillsIn(e.config.Data).Rollback(e.ctx, skillOwner(c.Public), c.Name, c.Version)
	if errors.Is(err, tributary.ErrNotFound) {
		return remedied{fmt.Errorf("there is no version %d of a skill %q", c.Version, c.Name), "tributary skills history shows those that there are"}
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "%s is again what it was in version %d.\n", c.Name, c.Version)
	}
	return err
}

type skillsCheckCmd struct {
	Folder string `arg:"" type:"existingdir" help:"A folder with skills in it, such as a repository of them."`
}

// Run installs every skill below a folder into one that is thrown away, and says how that went.
func (c skillsCheckCmd) Run(e *env) error {
	temp, err := os.MkdirTemp("", "tributary-skills-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	all, err := skillsBelow(c.Folder)
	if err != nil {
		return err
	}
	skills, good := tributary.SkillsIn(temp), 0
	for _, from := range all {
		r, err := skills.Install(e.ctx, "", from, true)
		if err != nil {
			fmt.Fprintf(e.stdout, "%s: %v\n", from, err)
			continue
		}
		good++
		fmt.Fprintf(e.stdout, "%s: %s, %d files, %d scripts\n", from, r.Skill.Name, r.Files, len(r.Scripts))
	}
	fmt.Fprintf(e.stdout, "%d skills can be installed, %d cannot\n", good, len(all)-good)
	return nil
}

// SkillsConfig is the part of the file about skills.
type SkillsConfig struct {
	// Manage gives agents the tool skill_manage, with which they write skills that later runs are told of.
	Manage bool `yaml:"manage"`
}

// skillKit has the tool that writes skills. The one that loads them comes with the lead agent.
func skillKit(_ *env, config Config, _ *slog.Logger) (kit, error) {
	if !config.Skills.Manage {
		return kit{group: "skills", off: "agents do not write skills: skills.manage is not set in the configuration"}, nil
	}
	return kit{group: "skills", tools: []tool.Tool{tributary.SkillsIn(config.Data).Tool()}}, nil
}
