package folders

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/tool/files"
)

func escape(segment string) string { return url.PathEscape(segment) }

// harmless are the types that a browser may show in our origin: it executes nothing of them.
var harmless = map[string]string{
	".txt": "text/plain; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".json": "application/json",
	".log": "text/plain; charset=utf-8", ".yaml": "text/plain; charset=utf-8", ".yml": "text/plain; charset=utf-8", ".toml": "text/plain; charset=utf-8",
	".py": "text/plain; charset=utf-8", ".go": "text/plain; charset=utf-8", ".ts": "text/plain; charset=utf-8", ".sh": "text/plain; charset=utf-8",
	".c": "text/plain; charset=utf-8", ".rs": "text/plain; charset=utf-8", ".java": "text/plain; charset=utf-8", ".sql": "text/plain; charset=utf-8",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".mp4": "video/mp4", ".webm": "video/webm", ".pdf": "application/pdf",
}

// previewed are active types that a page may show in a frame: the policy below gives them an origin of their own and no network.
var previewed = map[string]string{".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".svg": "image/svg+xml"}

const (
	// framed is for what a browser's own reader shows, which is no page of ours: in a sandbox it would show nothing.
	framed  = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'self'"
	inert   = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'"
	confine = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; frame-ancestors 'self'"
)

// read serves a file.
func (s *Service) read(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	p, err := parse(r)
	if err != nil {
		return err
	}
	folder, err := s.folder(r, who)
	if err != nil {
		return err
	}
	defer folder.Close()
	q := r.URL.Query()
	if q.Get("versions") == "true" {
		return listVersions(w, folder, p)
	}
	f, when, err := pick(folder, p, q.Get("version"))
	if err != nil {
		return err
	}
	defer f.Close()
	if q.Get("as") != "" {
		return s.export(w, r, folder, p, f)
	}
	hash, err := digest(f)
	if err != nil {
		return err
	}
	h := w.Header()
	ext := strings.ToLower(path.Ext(p.Name))
	kind, ok := harmless[ext]
	policy, disposition := inert, "inline"
	switch {
	case ext == ".pdf" && q.Get("preview") == "true":
		policy = framed
	case previewed[ext] != "" && q.Get("preview") == "true":
		kind, policy = previewed[ext], confine
	case !ok:
		kind, disposition = "application/octet-stream", "attachment"
	}
	if q.Get("download") == "true" {
		disposition = "attachment"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": path.Base(p.Name)}))
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", `"`+hash+`"`)
	http.ServeContent(w, r, "", when, f)
	return nil
}

// pick opens a file, or a version of it, and says when it was written.
func pick(folder *os.Root, p files.Path, version string) (*os.File, time.Time, error) {
	if version == "" {
		f, info, err := open(folder, p)
		if err != nil {
			return nil, time.Time{}, err
		}
		return f, info.ModTime(), nil
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return nil, time.Time{}, edge.RefuseField(http.StatusUnprocessableEntity, "version", "version: give the number of a version, as versions=true lists them")
	}
	f, v, err := workspace.OpenVersion(folder, local(p), n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, edge.RefuseField(http.StatusNotFound, "version", fmt.Sprintf("version: there is no version %d of %s", n, p))
	}
	return f, v.At, err
}

// version is what a file was.
type version struct {
	Number int       `json:"version"`
	Hash   string    `json:"sha256"`
	Size   int64     `json:"size"`
	At     time.Time `json:"at"`
}

func listVersions(w http.ResponseWriter, folder *os.Root, p files.Path) error {
	all, err := workspace.Versions(folder, local(p))
	if err != nil {
		return err
	}
	list := []version{}
	for _, v := range all {
		list = append(list, version{v.Number, v.Hash, v.Size, v.At.UTC()})
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"versions", list}, {"count", len(list)}})
}

// open opens a file for reading. A link is followed only within the thread's folder.
func open(folder *os.Root, p files.Path) (*os.File, fs.FileInfo, error) {
	info, err := folder.Stat(local(p))
	if err != nil || !info.Mode().IsRegular() { // a pipe must not be opened: that would wait for somebody
		return nil, nil, missing(p)
	}
	f, err := folder.Open(local(p))
	if err != nil {
		return nil, nil, missing(p)
	}
	return f, info, nil
}

// File opens a file of a thread by the name that agents know it by, for another service; the caller closes it.
func (s *Service) File(r *http.Request, who run.Identity, thread, name string) (*os.File, fs.FileInfo, error) {
	p, err := files.ParsePath(name)
	if err != nil || p.Area == "" || p.Name == "." {
		return nil, nil, edge.RefuseField(http.StatusNotFound, "path", "path: there is no such file in the thread; name one as in /mnt/user-data/outputs/x.skill")
	}
	folder, err := s.folderOf(r.Context(), who, thread)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	return open(folder, p)
}

// digest is the hash of a whole file, which is left at its beginning.
func digest(f *os.File) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	_, err := f.Seek(0, io.SeekStart)
	return hex.EncodeToString(sum.Sum(nil)), err
}

func (s *Service) listArtifacts(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	format := r.URL.Query().Get("format")
	if format != "" && format != "json" && format != "zip" {
		return edge.RefuseField(http.StatusUnprocessableEntity, "format", `format: give "json" or "zip"`)
	}
	folder, err := s.folder(r, who)
	if err != nil {
		return err
	}
	defer folder.Close()
	all, err := s.list(folder, r.PathValue("thread_id"), files.Outputs)
	if err != nil {
		return err
	}
	if format != "zip" {
		return edge.Answer(w, http.StatusOK, all)
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="outputs.zip"`)
	h.Set("X-Content-Type-Options", "nosniff")
	archive := zip.NewWriter(w)
	for _, entry := range all.Files {
		if err := pack(archive, folder, entry); err != nil {
			// The status is out. An archive without its end is no archive, so that nobody takes a part for the whole.
			panic(http.ErrAbortHandler)
		}
	}
	_ = archive.Close() // a client that has gone needs no end
	return nil
}

// pack adds a file to an archive. One that is gone meanwhile is left out.
func pack(archive *zip.Writer, folder *os.Root, entry file) error {
	p, err := files.ParsePath(entry.Path)
	if err != nil {
		return nil //nolint:nilerr // a name that no route could ask for
	}
	f, info, err := open(folder, p)
	if err != nil {
		return nil //nolint:nilerr // gone
	}
	defer f.Close()
	to, err := archive.CreateHeader(&zip.FileHeader{Name: p.Name, Method: zip.Deflate, Modified: info.ModTime()})
	if err != nil {
		return err
	}
	_, err = io.Copy(to, f)
	return err
}

func (s *Service) listUploads(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	folder, err := s.folder(r, who)
	if err != nil {
		return err
	}
	defer folder.Close()
	all, err := s.list(folder, r.PathValue("thread_id"), files.Uploads)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, all)
}

func (s *Service) removeUpload(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	p, err := files.ParsePath(path.Join(files.Top, files.Uploads) + "/" + r.PathValue("filename"))
	if err != nil || p.Area != files.Uploads || strings.Contains(p.Name, "/") || p.Name == "." {
		return edge.RefuseField(http.StatusNotFound, "filename", "filename: there is no such upload")
	}
	folder, err := s.folder(r, who)
	if err != nil {
		return err
	}
	defer folder.Close()
	if info, err := folder.Lstat(local(p)); err != nil || info.IsDir() {
		return missing(p)
	}
	if err := folder.Remove(local(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return edge.Answer(w, http.StatusOK, done{true, path.Base(p.Name) + " is deleted"})
}
