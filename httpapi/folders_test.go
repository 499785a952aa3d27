package httpapi_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/scripted"
)

const folderThread = "thread_1"

func serveFiles(t *testing.T, ro tributary.Options) (*world, string) {
	t.Helper()
	ro.Files, ro.Models = true, tributary.OneModel(scripted.Always(scripted.Words("Yes.")))
	w := serve(t, ro, httpapi.Options{Identify: func(r *http.Request) (string, error) {
		if who := r.Header.Get("Who"); who != "" {
			return who, nil
		}
		return "me", nil
	}})
	return w, w.dir
}

// form is the body of an upload.
func form(t *testing.T, files ...string) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		part, err := m.CreateFormFile("files", files[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, files[i+1]) // into memory
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), m.FormDataContentType()
}

type listed struct {
	Files []struct {
		Filename, Path string
		Artifact_url   string
		Original       string `json:"original_filename"`
		Size           int64
	}
	Skipped []string `json:"skipped_files"`
}

func (w *world) upload(files ...string) listed {
	w.Helper()
	body, kind := form(w.T, files...)
	res, answer := w.call("POST", "/threads/"+folderThread+"/uploads", body, "Content-Type", kind)
	var l listed
	if err := json.Unmarshal([]byte(answer), &l); err != nil || res.StatusCode != 200 {
		w.Fatalf("upload: %s %s", res.Status, answer)
	}
	return l
}

func TestUploadsAreKeptAndReadAgain(t *testing.T) {
	w, _ := serveFiles(t, tributary.Options{})
	got := w.upload("notes.txt", "first", "../../etc/notes.txt", "second", "日本 語.md", "# 三")
	if len(got.Files) != 3 || got.Files[0].Path != "/mnt/user-data/uploads/notes.txt" || got.Files[1].Path != "/mnt/user-data/uploads/notes_1.txt" || got.Files[1].Original != "notes.txt" {
		t.Fatalf("got %+v", got)
	}
	for i, want := range []string{"first", "second", "# 三"} {
		if res, body := w.call("GET", got.Files[i].Artifact_url, ""); res.StatusCode != 200 || body != want {
			t.Errorf("%s is %s %q, want %q", got.Files[i].Artifact_url, res.Status, body, want)
		}
	}
	if res, _ := w.call("GET", got.Files[0].Artifact_url, "", "Who", "another"); res.StatusCode != 404 {
		t.Errorf("somebody else reads the file: %s", res.Status)
	}
	if res, body := w.call("GET", got.Files[0].Artifact_url, "", "Range", "bytes=1-2"); res.StatusCode != 206 || body != "ir" || res.Header.Get("Content-Range") != "bytes 1-2/5" {
		t.Errorf("a range is %s %q %s", res.Status, body, res.Header.Get("Content-Range"))
	}
	if res, _ := w.call("DELETE", "/threads/"+folderThread+"/uploads/notes.txt", ""); res.StatusCode != 200 {
		t.Errorf("delete: %s", res.Status)
	}
	_, body := w.call("GET", "/threads/"+folderThread+"/uploads/list", "")
	if strings.Contains(body, `notes.txt"`) || !strings.Contains(body, "notes_1.txt") || !strings.Contains(body, `"count":2`) {
		t.Errorf("the list is %s", body)
	}
	if res, body := w.call("POST", "/threads/"+folderThread+"/uploads", "x", "Content-Type", "text/plain"); res.StatusCode != 415 {
		t.Errorf("no form: %s %s", res.Status, body)
	}
	for name, bad := range map[string][]string{"no name": {"..", "x"}, "none": {}} {
		body, kind := form(t, bad...)
		if res, body := w.call("POST", "/threads/"+folderThread+"/uploads", body, "Content-Type", kind); res.StatusCode != 422 || !strings.Contains(body, "files") {
			t.Errorf("%s: %s %s", name, res.Status, body)
		}
	}
}

// Two who upload files of one name at once get both.
func TestUploadsAtOnceOverwriteNothing(t *testing.T) {
	w, _ := serveFiles(t, tributary.Options{})
	w.upload("a", "a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { w.upload("same.txt", "x") })
	}
	all.Wait()
	if _, body := w.call("GET", "/threads/"+folderThread+"/uploads/list", ""); !strings.Contains(body, `"count":9`) {
		t.Errorf("the list is %s", body)
	}
}

func TestAFolderThatIsFullSaysSo(t *testing.T) {
	w, _ := serveFiles(t, tributary.Options{ThreadBytes: 1000})
	body, kind := form(t, "big.txt", strings.Repeat("x", 2000))
	if res, body := w.call("POST", "/threads/"+folderThread+"/uploads", body, "Content-Type", kind); res.StatusCode != 413 || !strings.Contains(body, "full") {
		t.Errorf("%s %s", res.Status, body)
	}
	if _, body := w.call("GET", "/threads/"+folderThread+"/uploads/list", ""); !strings.Contains(body, `"count":0`) {
		t.Errorf("something stayed: %s", body)
	}
}

