package folders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool/files"
)

// Threads are the threads whose folders are served.
type Threads interface {
	// Thread returns run.ErrNotFound for one that is not there or somebody else's.
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
	// CreateThread makes a thread; run.ErrExists if the id is taken, also by somebody else.
	CreateThread(ctx context.Context, who run.Identity, th run.Thread) (run.Thread, error)
}

// Options are a service's parts and limits.
type Options struct {
	Threads Threads
	// Open opens the folder of a thread.
	Open func(who run.Identity, thread string) (*os.Root, error)
	// Quota is how full a thread's folder may be.
	Quota workspace.Quota
	// MaxFiles, MaxFile and MaxTotal bound one upload; 0 means 10 files, 50 MiB each, 100 MiB together.
	MaxFiles int
	MaxFile  int64
	MaxTotal int64
	// Convert makes a text of a file that models cannot read, as Markdown; ok is false for one that needs none. It may be nil.
	Convert func(name string, file io.ReaderAt, size int64) (markdown string, ok bool, err error)
}

// Service serves folders.
type Service struct {
	opt    Options
	at     func(string) string // where clients find a path of ours
	making chan struct{}       // has room for the exports that are made at a time
}

// New makes a service.
func New(opt Options) *Service {
	if opt.MaxFiles <= 0 {
		opt.MaxFiles = 10
	}
	if opt.MaxFile <= 0 {
		opt.MaxFile = 50 << 20
	}
	if opt.MaxTotal <= 0 {
		opt.MaxTotal = 100 << 20
	}
	return &Service{opt: opt, making: make(chan struct{}, 2)}
}

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	s.at = t.Path
	t.Section("files", "What people upload for a thread, and what agents leave for them")
	t.Handle("GET /threads/{thread_id}/uploads/limits", s.limits, edge.Doc{Summary: "What one upload may hold", Answer: limits{}})
	t.Handle("POST /threads/{thread_id}/uploads", s.upload, edge.Doc{
		Summary: "Upload files, as multipart/form-data with fields named files; the thread is made if it is missing", Answer: uploaded{}, Fails: []int{400, 404, 413, 415},
	})
	t.Handle("GET /threads/{thread_id}/uploads/list", s.listUploads, edge.Doc{Summary: "List what was uploaded", Answer: fileList{}, Fails: []int{404}})
	t.Handle("DELETE /threads/{thread_id}/uploads/{filename}", s.removeUpload, edge.Doc{Summary: "Delete an upload", Answer: done{}, Fails: []int{404}})
	t.Handle("GET /threads/{thread_id}/artifacts", s.listArtifacts, edge.Doc{
		Summary: "List what agents left in outputs; with format=zip, all of it in one archive", Query: jsonvalue.Object{{"format", edge.Word{"json", "zip"}}}, Answer: fileList{}, Fails: []int{404},
	})
	t.Handle("GET /threads/{thread_id}/artifacts/{path...}", s.read, edge.Doc{
		Summary: "Read a file of the thread, or a range of it, or a Markdown file in another format", Status: []int{200, 206, 304},
		Query: jsonvalue.Object{{"versions", edge.Text("true: list what the file was when it was presented or replaced, instead")}, {"version", edge.Text("the number of a version to read, as that list has it")}, {"download", edge.Text("true: as a download, whatever it is")}, {"preview", edge.Text("true: a page or a picture that could run something, in an origin of its own")}, {"as", edge.Text("html, docx, pdf or pptx: a Markdown file as a download of that format, with the pictures of the thread that it shows")}},
		Fails: []int{404, 413, 416},
	})
	t.Handle("PUT /threads/{thread_id}/artifacts/{path...}", s.write, edge.Doc{
		Summary: "Write a text file below outputs, in place of the content with the hash that is expected", Body: writeRequest{}, Answer: written{}, Fails: []int{404, 409, 413},
	})
}

// file is one file of a thread.
type file struct {
	Name     string    `json:"filename"`
	Size     int64     `json:"size"`
	Path     string    `json:"path" doc:"the name that agents know it by"`
	Virtual  string    `json:"virtual_path" doc:"the same"`
	URL      string    `json:"artifact_url" doc:"where it is read"`
	Ext      string    `json:"extension,omitempty"`
	Modified time.Time `json:"modified"`
	Original string    `json:"original_filename,omitempty" doc:"as it was uploaded, where that name was taken"`
	Markdown string    `json:"markdown_path,omitempty" doc:"the text of a file that models cannot read themselves"`
	// The rest is what DeerFlow's clients know of that text, and why there is none.
	MarkdownFile    string `json:"markdown_file,omitempty"`
	MarkdownVirtual string `json:"markdown_virtual_path,omitempty"`
	MarkdownURL     string `json:"markdown_artifact_url,omitempty"`
	Unread          string `json:"markdown_problem,omitempty" doc:"why a file that models cannot read themselves has no text: it is damaged, locked, too large"`
}

type fileList struct {
	Files []file `json:"files"`
	Count int    `json:"count"`
}

type done struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

// folder opens the folder of the request's thread.
func (s *Service) folder(r *http.Request, who run.Identity) (*os.Root, error) {
	return s.folderOf(r.Context(), who, r.PathValue("thread_id"))
}

func (s *Service) folderOf(ctx context.Context, who run.Identity, thread string) (*os.Root, error) {
	id, err := edge.ParseThread("thread_id", thread)
	if err != nil {
		return nil, err
	}
	if _, err := s.opt.Threads.Thread(ctx, who, id); err != nil {
		return nil, err
	}
	return s.opt.Open(who, id)
}

// describe says what a file is to clients.
func (s *Service) describe(thread string, p files.Path, info fs.FileInfo) file {
	segments := strings.Split(strings.TrimPrefix(p.String(), "/"), "/")
	for i := range segments {
		segments[i] = escape(segments[i])
	}
	return file{
		Name: path.Base(p.Name), Size: info.Size(), Path: p.String(), Virtual: p.String(), Ext: path.Ext(p.Name), Modified: info.ModTime().UTC(),
		URL: s.at("/threads/" + escape(thread) + "/artifacts/" + strings.Join(segments, "/")),
	}
}

// list lists the files of an area, in the order of their names. What is neither a file nor a folder is not shown.
func (s *Service) list(folder *os.Root, thread, area string) (fileList, error) {
	all := fileList{Files: []file{}}
	err := fs.WalkDir(folder.FS(), area, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), partPrefix) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		all.Files = append(all.Files, s.describe(thread, files.Path{Area: area, Name: strings.TrimPrefix(name, area+"/")}, info))
		return nil
	})
	all.Count = len(all.Files)
	return all, err
}

// parse reads the path of a request, which must be that of a file.
func parse(r *http.Request) (files.Path, error) {
	p, err := files.ParsePath("/" + strings.TrimPrefix(r.PathValue("path"), "/"))
	if err != nil {
		return p, edge.RefuseField(http.StatusNotFound, "path", "path: "+err.Error())
	}
	if p.Area == "" || p.Name == "." {
		return p, edge.RefuseField(http.StatusNotFound, "path", fmt.Sprintf("path: %s is a folder", p))
	}
	return p, nil
}

// local is where a file is below the thread's folder.
func local(p files.Path) string { return path.Join(p.Area, p.Name) }

// missing says that there is no such file, in the words of a client.
func missing(p files.Path) error {
	return edge.RefuseField(http.StatusNotFound, "path", fmt.Sprintf("path: there is no file %s", p))
}
