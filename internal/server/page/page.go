// Package page serves the page for people: a document at the root, and the files that it loads.
//
// # Laws
//
//   - The document is asked for anew each time and says which files belong to it; a file's name changes with its contents, so
//     that it may be kept for ever. Both have strong ETags, one for each encoding.
//   - A browser that has the document runs what we wrote and nothing else: no inline code, no markup made of strings, nothing from
//     any other host.
//   - What others wrote to be drawn, as diagrams are, is drawn in a frame without an origin: it has no network, no storage, and no way
//     to the document but messages. Documents in the folder are such frames, and none but the page may show them.
//   - A file is read and compressed once, when it is first asked for: most are never.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/internal/server/edge"
)

// policy is what a browser may do with the document. Pictures that come with an answer are data: URLs, those of a thread's folder
// blob: URLs. Frames show files of threads, which the server gives an origin of their own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// framed is what a browser may do with a document of the folder. The library that draws there sets styles of its own making.
const framed = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'self'; sandbox allow-scripts"

// Folder is the path below which the files are.
const Folder = "/" + folder + "/"

const (
	document = "index.html"
	folder   = "page"
)

// Page is the built page.
type Page struct {
	home  *file
	files map[string]func() (*file, error) // by name in the folder; each is read once
}

// New reads a built page: index.html, and the files in the folder page.
func New(fsys fs.FS) (*Page, error) {
	home, err := read(fsys, document)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	p := &Page{home: home, files: map[string]func() (*file, error){}}
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	for _, e := range entries {
		p.files[e.Name()] = sync.OnceValues(func() (*file, error) { return read(fsys, path.Join(folder, e.Name())) })
	}
	return p, nil
}

// Mount adds the route of the files.
func (p *Page) Mount(t *edge.Routes) {
	t.Open("GET /"+folder+"/{name}", func(w http.ResponseWriter, r *http.Request) error {
		read := p.files[r.PathValue("name")]
		if read == nil {
			return edge.Refuse(http.StatusNotFound, "the page has no such file; it may be that of another version: load the page again")
		}
		f, err := read()
		if err != nil {
			return fmt.Errorf("read the page: %w", err)
		}
		h := w.Header()
		if path.Ext(r.PathValue("name")) == ".html" { // the build gives documents no hash
			h.Set("Cache-Control", "no-cache")
			h.Set("Content-Security-Policy", framed)
			h.Set("Referrer-Policy", "no-referrer")
		} else {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
			h.Set("Access-Control-Allow-Origin", "*") // a frame without an origin loads its code as a stranger; there is nothing secret in it
		}
		f.serve(w, r)
		return nil
	}, edge.Doc{Summary: "A file of the page"})
}

// ServeDocument answers with the document.
func (p *Page) ServeDocument(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // it may be kept, and is asked after each time
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	p.home.serve(w, r)
}

// file is a file in the two forms that we send.
type file struct {
	media       string
	plain, gzip []byte
	tag         string // of the contents, without quotes
}

func read(fsys fs.FS, name string) (*file, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &file{mediaType(name), data, b.Bytes(), base64.RawURLEncoding.EncodeToString(sum[:12])}, nil
}

// mediaType says what the files are. The tables of the machine that we run on may say otherwise, and nosniff makes that fatal.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept-Encoding")
	body, tag := f.plain, `"`+f.tag+`"`
	if accepts(r.Header.Get("Accept-Encoding"), "gzip") && len(f.gzip) < len(f.plain) {
		body, tag = f.gzip, `"`+f.tag+`-gz"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if has(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// accepts reports that a header like "gzip;q=1, br" names the encoding and does not refuse it.
func accepts(header, name string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), name) {
			q, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !ok || err != nil || weight > 0
		}
	}
	return false
}

// has reports that a list of tags contains one, or is a star.
func has(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}
