package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/internal/checkup"
	"github.com/tributary-ai/tributary/internal/folder"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/tool/search"
)

type doctorCmd struct {
	JSON bool `help:"Print the findings as JSON." name:"json"`
}

// checks are all that the doctor looks at, in the order in which they are told. What gets something of its own that can be in order
// or not adds a line.
func checks(c Config) []checkup.Check {
	return []checkup.Check{
		{Name: "folder", Look: func(context.Context) []checkup.Finding { return lookAtFolder(c) }},
		{Name: "rights", Look: func(context.Context) []checkup.Finding { return lookAtRights(c) }},
		{Name: "disk", Look: func(context.Context) []checkup.Finding { return lookAtDisk(c, free) }},
		{Name: "database", Look: func(ctx context.Context) []checkup.Finding { return lookAtDatabase(ctx, c) }},
		{Name: "clock", Look: func(ctx context.Context) []checkup.Finding { return lookAtClock(ctx, c, time.Now()) }},
		{Name: "models", Look: func(context.Context) []checkup.Finding { return lookAtModels(c) }},
		{Name: "documents", Look: func(ctx context.Context) []checkup.Finding { return lookAtDocuments(ctx, c) }},
		{Name: "embeddings", Look: func(ctx context.Context) []checkup.Finding { return lookAtEmbeddings(ctx, c) }},
		{Name: "sandbox", Look: func(ctx context.Context) []checkup.Finding { return lookAtSandbox(ctx, c) }},
		{Name: "webhooks", Look: func(context.Context) []checkup.Finding { return lookAtSecret(c) }},
		{Name: "port", Look: func(ctx context.Context) []checkup.Finding { return lookAtPort(ctx, c) }},
		{Name: "memory", Look: func(context.Context) []checkup.Finding { return lookAtMemory("/") }},
		{Name: "files", Look: func(context.Context) []checkup.Finding { return lookAtOpenFiles() }},
	}
}

// Run makes the checks. It changes nothing but that a damaged write-ahead log is copied and mended, as any start does.
func (d doctorCmd) Run(e *env) error {
	found := checkup.Make(e.ctx, checks(e.config))
	tell := checkup.Text
	if d.JSON {
		tell = checkup.JSON
	}
	if err := tell(e.stdout, found); err != nil {
		return err
	}
	wrong, warnings := checkup.Count(found, checkup.Wrong), checkup.Count(found, checkup.Warning)
	switch {
	case wrong > 0:
		return fmt.Errorf("%s wrong, %s; see above what to do", are(wrong, "thing"), count(warnings, "warning"))
	case warnings > 0:
		fmt.Fprintf(e.stderr, "nothing is wrong; %s\n", count(warnings, "warning"))
	default:
		fmt.Fprintln(e.stderr, "all is well")
	}
	return nil
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

// notYet is what is said of what the first start will make.
const notYet = "is not there yet; the first start makes it"

func lookAtFolder(c Config) []checkup.Finding {
	info, err := os.Stat(c.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []checkup.Finding{checkup.Well("%s %s", c.Data, notYet)}
	case err != nil:
		return []checkup.Finding{checkup.Bad("give another folder with --data, or make this one reachable", "%v", err)}
	case !info.IsDir():
		return []checkup.Finding{checkup.Bad("give a folder with --data", "%s is not a folder", c.Data)}
	}
	probe, err := os.CreateTemp(c.Data, ".doctor-*")
	if err != nil {
		return []checkup.Finding{checkup.Bad("make it writable for the user that runs the server, or give another with --data", "nothing can be written to %s: %v", c.Data, err)}
	}
	_, err = probe.WriteString("one line\n")
	err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return []checkup.Finding{checkup.Bad("see whether the disk is full or failing", "nothing can be written to %s: %v", c.Data, err)}
	}
	if err := sqlite.Unfinished(c.Data); err != nil {
		return []checkup.Finding{checkup.Bad("run tributary restore again with the same file", "%v", err)}
	}
	if pid, held := sqlite.Holder(c.Data); held {
		return []checkup.Finding{checkup.Well("%s can be written to; process %s works on it", c.Data, pid)}
	}
	return []checkup.Finding{checkup.Well("%s can be written to", c.Data)}
}

func lookAtRights(c Config) (found []checkup.Finding) {
	for _, o := range openToOthers(c) {
		found = append(found, checkup.Warn("chmod go-rwx "+o, "other users of this machine may look into %s", o))
	}
	if len(found) == 0 {
		found = append(found, checkup.Well("nobody else may look into the data folder or a file with keys"))
	}
	return found
}