// What an agent leaves is read, written over by whoever has seen it, and runs nowhere.
func TestArtifactsNeverRunInOurOrigin(t *testing.T) {
	w, _ := serveFiles(t, tributary.Options{})
	w.upload("a", "a")
	at := "/threads/" + folderThread + "/artifacts/mnt/user-data/outputs/"
	put := func(name, content, expected string) (*http.Response, string) {
		body, _ := json.Marshal(map[string]string{"content": content, "expected_sha256": expected})
		return w.call("PUT", at+name, string(body))
	}
	for _, name := range []string{"page.html", "deep/picture.svg", "x.xhtml", "x.js", "x.mjs", "x.css", "x.xml", "none", "x.HTML"} {
		if res, body := put(name, "<script>alert(1)</script>", ""); res.StatusCode != 200 {
			t.Fatalf("%s: %s %s", name, res.Status, body)
		}
		res, _ := w.call("GET", at+name, "")
		if h := res.Header; h.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox;") {
			t.Errorf("%s is served with %v", name, h)
		}
	}
	res, _ := w.call("GET", at+"page.html?preview=true", "")
	if h := res.Header; !strings.HasPrefix(h.Get("Content-Type"), "text/html") || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox allow-scripts; default-src 'none'") ||
		strings.Contains(h.Get("Content-Security-Policy"), "allow-same-origin") {
		t.Errorf("a preview is served with %v", h)
	}
	if res, body := put("x.pdf", "%PDF-1.4", ""); res.StatusCode != 200 {
		t.Fatalf("x.pdf: %s %s", res.Status, body)
	}
	res, _ = w.call("GET", at+"x.pdf?preview=true", "")
	if h := res.Header; h.Get("Content-Type") != "application/pdf" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") ||
		!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'self'") {
		t.Errorf("the preview of a PDF is served with %v", h)
	}
	res, body := put("report.md", "# One", "")
	var written struct{ Sha256 string }
	if err := json.Unmarshal([]byte(body), &written); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s %s", res.Status, body)
	}
	if res, body := put("report.md", "# Lost", ""); res.StatusCode != 409 {
		t.Errorf("a file was overwritten unseen: %s %s", res.Status, body)
	}
	res, _ = w.call("GET", at+"report.md", "")
	if etag := res.Header.Get("ETag"); etag != `"`+written.Sha256+`"` {
		t.Errorf("the ETag is %s, the hash %s", etag, written.Sha256)
	}
	if res, body := put("report.md", "# Two", written.Sha256); res.StatusCode != 200 {
		t.Errorf("%s %s", res.Status, body)
	}
	if res, _ := w.call("PUT", strings.Replace(at, "outputs", "uploads", 1)+"a", `{"content":"b","expected_sha256":""}`); res.StatusCode != 403 {
		t.Errorf("an upload was written over: %s", res.Status)
	}
	_, archive := w.call("GET", "/threads/"+folderThread+"/artifacts?format=zip", "")
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil || len(z.File) != 11 {
		t.Errorf("the archive: %v, %d bytes", err, len(archive))
	}
}

// However a path is written, and whatever links lie in the folder: a file outside is neither read, written nor deleted.
func TestNoPathLeadsOutOfTheFolder(t *testing.T) {
	w, dir := serveFiles(t, tributary.Options{})
	w.upload("a", "a")
	trap := filepath.Join(dir, "trap.txt")
	const secret = "do not read me"
	if err := os.WriteFile(trap, []byte(secret), 0o600); err != nil {
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
	for name, to := range map[string]string{"link": trap, "up": dir, "relative": "../../../../../trap.txt", "root": "/"} {
		if err := os.Symlink(to, filepath.Join(outputs, name)); err != nil {
			t.Fatal(err)
		}
	}
	top := "/threads/" + folderThread + "/artifacts/mnt/user-data/"
	for _, path := range []string{
		"outputs/link", "outputs/up/trap.txt", "outputs/relative", "outputs/root" + trap, "outputs/../../../trap.txt", "outputs/%2e%2e/%2e%2e/trap.txt",
		"outputs/%2E%2E%2F%2E%2E%2Ftrap.txt", "outputs/%252e%252e/trap.txt", "outputs/..%2f..%2f..%2ftrap.txt", `outputs/..%5c..%5ctrap.txt`, "outputs/trap.txt%00.md",
		"..%2f..%2ftrap.txt", "../../../../../../../../" + trap, "outputs//" + trap, "outputs/" + strings.Repeat("a/", 3000) + "x", "outputs/" + strings.Repeat("a", 5000),
		"outputs", "outputs/", "", "secrets/x", "outputs/%c0%ae%c0%ae/trap.txt", "outputs/%ff", "outputs/․․/trap.txt", "outputs/link/", "outputs/up",
	} {
		for _, method := range []string{"GET", "PUT", "GET ?preview=true", "GET ?download=true"} {
			method, query, _ := strings.Cut(method, " ")
			body := ""
			if method == "PUT" {
				body = `{"content":"gone","expected_sha256":""}`
			}
			req, err := http.NewRequestWithContext(t.Context(), method, w.server.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.URL.Opaque = "//" + req.URL.Host + top + path + query // as it is written
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				continue // not even a request
			}
			said, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if strings.Contains(string(said), secret) {
				t.Errorf("%s %s reads the trap", method, path)
			}
			if res.StatusCode >= 500 {
				t.Errorf("%s %s is answered with %s: %.100s", method, path, res.Status, said)
			}
		}
		if got, err := os.ReadFile(trap); err != nil || string(got) != secret {
			t.Fatalf("%s: the trap holds %q, %v", path, got, err)
		}
	}
	for _, name := range []string{"..%2f..%2ftrap.txt", "%2e%2e", "..", "a%2f..%2f..%2ftrap.txt"} {
		w.call("DELETE", "/threads/"+folderThread+"/uploads/"+name, "")
	}
	if got, err := os.ReadFile(trap); err != nil || string(got) != secret {
		t.Fatalf("the trap holds %q, %v", got, err)
	}
	if _, archive := w.call("GET", "/threads/"+folderThread+"/artifacts?format=zip", ""); strings.Contains(archive, secret) {
		t.Error("the archive holds the trap")
	}
}
