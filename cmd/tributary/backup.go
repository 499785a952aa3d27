package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

type backupCmd struct {
	File    string `arg:"" help:"File to make. One that is there is not replaced." type:"path"`
	Damaged bool   `help:"Keep the backup even if something in it is damaged."`
	NoFiles bool   `help:"Leave the files of threads out."`
}

// agentsFolder, skillsFolder and threadsFolder are what a data folder holds beside its database that cannot be made again.
const (
	agentsFolder  = "agents"
	skillsFolder  = "skills"
	threadsFolder = "threads"
)

// Run copies all of a data folder that cannot be made again into one file, while a server may work on it.
func (c backupCmd) Run(e *env) error {
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	about := sqlite.Backup{Program: versionText(), Files: map[string]string{}, Folders: []string{agentsFolder, skillsFolder}}
	if !c.NoFiles {
		about.Folders = append(about.Folders, threadsFolder)
	}
	secret, err := os.ReadFile(filepath.Join(e.config.Data, secretFile))
	switch {
	case err == nil:
		about.Files[secretFile] = string(secret)
	case !errors.Is(err, fs.ErrNotExist):
		return remedied{fmt.Errorf("back up the webhook secret: %w", err), "make it readable"}
	}
	about, err = db.Backup(e.ctx, c.File, about, c.Damaged)
	tellFindings(e.stdout, about.Findings)
	switch {
	case errors.Is(err, sqlite.ErrDamaged):
		return fmt.Errorf("%d findings, no backup was made; delete the threads that are named, or make it nevertheless with --damaged", len(about.Findings))
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already and is not replaced; give another name", c.File)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return remedied{err, "give a file in a folder that you may write to"}
	case err != nil:
		return fmt.Errorf("back up: %w", err)
	}
	sound := "checked"
	if n := len(about.Findings); n > 0 {
		sound = fmt.Sprintf("with %d findings", n)
	}
	if c.NoFiles {
		fmt.Fprintf(e.stdout, "files of threads are not in it; copy %s too\n", filepath.Join(e.config.Data, threadsFolder))
	}
	fmt.Fprintf(e.stdout, "%s: %s, %s, %d bytes, %s\n", c.File, count(about.Threads, "thread"), count(about.Runs, "run"), about.Bytes, sound)
	return nil
}

type restoreCmd struct {
	File    string `arg:"" help:"Backup to put into the data folder." type:"path"`
	Damaged bool   `help:"Restore it even if something in it is damaged."`
}

// Run puts a backup into the data folder, which nobody may have open.
func (c restoreCmd) Run(e *env) error {
	done, err := sqlite.Restore(e.ctx, c.File, e.config.Data, c.Damaged, secretFile, agentsFolder, skillsFolder, threadsFolder)
	tellFindings(e.stdout, done.Findings)
	switch {
	case errors.Is(err, sqlite.ErrDamaged):
		return fmt.Errorf("%d findings in %s, nothing was changed; take another backup, or restore this one nevertheless with --damaged", len(done.Findings), c.File)
	case errors.Is(err, sqlite.ErrLocked):
		return err
	case err != nil:
		return fmt.Errorf("restore %s: %w", c.File, err)
	}
	made := ""
	if !done.At.IsZero() {
		made = done.At.Format(" of 2006-01-02 15:04:05 MST")
	}
	fmt.Fprintf(e.stdout, "%s: the backup%s is in place, %s, %s\n", e.config.Data, made, count(done.Threads, "thread"), count(done.Runs, "run"))
	if done.Aside != "" {
		fmt.Fprintf(e.stdout, "what was there is in %s, and can be removed when nobody needs it\n", done.Aside)
	}
	return nil
}

func tellFindings(out io.Writer, found []string) {
	for _, f := range found {
		fmt.Fprintln(out, f)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
