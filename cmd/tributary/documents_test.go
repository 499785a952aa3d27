package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFoldersOfDocumentsAreAddedSearchedAndRemoved(t *testing.T) {
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "handbook")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"leave.md": "# Annual leave\n\nEverybody has twenty-eight days a year.\n", "fees.html": "<h2 id=fees>Fees</h2><p>A berth costs four euros.</p>", "photo.png": "\x89PNG",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"list"}, 0, "No folders"},
		{[]string{"add", dir}, 0, "is searched from the next start"},
		{[]string{"add", dir}, 1, "on the list already"},
		{[]string{"list"}, 0, dir + "\n2 files, 2 passages\n1 file is not searched, unknown format: handbook/photo.png"},
		{[]string{"search", "what does a berth cost?"}, 0, "1. fees › Fees\n   handbook/fees.html#fees, line 3\n   A «berth» «costs» four euros."},
		{[]string{"search", "how many calories has a banana?"}, 0, "The documents do not answer this.\nNo document has: calories, banana"},
		{[]string{"search", "--json", "annual leave"}, 0, `"Title":"Annual leave"`},
		{[]string{"remove", dir}, 0, "no longer searched"},
		{[]string{"remove", dir}, 1, "not on the list"},
	} {
		var out bytes.Buffer
		code := command(t.Context(), append([]string{"--data", data, "docs"}, step.args...), strings.NewReader(""), &out, &out)
		if code != step.code || !strings.Contains(out.String(), step.says) {
			t.Errorf("docs %v: code %d and\n%s\nwant %d and\n%s", step.args, code, out.String(), step.code, step.says)
		}
	}
}
