package folders

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/export"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/tool/files"
)

const (
	maxExport   = 2 << 20  // of the text
	maxPicture  = 16 << 20 // of one picture
	maxPictures = 48 << 20 // of all that one export shows
)

// export answers with a Markdown file in another format.
func (s *Service) export(w http.ResponseWriter, r *http.Request, folder *os.Root, p files.Path, f *os.File) error {
	format := r.URL.Query().Get("as")
	kind := export.Types[format]
	if kind == "" {
		return edge.RefuseField(http.StatusUnprocessableEntity, "as", "as: give html, docx, pdf or pptx")
	}
	ext := path.Ext(p.Name)
	if e := strings.ToLower(ext); e != ".md" && e != ".markdown" {
		return edge.RefuseField(http.StatusUnprocessableEntity, "as", fmt.Sprintf("as: only Markdown files can be had in another format, and %s is none", p))
	}
	source, err := io.ReadAll(io.LimitReader(f, maxExport+1))
	if err != nil {
		return err
	}
	if len(source) > maxExport {
		return edge.RefuseField(http.StatusRequestEntityTooLarge, "as", fmt.Sprintf("as: a text of at most %d bytes can be had in another format", maxExport))
	}
	if !utf8.Valid(source) {
		return edge.RefuseField(http.StatusUnprocessableEntity, "as", fmt.Sprintf("as: %s is no text in UTF-8", p))
	}
	// Making pages takes a processor and some memory, so that few are made at once and the others wait.
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	a := album{folder: folder, beside: path.Dir(p.String())}
	data, err := export.As(format, string(source), export.Options{Picture: a.picture})
	var font *export.FontError
	if errors.As(err, &font) {
		return edge.RefuseField(http.StatusUnprocessableEntity, "as",
			fmt.Sprintf("as: this server has no font with the letter %q; ask for docx or html, or install one (Debian: apt-get install fonts-droid-fallback)", font.Letter))
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": strings.TrimSuffix(path.Base(p.Name), ext) + "." + format}))
	h.Set("Content-Security-Policy", inert)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = w.Write(data) // a client that has gone needs no answer
	return nil
}

// album finds the pictures of a text among the files of its thread.
type album struct {
	folder *os.Root
	beside string // where the text lies: its pictures may be named from there
	used   int64
}

func (a *album) picture(address string) ([]byte, bool) {
	if plain, err := url.PathUnescape(address); err == nil { // as in a link
		address = plain
	}
	if strings.Contains(address, ":") { // somewhere else, or inside of the text already
		return nil, false
	}
	if !strings.HasPrefix(address, "/") {
		address = a.beside + "/" + address
	}
	p, err := files.ParsePath(address)
	if err != nil || p.Area == "" || p.Name == "." {
		return nil, false
	}
	f, info, err := open(a.folder, p)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info.Size() > maxPicture || a.used+info.Size() > maxPictures {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPicture)) // it may have grown
	a.used += int64(len(data))
	return data, err == nil
}
