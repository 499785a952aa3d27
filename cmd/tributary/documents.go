package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/tool/search"
)

// docsCmd looks after the folders of documents that agents search. Those that are added are remembered in the data folder,
// beside those of the configuration.
type docsCmd struct {
	Add    docsAddCmd    `cmd:"" help:"Let agents search a folder, from the next start on."`
	List   docsListCmd   `cmd:"" help:"List the folders, what is indexed of them, and what is left out."`
	Search docsSearchCmd `cmd:"" help:"Search the documents as agents do."`
	Remove docsRemoveCmd `cmd:"" help:"Take a folder off the list. The folder itself is not touched."`
}

type docsAddCmd struct {
	Folder string `arg:"" type:"existingdir" help:"The folder."`
}

type docsListCmd struct {
	JSON bool `help:"As JSON."`
}

type docsSearchCmd struct {
	Query []string `arg:"" help:"What to look for: a question, or its words."`
	Limit int      `help:"Passages to show, from 1 to 20." default:"5"`
	JSON  bool     `help:"As JSON."`
}

type docsRemoveCmd struct {
	Folder string `arg:"" type:"path" help:"The folder, as docs list shows it."`
}

// folderList is the file in which added folders are kept.
const folderList = "documents.json"

// added are the folders that were added on the command line.
func (c Config) added() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(c.Data, folderList))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("folders of documents: %w", err)
	}
	var out []string
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, remedied{fmt.Errorf("folders of documents: %w", err), "mend or delete " + filepath.Join(c.Data, folderList)}
	}
	return out, nil
}

// folders are those of the configuration and those that were added.
func (c Config) folders() ([]string, error) {
	added, err := c.added()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(c.Docs)
	for _, dir := range added {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out, nil
}

func (c Config) keep(folders []string) error {
	data, err := json.MarshalIndent(folders, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	path := filepath.Join(c.Data, folderList)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Run adds a folder.
func (c *docsAddCmd) Run(e *env) error {
	dir, err := filepath.Abs(c.Folder)
	if err != nil {
		return err
	}
	all, err := e.config.folders()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other == dir {
			return remedied{fmt.Errorf("%s is on the list already", dir), "tributary docs list shows it"}
		}
		if filepath.Base(other) == filepath.Base(dir) {
			return remedied{fmt.Errorf("%s has the same name as %s, and passages would be cited alike", dir, other), "rename one of the folders"}
		}
	}
	added, err := e.config.added()
	if err != nil {
		return err
	}
	if err := e.config.keep(append(added, dir)); err != nil {
		return fmt.Errorf("add %s: %w", dir, err)
	}
	fmt.Fprintf(e.stdout, "%s is searched from the next start of the server on.\n", dir)
	return nil
}

// Run removes a folder.
func (c *docsRemoveCmd) Run(e *env) error {
	added, err := e.config.added()
	if err != nil {
		return err
	}
	at := slices.Index(added, c.Folder)
	if at < 0 {
		if slices.Contains(e.config.Docs, c.Folder) {
			return remedied{fmt.Errorf("%s comes from the configuration", c.Folder), "remove it from docs there"}
		}
		return remedied{fmt.Errorf("%s is not on the list", c.Folder), "tributary docs list shows what is"}
	}
	if err := e.config.keep(slices.Delete(added, at, at+1)); err != nil {
		return fmt.Errorf("remove %s: %w", c.Folder, err)
	}
	fmt.Fprintf(e.stdout, "%s is no longer searched from the next start of the server on.\n", c.Folder)
	return nil
}

// Run lists the folders.
func (c *docsListCmd) Run(e *env) error {
	folders, err := e.config.folders()
	if err != nil {
		return err
	}
	index, err := e.looked()
	if err != nil {
		return err
	}
	defer index.Close()
	files, passages, err := index.Stats(e.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(e.stdout).Encode(map[string]any{"folders": folders, "files": files, "passages": passages, "left_out": index.LeftOut()})
	}
	if len(folders) == 0 {
		fmt.Fprintln(e.stdout, "No folders: agents search the documentation of tributary. Add one with: tributary docs add FOLDER")
	}
	for _, dir := range folders {
		fmt.Fprintln(e.stdout, dir)
	}
	fmt.Fprintf(e.stdout, "%d files, %d passages\n", files, passages)
	for _, line := range leftOut(index.LeftOut()) {
		fmt.Fprintln(e.stdout, line)
	}
	return nil
}

// Run searches.
func (c *docsSearchCmd) Run(e *env) error {
	index, err := e.looked()
	if err != nil {
		return err
	}
	defer index.Close()
	query := strings.Join(c.Query, " ")
	found, err := index.Search(e.ctx, query, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(e.stdout).Encode(found)
	}
	if len(found) == 0 {
		fmt.Fprintln(e.stdout, "The documents do not answer this.")
		missing, err := index.Missing(e.ctx, query)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			fmt.Fprintf(e.stdout, "No document has: %s\n", strings.Join(missing, ", "))
		}
		return nil
	}
	for i, p := range found {
		fmt.Fprintf(e.stdout, "%d. %s\n   %s, %s\n   %s\n", i+1, p.Heading(), p.Location(), p.Position(), p.Snippet("«", "»"))
	}
	return nil
}

// looked is an index of the documents in memory: the one on disk belongs to the server, which may run.
func (e *env) looked() (*search.Index, error) {
	folders, err := e.config.folders()
	if err != nil {
		return nil, err
	}
	opt, err := documentSources(folders)
	if err != nil {
		return nil, err
	}
	bar := &progress{out: e.stderr}
	opt.Progress, opt.Log = bar.show, slog.New(slog.NewTextHandler(e.stderr, nil))
	defer bar.done()
	if err := e.config.embeddings(&opt, e.stderr); err != nil {
		return nil, err
	}
	return search.Open(e.ctx, opt)
}

// leftOut says in a line each why files are not searched.
func leftOut(all []search.LeftOut) []string {
	var out []string
	for _, l := range all {
		files := "files are"
		if l.Count == 1 {
			files = "file is"
		}
		out = append(out, fmt.Sprintf("%d %s not searched, %s: %s", l.Count, files, l.Reason, l.Example))
	}
	return out
}

// found is the index as a route.
func found(index *search.Index) func(ctx context.Context, query string, limit int) (httpapi.Found, error) {
	return func(ctx context.Context, query string, limit int) (httpapi.Found, error) {
		var out httpapi.Found
		passages, err := index.Search(ctx, query, limit)
		if err == nil && len(passages) == 0 {
			out.Missing, err = index.Missing(ctx, query)
		}
		for _, p := range passages {
			out.Passages = append(out.Passages, httpapi.Passage{
				Title: p.Title, Trail: p.Trail, Path: p.Path, Anchor: p.Anchor, Position: p.Position(), Snippet: p.Snippet("«", "»"), Text: p.Text,
			})
		}
		return out, err
	}
}
