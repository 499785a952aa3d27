package search_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/tributary-ai/tributary/tool/search"
)

func ExampleIndex_Search() {
	ctx := context.Background()
	docs := fstest.MapFS{"guide.md": {Data: []byte("# Guide\n\n## Resuming\n\nA reader resumes after the position that it names.\n")}}
	ix, err := search.Open(ctx, search.Options{Sources: []search.Source{{Label: "docs", FS: docs}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ix.Close()
	found, err := ix.Search(ctx, "how do readers resume?", 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range found {
		fmt.Println(p.Heading(), "|", p.Location(), "| line", p.Line)
		fmt.Println(p.Text)
	}
	// Output:
	// Guide › Resuming | docs/guide.md#resuming | line 5
	// A reader resumes after the position that it names.
}
