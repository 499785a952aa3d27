package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/memory"
)

// factOf is the id of the fact that has some words, as the command prints it.
func factOf(t *testing.T, dir, words string) string {
	t.Helper()
	var out bytes.Buffer
	if code := command(context.Background(), []string{"--data", dir, "memory", "show"}, strings.NewReader(""), &out, &out); code != 0 {
		t.Fatalf("show: %s", &out)
	}
	var d memory.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Facts {
		if strings.Contains(f.Content, words) {
			return f.ID
		}
	}
	t.Fatalf("nothing with %q is in %s", words, &out)
	return ""
}

func TestMemoryIsKeptAndChangedOnTheCommandLine(t *testing.T) {
	dir, do := inFolder(t)
	do(0, []string{"memory", "list"}, "Nothing is remembered")
	// What is said in one conversation is known to the next process.
	do(0, []string{"chat", "Please remember that my boat is called Wren."})
	do(0, []string{"memory", "list", "boat"}, "my boat is called Wren", "context")
	id := factOf(t, dir, "Wren")
	do(0, []string{"memory", "show", id}, `"message": "`, `"run": "`)
	do(0, []string{"memory", "edit", id, "The boat is called Heron"})
	do(0, []string{"memory", "add", "Likes tea", "--category", "preference"})
	do(0, []string{"memory", "list"}, "Heron", "Likes tea", "preference", "manual")
	file := filepath.Join(t.TempDir(), "memory.json")
	do(0, []string{"memory", "export", file})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the export is %v, %v", info, err)
	}
	do(0, []string{"memory", "delete", id})
	do(1, []string{"memory", "delete", id}, "there is no such fact", "tributary memory list")
	do(0, []string{"memory", "off"})
	do(0, []string{"chat", "Please remember that I sail."})
	do(0, []string{"memory", "on"})
	do(0, []string{"memory", "list", "sail"}, "Nothing is remembered")
	do(1, []string{"memory", "clear"}, "--yes")
	do(0, []string{"memory", "clear", "--yes"})
	do(0, []string{"memory", "list"}, "Nothing is remembered")
	do(0, []string{"memory", "import", file})
	do(0, []string{"memory", "list"}, "Heron", "Likes tea")
	do(0, []string{"memory", "--agent", "writer", "list"}, "Nothing is remembered")
	do(0, []string{"tools"}, "memory_search", "memory_delete")
	do(1, []string{"memory", "import", filepath.Join(dir, "tributary.db")}, "tributary memory export")
}
