package httpapi_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
)

// A file that models cannot read has its text beside it, or a sentence on why not, and is there in either case.
func TestAnUploadHasItsTextOrASentence(t *testing.T) {
	w := serve(t, tributary.Options{Files: true}, httpapi.Options{Convert: func(name string, _ io.ReaderAt, _ int64) (string, bool, error) {
		switch name {
		case "guide.docx":
			return "# Guide", true, nil
		case "locked.pdf":
			return "", false, errors.New("locked.pdf is protected by a password")
		}
		return "", false, nil
	}})
	body, kind := form(t, "guide.docx", "PK", "locked.pdf", "%PDF", "notes.txt", "hello")
	res, text := w.call("POST", "/threads/"+folderThread+"/uploads", body, "Content-Type", kind)
	for _, want := range []string{
		`"markdown_path":"/mnt/user-data/uploads/guide.docx.md"`, `"markdown_file":"guide.docx.md"`, `/artifacts/mnt/user-data/uploads/guide.docx.md"`,
		`"markdown_problem":"locked.pdf is protected by a password"`,
	} {
		if res.StatusCode != 200 || strings.Count(text, want) != 1 {
			t.Errorf("%s: %q is not once in %s", res.Status, want, text)
		}
	}
	for name, want := range map[string]string{"guide.docx.md": "# Guide", "locked.pdf": "%PDF", "notes.txt": "hello"} {
		if _, text := w.call("GET", "/threads/"+folderThread+"/artifacts/mnt/user-data/uploads/"+name, ""); text != want {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
}
