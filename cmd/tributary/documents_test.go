package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/tool/search"
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

// The whole program: an upload is found by the conversation that has it, and by no other.
func TestAConversationSearchesItsUploads(t *testing.T) {
	dir, do := inFolder(t)
	do(0, []string{"chat", "hello"})
	threads, err := filepath.Glob(filepath.Join(dir, "threads", "local", "*"))
	if err != nil || len(threads) != 1 {
		t.Fatalf("the threads are %q, %v", threads, err)
	}
	if err := os.WriteFile(filepath.Join(threads[0], "uploads", "dues.md"), []byte("# Harbour dues\n\nSailing boats pay four euros a night.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(filepath.Base(threads[0]), ".")
	const question = "What do sailing boats pay in harbour dues?"
	do(0, []string{"chat", "--thread", id, question}, "four euros a night", "/mnt/user-data/uploads/dues.md")
	var out bytes.Buffer
	if code := command(t.Context(), []string{"--data", dir, "chat", question}, strings.NewReader(""), &out, &out); code != 0 || strings.Contains(out.String(), "four euros") {
		t.Errorf("another conversation is told, with code %d:\n%s", code, &out)
	}
}

func TestIndexingManyFilesDrawsABarThatGoesAway(t *testing.T) {
	for _, tt := range []struct {
		what  string
		files int
		live  bool
		want  string
	}{
		{"many files on a terminal", 100, true, "\rindexing documents [##############################] 100/100\r\x1b[K"},
		{"few files", 49, true, ""},
		{"many files, into a file", 100, false, ""},
	} {
		var out bytes.Buffer
		p := &progress{out: &out, live: tt.live}
		for i := range tt.files {
			p.show(search.Progress{Done: i + 1, Total: tt.files})
		}
		p.done()
		if got := out.String(); tt.want == "" && got != "" || !strings.HasSuffix(got, tt.want) || tt.want != "" && !strings.HasPrefix(got, "\rindexing documents [..............................] 1/100\r") {
			t.Errorf("%s: drawn %q, want %q at the end", tt.what, got, tt.want)
		}
	}
}
