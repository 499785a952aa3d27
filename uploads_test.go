package tributary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
)

// Files go in, and what agents leave comes out.
func ExampleRuntime_Upload() {
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Files: true})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	f, err := rt.Upload(ctx, "", "rivers", "nile.txt", strings.NewReader("The Nile is long."))
	fmt.Println(f.Path, f.Size, err)
	if _, err := rt.Chat(ctx, tributary.Request{Thread: "rivers", Text: "write a file notes.txt that says all is well"}); err != nil {
		log.Fatal(err)
	}
	for _, below := range []string{"uploads", "workspace", "outputs"} {
		list, err := rt.Files(ctx, "", "rivers", below)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(below, len(list))
	}
	// Output:
	// /mnt/user-data/uploads/nile.txt 17 <nil>
	// uploads 1
	// workspace 0
	// outputs 1
}

func TestUploadsAreKeptListedReadAndRemoved(t *testing.T) {
	rt := open(t, tributary.Options{Files: true, ThreadBytes: 100})
	put := func(thread, name, text string) (string, error) {
		f, err := rt.Upload(t.Context(), "anna", thread, name, strings.NewReader(text))
		return f.Path, err
	}
	for _, want := range []string{"/mnt/user-data/uploads/a.txt", "/mnt/user-data/uploads/a_1.txt"} {
		if got, err := put("t", "a.txt", "water"); err != nil || got != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
	paths := func() (out []string) {
		list, err := rt.Files(t.Context(), "anna", "t", "uploads")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			out = append(out, f.Path)
		}
		return out
	}
	if got := paths(); !slices.Equal(got, []string{"/mnt/user-data/uploads/a.txt", "/mnt/user-data/uploads/a_1.txt"}) {
		t.Errorf("listed %q", got)
	}
	f, err := rt.OpenFile(t.Context(), "anna", "t", "/mnt/user-data/uploads/a_1.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "water" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if err := rt.RemoveFile(t.Context(), "anna", "t", "/mnt/user-data/uploads/a.txt"); err != nil {
		t.Error(err)
	}
	if err := rt.RemoveFile(t.Context(), "anna", "t", "/mnt/user-data/uploads/a.txt"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("removed again: %v", err)
	}
	if _, err := put("t", "large.txt", strings.Repeat("x", 200)); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("more than fits: %v", err)
	}
	if got := paths(); !slices.Equal(got, []string{"/mnt/user-data/uploads/a_1.txt"}) {
		t.Errorf("what did not fit left %q", got)
	}
	for _, name := range []string{"", ".", "..", "../a", "a/b", "/etc/passwd", "a\x00", ".upload-x", `a\b`} {
		var wrong *tributary.InvalidError
		if got, err := put("t", name, "x"); !errors.As(err, &wrong) {
			t.Errorf("a file called %q: %q, %v", name, got, err)
		}
	}
	if _, err := rt.Files(t.Context(), "bert", "t", "uploads"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("somebody else's files: %v", err)
	}
	if _, err := rt.Upload(t.Context(), "bert", "t", "b.txt", strings.NewReader("x")); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("into somebody else's thread: %v", err)
	}
	if _, err := rt.OpenFile(t.Context(), "anna", "t", "/mnt/user-data/uploads"); !errors.Is(err, tributary.ErrNotFound) {
		t.Errorf("a folder is opened: %v", err)
	}
}
