package cite_test

import (
	"fmt"

	"github.com/tributary-ai/tributary/internal/cite"
	"github.com/tributary-ai/tributary/item"
)

// A tool found something; the model cites it in a stream that cuts the marker in two.
func Example() {
	var pool cite.Pool
	result := pool.Add(item.ToolResult{Content: []item.Block{{Type: item.TextBlock, Text: "15C, sunny", Ref: 1}}})
	for _, b := range result.Content {
		fmt.Printf("the model reads %q\n", b.Text)
	}

	parser := cite.NewParser(pool.Has)
	for _, delta := range []string{"It is sunny in 巴黎.[", "^1] Take a hat.[^2]"} {
		for _, a := range parser.Feed(delta) {
			fmt.Printf("code points %d to %d cite number %d\n", a.Start, a.End, a.Ref)
		}
	}
	// Output:
	// the model reads "<referencable-item>\nID: 1"
	// the model reads "15C, sunny"
	// the model reads "</referencable-item>"
	// code points 18 to 22 cite number 1
}
