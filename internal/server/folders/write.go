package folders

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool/files"
)

// maxWrite is how long a text may be that is written over HTTP.
const maxWrite = 2 << 20

type limits struct {
	MaxFiles int   `json:"max_files"`
	MaxFile  int64 `json:"max_file_size"`
	MaxTotal int64 `json:"max_total_size"`
}

func (s *Service) limits(w http.ResponseWriter, r *http.Request, _ run.Identity) error {
	if _, err := edge.ParseThread("thread_id", r.PathValue("thread_id")); err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, limits{s.opt.MaxFiles, s.opt.MaxFile, s.opt.MaxTotal})
}

type uploaded struct {
	Success bool     `json:"success"`
	Files   []file   `json:"files"`
	Message string   `json:"message"`
	Skipped []string `json:"skipped_files" doc:"with what was wrong with each"`
}

// upload takes files in. One that cannot be taken is left out and named; the others stay.
func (s *Service) upload(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	id, err := edge.ParseThread("thread_id", r.PathValue("thread_id"))
	if err != nil {
		return err
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return edge.Refuse(http.StatusUnsupportedMediaType, "send the files as multipart/form-data, in fields named files")
	}
	if err := s.ensure(r, who, id); err != nil {
		return err
	}
	folder, err := s.opt.Open(who, id)
	if err != nil {
		return err
	}
	defer folder.Close()
	answer := uploaded{Files: []file{}, Skipped: []string{}}
	parts := multipart.NewReader(http.MaxBytesReader(w, r.Body, s.opt.MaxTotal+1<<20), params["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return unreadable(err, s.opt.MaxTotal)
		}
		if part.FormName() != "files" && part.FormName() != "file" {
			continue
		}
		if len(answer.Files) >= s.opt.MaxFiles {
			answer.Skipped = append(answer.Skipped, fmt.Sprintf("%s: at most %d files are taken at once", part.FileName(), s.opt.MaxFiles))
			continue
		}
		f, why, err := s.take(folder, id, part)
		switch {
		case err != nil:
			return unreadable(err, s.opt.MaxTotal)
		case why != "":
			answer.Skipped = append(answer.Skipped, why)
		default:
			answer.Files = append(answer.Files, f)
		}
	}
	if answer.Success = len(answer.Files) > 0; !answer.Success {
		if len(answer.Skipped) > 0 {
			return edge.RefuseField(http.StatusUnprocessableEntity, "files", "files: "+strings.Join(answer.Skipped, "; "))
		}
		return edge.RefuseField(http.StatusUnprocessableEntity, "files", "files: there is no file in the form")
	}
	answer.Message = fmt.Sprintf("%d of %d files are uploaded", len(answer.Files), len(answer.Files)+len(answer.Skipped))
	return edge.Answer(w, http.StatusOK, answer)
}

// unreadable says what is wrong with a form.
func unreadable(err error, most int64) error {
	var large *http.MaxBytesError
	var full *workspace.Full
	switch {
	case errors.As(err, &large):
		return edge.RefuseField(http.StatusRequestEntityTooLarge, "files", fmt.Sprintf("files: together they may have %d bytes", most))
	case errors.As(err, &full):
		return edge.Refuse(http.StatusRequestEntityTooLarge, full.Error())
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return err // ours, not the form's
	}
	return edge.Refuse(http.StatusBadRequest, "the form cannot be read: "+err.Error())
}

// ensure makes the thread if it is missing: people choose files before they ask.
func (s *Service) ensure(r *http.Request, who run.Identity, id string) error {
	_, err := s.opt.Threads.Thread(r.Context(), who, id)
	if !errors.Is(err, run.ErrNotFound) {
		return err
	}
	_, err = s.opt.Threads.CreateThread(r.Context(), who, run.Thread{ID: id, CreatedAt: time.Now().UTC()})
	if errors.Is(err, run.ErrExists) { // by another request of his, or it is somebody else's
		_, err = s.opt.Threads.Thread(r.Context(), who, id)
	}
	return err
}

// take writes one file of a form. why says what is wrong with it.
func (s *Service) take(folder *os.Root, thread string, part *multipart.Part) (f file, why string, err error) {
	name, why := nameOf(part)
	if why != "" {
		return f, why, nil
	}
	temp, size, err := workspace.Stage(folder, files.Uploads, io.LimitReader(part, s.opt.MaxFile+1))
	defer func() { _ = folder.Remove(temp) }()
	if err != nil {
		return f, "", err
	}
	if size > s.opt.MaxFile {
		return f, fmt.Sprintf("%s: it has more than %d bytes", name, s.opt.MaxFile), nil
	}
	if err := s.opt.Quota.Room(folder, 1, 0); err != nil { // the file is counted already
		return f, "", err
	}
	p := files.Path{Area: files.Uploads}
	if p.Name, err = workspace.Place(folder, temp, p.Area, name); err != nil {
		return f, "", err
	}
	info, err := folder.Stat(local(p))
	if err != nil {
		return f, "", err
	}
	f = s.describe(thread, p, info)
	if f.Name != name {
		f.Original = name
	}
	text, problem := s.convert(folder, p, size)
	if f.Unread = problem; text.Name != "" {
		if info, err := folder.Stat(local(text)); err == nil {
			made := s.describe(thread, text, info)
			f.Markdown, f.MarkdownFile, f.MarkdownVirtual, f.MarkdownURL = made.Path, made.Name, made.Virtual, made.URL
		}
	}
	return f, "", nil
}

