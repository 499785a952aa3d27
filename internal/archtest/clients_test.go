package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRequestsGoThroughTheOneClient(t *testing.T) {
	used := map[string]bool{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".tools", "node_modules", "testdata"}, d.Name()):
			return fs.SkipDir
		case d.IsDir(), filepath.Ext(file) != ".go", strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		wrong, err := CheckClients(file, path.Dir(file), source, Callers)
		for _, sentence := range wrong {
			t.Error(sentence)
		}
		if err != nil {
			return err
		}
		wrong, err = CheckClients(file, path.Dir(file), source, nil)
		for _, c := range Callers {
			if len(wrong) > 0 && (c.Files == file || match(c.Files, path.Dir(file))) {
				used[c.Files] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Callers {
		if !used[c.Files] || c.Why == "" {
			t.Errorf("the row of %s is not needed or gives no reason", c.Files)
		}
	}
}

func TestClientsOfOnesOwnAreFound(t *testing.T) {
	for code, want := range map[string]int{
		`import "net/http"; var c = http.Client{}`:                           1,
		`import "net/http"; var c = &http.Client{Transport: nil}`:            1,
		`import "net/http"; var c http.Client`:                               1,
		`import "net/http"; var c = new(http.Client)`:                        1,
		`import web "net/http"; var c = web.DefaultClient`:                   1,
		`import "net/http"; var c = *http.DefaultClient`:                     1,
		`import "net/http"; func f() { http.Get(""); http.Post("","",nil) }`: 2,
		`import "net/http"; var t = http.DefaultTransport`:                   1,
		`import "net/http"; var t = &http.Transport{}`:                       1,
		`import "net/http"; func f(c *http.Client, t *http.Transport) {}`:    0,
		`import "net/http"; var x = http.MethodGet`:                          0,
		`import http "example.com/other"; var c = http.Client{}`:             0,
	} {
		got, err := CheckClients("x/x.go", "x", []byte("package x; "+code), nil)
		if err != nil || len(got) != want {
			t.Errorf("%s: got %q, %v, want %d", code, got, err, want)
		}
	}
}
