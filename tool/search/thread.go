package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Area is a part of a thread's folder whose documents the thread's own searches find.
type Area struct {
	Folder string // within the thread's folder, as in "uploads"
	Label  string // what paths of its documents begin with
}

// pages is where the folder of a thread has what [Keep] kept, each page in a file of its own.
const pages = "pages"

const (
	mostPages    = 200
	mostPage     = 1 << 20 // bytes
	mostInThread = 8 << 20 // bytes of a file
)

// openThread indexes what a thread has of its own; nil if that is nothing. It is in memory and made anew for each search: documents of a
// thread are few, come and go while it talks, and are nobody else's.
func openThread(ctx context.Context, folder *os.Root, areas []Area) (*Index, error) {
	opts := Options{MaxFileSize: mostInThread}
	for _, a := range append([]Area{{pages, pages}}, areas...) {
		sub, err := fs.Sub(folder.FS(), a.Folder)
		if err != nil {
			return nil, err
		}
		if entries, err := fs.ReadDir(sub, "."); err == nil && len(entries) > 0 {
			opts.Sources = append(opts.Sources, Source{Label: a.Label, FS: originals{sub}})
		}
	}
	if len(opts.Sources) == 0 {
		return nil, nil
	}
	return Open(ctx, opts)
}

// originals is a folder without the files whose text lies beside them: of guide.pdf and guide.pdf.md the second is enough.
type originals struct{ fs.FS }

// ReadDir lists a folder.
func (o originals) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, name)
	there := make(map[string]bool, len(all))
	for _, e := range all {
		there[e.Name()] = true
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return there[e.Name()+".md"] }), err
}

// searchThread searches what the thread of a call has of its own. Without any, or without a folder, it finds nothing, and every word of
// the question is missing: known is false then.
func searchThread(ctx context.Context, call tool.Call, areas []Area, query string, limit int) (found []Passage, missing []string, known bool, err error) {
	if call.Scope == nil {
		return nil, nil, false, nil // a call outside of any run
	}
	folder, err := call.Scope.Folder()
	if err != nil {
		return nil, nil, false, nil // a run without files
	}
	ix, err := openThread(ctx, folder, areas)
	if err != nil || ix == nil {
		return nil, nil, false, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	all, err := ix.Search(ctx, query, limit)
	if err != nil {
		return nil, nil, true, err
	}
	for _, p := range all {
		if name, ok := strings.CutPrefix(p.Path, pages+"/"); ok {
			address, err := addressOf(folder, name)
			if err != nil {
				continue // forgotten since
			}
			p.Path, p.Anchor = address, "" // which would be ours, and not the page's
		}
		found = append(found, p)
	}
	if len(found) == 0 {
		missing, err = ix.Missing(ctx, query)
	}
	return found, missing, true, err
}

// together makes one list of two, the best of each first. Passages of two indexes cannot be compared by their scores: each is told by how
// rare words are in its own.
func together(own, common []Passage, limit int) []Passage {
	var out []Passage
	for i := range max(len(own), len(common)) {
		if i < len(own) {
			out = append(out, own[i])
		}
		if i < len(common) {
			out = append(out, common[i])
		}
	}
	return out[:min(len(out), limit)]
}

// Keep is a tool that reads pages, such as web_fetch, whose pages the searches of the same thread find from then on. A page that is read
// again takes the place of what it was. Of a thread the newest 200 are kept, for as long as the thread is there.
func Keep(t tool.Tool) tool.Tool { return keeping{t} }

type keeping struct{ tool.Tool }

// Call calls the tool, and keeps what it returns. That this fails takes nothing from the result.
func (k keeping) Call(ctx context.Context, call tool.Call) (item.ToolResult, error) {
	res, err := k.Tool.Call(ctx, call)
	if err != nil || res.Error || call.Scope == nil {
		return res, err
	}
	folder, none := call.Scope.Folder()
	if none != nil {
		return res, nil // a run without files
	}
	for _, b := range res.Blocks {
		if b.Ref == 0 || b.Type != item.TextBlock || !strings.HasPrefix(b.URL, "http") {
			continue
		}
		if err := keepPage(folder, call, b); err != nil && call.Log != nil {
			call.Log.Warn("a page that was read cannot be searched later", "url", b.URL, "error", err)
		}
	}
	return res, nil
}

// keepPage writes a page down, under a name that the same request for the same page has again.
func keepPage(folder *os.Root, call tool.Call, b item.Block) error {
	if err := folder.Mkdir(pages, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	hash := sha256.Sum256([]byte(b.URL + "\x00" + string(call.Arguments)))
	name := path.Join(pages, hex.EncodeToString(hash[:16])+".md")
	text := "---\nurl: " + strconv.Quote(b.URL) + "\ntitle: " + strconv.Quote(b.Name)
	for member, value := range map[string]string{"author": b.Author, "date": b.Date} {
		if value != "" {
			text += "\n" + member + ": " + strconv.Quote(value)
		}
	}
	text += "\n---\n\n" + strings.ToValidUTF8(b.Text[:min(len(b.Text), mostPage)], "") + "\n"
	part := sha256.Sum256([]byte(call.Run + "\x00" + call.ID)) // two calls may read one page at once
	draft := path.Join(pages, "."+hex.EncodeToString(part[:8]))
	if err := folder.WriteFile(draft, []byte(text), 0o600); err != nil {
		return err
	}
	if err := folder.Rename(draft, name); err != nil {
		return err
	}
	return forgetOldest(folder)
}

// forgetOldest keeps the newest pages.
func forgetOldest(folder *os.Root) error {
	entries, err := fs.ReadDir(folder.FS(), pages)
	if err != nil || len(entries) <= mostPages {
		return err
	}
	age := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			age[e.Name()] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return int(min(max(age[a.Name()]-age[b.Name()], -1), 1)) })
	for _, e := range entries[:len(entries)-mostPages] {
		if err := folder.Remove(path.Join(pages, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// addressOf is where a page that was kept comes from.
func addressOf(folder *os.Root, name string) (string, error) {
	text, err := folder.ReadFile(path.Join(pages, name))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(text), "\nurl: ")
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Unquote(line)
}
