package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/document"
)

// A report is had in every format, under its own name, with the pictures of its thread.
func TestMarkdownIsHadInOtherFormats(t *testing.T) {
	w, dir := serveFiles(t, tributary.Options{})
	w.upload("a", "a")
	var chart bytes.Buffer
	if err := png.Encode(&chart, image.NewGray(image.Rect(0, 0, 7, 5))); err != nil {
		t.Fatal(err)
	}
	var outputs string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "outputs" {
			outputs = path
		}
		return err
	})
	if err != nil || outputs == "" {
		t.Fatalf("no outputs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret.png"), chart.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret.png"), filepath.Join(outputs, "link.png")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"流 report.md": "# How it went\n\nAll is well[^1]. ![lengths](/mnt/user-data/outputs/my%20chart.png) ![again](my%20chart.png)\n\n" +
			"![outside](link.png) ![up](../../../secret.png) ![away](https://example.com/x.png)\n\n[^1]: A source, <https://example.com/a>\n",
		"my chart.png": chart.String(), "bad.md": "\xff\xfe", "huge.md": strings.Repeat("words ", 400_000), "notes.txt": "a",
	} {
		if err := os.WriteFile(filepath.Join(outputs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := "/threads/" + folderThread + "/artifacts/mnt/user-data/outputs/"
	for format, kind := range map[string]string{
		"html": "text/html; charset=utf-8", "pdf": "application/pdf",
		"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	} {
		res, body := w.call("GET", at+"%E6%B5%81%20report.md?as="+format, "")
		h := res.Header
		disposition, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
		if res.StatusCode != 200 || h.Get("Content-Type") != kind || err != nil || disposition != "attachment" || params["filename"] != "流 report."+format ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox;") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Fatalf("%s: %s %v", format, res.Status, h)
		}
		if format == "html" {
			if n := strings.Count(body, "data:image/png;base64,"+base64.StdEncoding.EncodeToString(chart.Bytes())); n != 2 {
				t.Errorf("the page has %d pictures inside, want 2:\n%s", n, body)
			}
			continue
		}
		doc, err := document.Read("x."+format, strings.NewReader(body), int64(len(body)), document.Limits{})
		if got := doc.Markdown(); err != nil || !strings.Contains(got, "All is well") || strings.Contains(got, "my%20chart") || !strings.Contains(got, "[outside link.png]") || !strings.Contains(got, "[up ../../../secret.png]") {
			t.Errorf("%s: %v\n%s", format, err, got)
		}
	}
	for query, want := range map[string]int{
		"bad.md?as=pdf": 422, "huge.md?as=html": 413, "notes.txt?as=pdf": 422, "%E6%B5%81%20report.md?as=odt": 422, "gone.md?as=pdf": 404,
	} {
		if res, body := w.call("GET", at+query, ""); res.StatusCode != want || !strings.Contains(body, "\"detail\"") && !strings.Contains(body, "\"error\"") {
			t.Errorf("%s: got %s %s, want %d", query, res.Status, body, want)
		}
	}
	if res, _ := w.call("GET", at+"%E6%B5%81%20report.md?as=pdf", "", "Who", "anna"); res.StatusCode != http.StatusNotFound {
		t.Errorf("somebody else's report: got %s, want 404", res.Status)
	}
}
