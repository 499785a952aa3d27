package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/tool/files"
)

// shownFile is where a report shows a file of its thread.
var shownFile = regexp.MustCompile(`\]\((` + regexp.QuoteMeta(files.Top+"/"+files.Outputs) + `/[^()\s]+)\)`)

// pictures makes the pictures of a report part of what is written: inside of a page, and in a folder beside any other file.
// One that cannot be had is told of, and the report stays as it is.
func (s *sitting) pictures(id, text, output string) string {
	ext := strings.ToLower(filepath.Ext(output))
	page := ext == ".html" || ext == ".htm"
	beside := strings.TrimSuffix(output, filepath.Ext(output)) + "_files"
	return shownFile.ReplaceAllStringFunc(text, func(link string) string {
		name := shownFile.FindStringSubmatch(link)[1]
		ctx := context.WithoutCancel(s.env.ctx) // the report is being written, whatever else ends
		data, err := s.desk.file(ctx, id, name)
		if err == nil && page {
			return "](data:" + mime.TypeByExtension(path.Ext(name)) + ";base64," + base64.StdEncoding.EncodeToString(data) + ")"
		}
		if err == nil {
			err = os.MkdirAll(beside, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(beside, path.Base(name)), data, 0o644)
		}
		if err != nil {
			s.view.note("the picture %s is not written: %v", path.Base(name), err)
			return link
		}
		return "](" + (&url.URL{Path: filepath.Base(beside) + "/" + path.Base(name)}).String() + ")"
	})
}

// file reads a file of the thread of a run.
func (d *ownDesk) file(ctx context.Context, id, name string) ([]byte, error) {
	r, err := d.rt.Run(ctx, "", id)
	if err != nil {
		return nil, err
	}
	p, err := files.ParsePath(name)
	if err != nil {
		return nil, err
	}
	open := door.Open(d.rt.Runtime).Folder
	if open == nil {
		return nil, errors.New("files is false in the configuration")
	}
	root, err := open(run.Identity{Owner: tributary.DefaultOwner}, r.Thread)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path.Join(p.Area, p.Name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestPicture {
		return nil, fmt.Errorf("it is no file of at most %d MiB", largestPicture>>20)
	}
	return root.ReadFile(path.Join(p.Area, p.Name))
}

func (d *serverDesk) file(ctx context.Context, id, name string) ([]byte, error) {
	r, err := d.db.Run(ctx, run.Identity{Owner: tributary.DefaultOwner}, id)
	if err != nil {
		return nil, err
	}
	res, err := d.do(ctx, "GET", "/threads/"+url.PathEscape(r.Thread)+"/artifacts"+(&url.URL{Path: name}).EscapedPath(), nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, largestPicture))
}