// openToOthers are the files and folders that others than their owner have rights to and should not: the data folder, what is in
// it, files with keys, and a file of settings that has headers.
func openToOthers(c Config) (open []string) {
	look := func(path string) {
		if info, err := os.Stat(path); err == nil && folder.Open(info.Mode()) {
			open = append(open, path)
		}
	}
	look(c.Data)
	if info, err := os.Stat(c.Data); err == nil && info.Mode().Perm()&0o011 != 0 { // or nobody else gets to them
		entries, _ := os.ReadDir(c.Data) // one that cannot be read is told by others
		for _, e := range entries {
			look(filepath.Join(c.Data, e.Name()))
		}
	}
	for _, m := range c.Models {
		if m.KeyFile != "" {
			look(m.KeyFile)
		}
		for _, value := range m.Headers {
			if !strings.HasPrefix(value, "$") { // it stands in the file itself
				look(c.file)
			}
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

func lookAtDatabase(ctx context.Context, c Config) []checkup.Finding {
	path := filepath.Join(c.Data, "tributary.db")
	h, err := examine(ctx, c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []checkup.Finding{checkup.Well("%s %s", path, notYet)}
	case errors.Is(err, context.DeadlineExceeded):
		return []checkup.Finding{checkup.Warn("run tributary check, which takes its time", "%s is too large to be looked at in %v", path, checkup.Limit)}
	case errors.As(err, new(*run.DamageError)):
		return []checkup.Finding{checkup.Bad("restore a backup with tributary restore", "%v", err)}
	case err != nil:
		return []checkup.Finding{checkup.Bad("see that the folder and its files can be read and written, and that the disk has space", "%v", err)}
	}
	var found []checkup.Finding
	for _, f := range h.Findings {
		found = append(found, checkup.Bad("run tributary check to see what is lost; restore a backup with tributary restore if it is needed", "%s", f))
	}
	switch {
	case h.Version > h.Current:
		found = append(found, checkup.Bad("use a newer tributary, or another data folder", "%s has schema version %d and this program knows only %d", path, h.Version, h.Current))
	case h.Version < h.Current:
		found = append(found, checkup.Warn("make a backup before the next start, which changes it; a copy is kept too", "%s has schema version %d and will be brought to %d", path, h.Version, h.Current))
	case len(found) == 0:
		found = append(found, checkup.Well("%s is sound, schema version %d", path, h.Version))
	}
	return found
}

func examine(ctx context.Context, c Config) (sqlite.Health, error) {
	db, err := sqlite.Open(ctx, c.Data, sqlite.Options{ReadOnly: true, Readers: 1})
	if err != nil {
		return sqlite.Health{}, err
	}
	defer db.Close()
	return db.Examine(ctx)
}

func lookAtModels(c Config) []checkup.Finding {
	reg, err := c.models()
	if err != nil {
		return []checkup.Finding{checkup.Bad("correct the configuration; docs/models.md has all settings", "%v", err)}
	}
	var found []checkup.Finding
	var ready []string
	for _, m := range reg.Models() {
		switch {
		case m.Usable():
			ready = append(ready, m.Name)
		case len(c.Models) > 0: // somebody wants it
			found = append(found, checkup.Warn("set what is missing, or take the model out of the configuration", "%s cannot be used: %s", m.Name, m.Problem))
		default:
			found = append(found, checkup.Well("%s is not in use: %s", m.Name, m.Problem))
		}
	}
	usual, _, err := reg.Resolve("", "")
	if err != nil {
		return append(found, checkup.Bad("set a key in the environment, or configure a model; docs/models.md says how", "no model can be used: %v", err))
	}
	return append([]checkup.Finding{checkup.Well("%s is the default; ready: %s", usual.Name, strings.Join(ready, ", "))}, found...)
}

func lookAtDocuments(ctx context.Context, c Config) (found []checkup.Finding) {
	folders, err := c.folders()
	if err != nil {
		found = append(found, checkup.Bad("mend or delete the list", "documents: %v", err))
	}
	for _, dir := range folders {
		if _, err := os.ReadDir(dir); err != nil {
			found = append(found, checkup.Bad("make the folder readable, or take it out of the configuration", "documents: %v", err))
		}
	}
	name := "search.db"
	if len(folders) > 0 {
		name = "documents.db"
	}
	path := filepath.Join(c.Data, name)
	switch err := search.Examine(ctx, path); {
	case errors.Is(err, fs.ErrNotExist):
		return append(found, checkup.Well("the search index %s", notYet))
	case err != nil:
		return append(found, checkup.Warn("restart the server: a damaged index is built anew", "the search index %s is damaged: %v", path, err))
	}
	return append(found, checkup.Well("the search index %s is sound", path))
}

func lookAtSecret(c Config) []checkup.Finding {
	switch _, err := readSecret(filepath.Join(c.Data, secretFile)); {
	case errors.Is(err, fs.ErrNotExist):
		return []checkup.Finding{checkup.Well("the webhook secret %s", notYet)}
	case errors.Is(err, errNoSecret):
		return []checkup.Finding{checkup.Warn("put the secret back, or let the next start make a new one, and tell it to those who receive webhooks", "%v", err)}
	case err != nil:
		var r remedied
		errors.As(err, &r)
		return []checkup.Finding{checkup.Bad(r.remedy, "%v", errors.Unwrap(err))}
	}
	return []checkup.Finding{checkup.Well("the webhook secret is there")}
}

func lookAtPort(ctx context.Context, c Config) []checkup.Finding {
	if _, err := identity(c.Addr, os.Getenv("TRIBUTARY_API_KEY")); err != nil {
		return []checkup.Finding{checkup.Bad("set TRIBUTARY_API_KEY, or give another address with --addr or in the configuration", "%v", err)}
	}
	if server, ok := running(c.Data); ok {
		if _, held := sqlite.Holder(c.Data); held {
			return []checkup.Finding{checkup.Well("the server of this folder listens on %s", server.url)}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return []checkup.Finding{checkup.Bad("stop what listens there, or give another address with --addr", "%s is taken by another program", c.Addr)}
	case err != nil:
		return []checkup.Finding{checkup.Bad("give an address of this machine that you may listen on with --addr", "%v", err)}
	}
	if err := l.Close(); err != nil {
		return []checkup.Finding{checkup.Bad("try again", "%v", err)}
	}
	return []checkup.Finding{checkup.Well("%s is free", c.Addr)}
}