// nameOf is the name under which an uploaded file is kept: the last element of what the client calls it.
func nameOf(part *multipart.Part) (name, why string) {
	name = part.FileName() // without folders, as the standard library gives it
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	p, err := files.ParsePath(path.Join(files.Top, files.Uploads) + "/" + name)
	switch {
	case name == "" || strings.Trim(name, ".") == "":
		return "", "a file without a name"
	case err != nil:
		return "", err.Error()
	case p.Area != files.Uploads || p.Name != name || strings.HasPrefix(name, workspace.Part):
		return "", fmt.Sprintf("%q cannot be the name of a file", name)
	}
	return name, ""
}

// convert leaves the text of a file that models cannot read beside it, and returns its name, or why there is none. What cannot be
// converted stays as it is: that is the person's file and no reason to refuse it.
func (s *Service) convert(folder *os.Root, p files.Path, size int64) (to files.Path, problem string) {
	if s.opt.Convert == nil {
		return to, ""
	}
	f, err := folder.Open(local(p))
	if err != nil {
		return to, "it cannot be opened"
	}
	defer f.Close()
	text, ok, err := s.opt.Convert(p.Name, f, size)
	switch {
	case err != nil:
		return to, err.Error()
	case !ok:
		return to, ""
	}
	if err := s.opt.Quota.Room(folder, int64(len(text)), 1); err != nil {
		return to, err.Error()
	}
	temp, _, err := workspace.Stage(folder, files.Uploads, strings.NewReader(text))
	defer func() { _ = folder.Remove(temp) }()
	if err != nil {
		return to, "its text cannot be written"
	}
	name, err := workspace.Place(folder, temp, files.Uploads, p.Name+".md")
	if err != nil {
		return to, "its text cannot be written"
	}
	return files.Path{Area: files.Uploads, Name: name}, ""
}

type writeRequest struct {
	Content  string `json:"content"`
	Expected string `json:"expected_sha256" doc:"of the content that is replaced, as the ETag says; empty for a new file"`
}

type written struct {
	Path string `json:"path"`
	Hash string `json:"sha256"`
	Size int64  `json:"size"`
}

// write replaces a text below outputs by another, if it is what the client has seen.
func (s *Service) write(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	p, err := parse(r)
	if err != nil {
		return err
	}
	if p.Area != files.Outputs {
		return edge.RefuseField(http.StatusForbidden, "path", fmt.Sprintf("path: only what is below %s/%s can be written", files.Top, files.Outputs))
	}
	var req writeRequest
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	if len(req.Content) > maxWrite || !utf8.ValidString(req.Content) {
		return edge.RefuseField(http.StatusRequestEntityTooLarge, "content", fmt.Sprintf("content: a text of at most %d bytes can be written", maxWrite))
	}
	folder, err := s.folder(r, who)
	if err != nil {
		return err
	}
	defer folder.Close()
	was, size := "", int64(0)
	if f, info, err := open(folder, p); err == nil {
		size = info.Size()
		was, err = digest(f)
		_ = f.Close() // it was only read
		if err != nil {
			return err
		}
	}
	if was != req.Expected {
		return edge.RefuseField(http.StatusConflict, "expected_sha256", "expected_sha256: the file has changed since you read it; read it again")
	}
	if err := s.opt.Quota.Room(folder, int64(len(req.Content))-size, 1); err != nil {
		return edge.Refuse(http.StatusRequestEntityTooLarge, err.Error())
	}
	if was != "" {
		if err := s.opt.Quota.Keep(folder, local(p)); err != nil {
			return err
		}
	}
	// From here on below the area: a link in it must not lead to what is only read.
	if err := folder.MkdirAll(p.Area, 0o700); err != nil {
		return missing(p)
	}
	area, err := folder.OpenRoot(p.Area)
	if err != nil {
		return missing(p)
	}
	defer area.Close()
	if err := area.MkdirAll(path.Dir(p.Name), 0o700); err != nil {
		return missing(p)
	}
	temp, _, err := workspace.Stage(area, path.Dir(p.Name), strings.NewReader(req.Content))
	defer func() { _ = area.Remove(temp) }()
	if err != nil {
		if _, gone := area.Stat(path.Dir(p.Name)); gone != nil { // somebody put something else in the folder's place
			return missing(p)
		}
		return err
	}
	if err := area.Rename(temp, p.Name); err != nil {
		return missing(p)
	}
	if err := s.opt.Quota.Keep(folder, local(p)); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(req.Content))
	return edge.Answer(w, http.StatusOK, written{p.String(), hex.EncodeToString(sum[:]), int64(len(req.Content))})
}
