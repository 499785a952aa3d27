package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/item"
)

const (
	threadURI  = "tributary://threads/"
	outputs    = "outputs"
	maxThreads = 100 // that are listed, the newest first
	withFiles  = 20  // threads whose files are listed
	maxFiles   = 200 // that are listed
	maxFile    = 8 << 20
)

// refreshResources lists the owner's newest threads, and the files of the newest of these.
func (l *listing) refreshResources(ctx context.Context) error {
	threads, _, err := l.opt.Store.SearchThreads(ctx, l.who, run.ThreadQuery{SortBy: "updated_at", Limit: maxThreads})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.resources
	l.resources = map[string]bool{}
	add := func(r *sdk.Resource, read sdk.ResourceHandler) {
		l.resources[r.URI] = true
		l.server.AddResource(r, read)
	}
	files := 0
	for i, th := range threads {
		add(&sdk.Resource{
			URI: threadURI + url.PathEscape(th.ID), Name: "thread " + th.ID, Title: titleOf(th), MIMEType: "application/json",
			Description: "A conversation of " + th.UpdatedAt.UTC().Format("2006-01-02 15:04") + " that is " + string(th.Status) + ".",
		}, l.readThread)
		if i >= withFiles {
			continue
		}
		for _, f := range l.files(th.ID, maxFiles-files) {
			files++
			add(&sdk.Resource{URI: fileURI(th.ID, f.name), Name: f.name, MIMEType: mimeOf(f.name), Size: f.size}, l.readFile)
		}
	}
	for uri := range was {
		if !l.resources[uri] {
			l.server.RemoveResources(uri)
		}
	}
	return nil
}

// titleOf is what people called the thread, if anything.
func titleOf(th run.Thread) string {
	var meta struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(th.Metadata, &meta) != nil || len(meta.Title) > 200 {
		return ""
	}
	return meta.Title
}

func fileURI(thread, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return threadURI + url.PathEscape(thread) + "/" + outputs + "/" + strings.Join(parts, "/")
}

type file struct {
	name string
	size int64
}

// files lists what a thread has in its outputs. A folder that cannot be read has nothing to show.
func (l *listing) files(thread string, most int) []file {
	if l.opt.Folder == nil || most <= 0 {
		return nil
	}
	root, err := l.opt.Folder(l.who, thread)
	if err != nil {
		return nil
	}
	defer root.Close()
	var list []file
	_ = fs.WalkDir(root.FS(), outputs, func(name string, e fs.DirEntry, err error) error {
		if err != nil || len(list) >= most {
			return fs.SkipAll
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && utf8.ValidString(name) {
			list = append(list, file{strings.TrimPrefix(name, outputs+"/"), info.Size()})
		}
		return nil
	})
	return list
}

func mimeOf(name string) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// named reads which thread a URI is about, and what of it.
func named(uri string) (thread, rest string, err error) {
	after, ok := strings.CutPrefix(uri, threadURI)
	if !ok {
		return "", "", sdk.ResourceNotFoundError(uri)
	}
	thread, rest, _ = strings.Cut(after, "/")
	if thread, err = url.PathUnescape(thread); err == nil {
		rest, err = url.PathUnescape(rest)
	}
	if err == nil {
		thread, err = edge.ParseThread("thread_id", thread)
	}
	if err != nil {
		return "", "", sdk.ResourceNotFoundError(uri)
	}
	return thread, rest, nil
}

// conversation is a thread as a resource.
type conversation struct {
	Thread    string     `json:"thread_id"`
	Status    string     `json:"status"`
	Messages  []message  `json:"messages"`
	Questions []question `json:"questions,omitempty"`
}

type message struct {
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

func (l *listing) readThread(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	id, rest, err := named(uri)
	if err != nil || rest != "" {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	th, err := l.opt.Store.Thread(ctx, l.who, id)
	if err != nil {
		return nil, l.missing(ctx, uri, err)
	}
	c := conversation{Thread: id, Status: string(th.Status), Messages: []message{}}
	snap, err := l.opt.Store.Load(ctx, id, "", "")
	switch {
	case errors.Is(err, graph.ErrNoCheckpoint):
	case err != nil:
		return nil, l.missing(ctx, uri, err)
	default:
		var messages []item.Message
		if raw := snap.Values[messagesField]; len(raw) > 0 {
			if err := json.Unmarshal(raw, &messages); err != nil {
				return nil, l.missing(ctx, uri, err)
			}
		}
		for _, m := range messages {
			c.Messages = append(c.Messages, message{string(m.Role), m.Name, m.Text()})
		}
		for _, q := range snap.Open() {
			c.Questions = append(c.Questions, question{ID: q.ID, Value: q.Value})
		}
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, l.missing(ctx, uri, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(raw)}}}, nil
}

// missing says that there is no such resource; what is our own fault goes to the log.
func (l *listing) missing(ctx context.Context, uri string, err error) error {
	if status, _ := edge.StatusOf(err); status >= 500 && ctx.Err() == nil {
		l.opt.Log.ErrorContext(ctx, "an MCP resource cannot be read", "uri", uri, "err", err)
		return errInternal
	}
	return sdk.ResourceNotFoundError(uri)
}

func (l *listing) readFile(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	id, rest, err := named(uri)
	name, ok := strings.CutPrefix(rest, outputs+"/")
	if err != nil || !ok || l.opt.Folder == nil || !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	root, err := l.opt.Folder(l.who, id)
	if err != nil {
		return nil, l.missing(ctx, uri, err)
	}
	defer root.Close()
	data, err := contents(root, outputs+"/"+name)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	c := &sdk.ResourceContents{URI: uri, MIMEType: mimeOf(name)}
	if utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}

var errNoFile = errors.New("there is no such file, or it is too large")

// contents reads a file of a thread. A pipe that code left there must not make anybody wait.
func contents(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errors.Join(errNoFile, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errNoFile
	}
	return data, err
}
