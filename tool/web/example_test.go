package web_test

import (
	"fmt"

	"github.com/tributary-ai/tributary/tool/web"
)

// An agent that reads pages, and asks one engine.
func Example() {
	fetcher, err := web.NewFetcher(web.FetchOptions{})
	if err != nil {
		panic(err)
	}
	defer fetcher.Close()
	engine, err := web.NewEngine(web.EngineOptions{Name: "brave", Key: "from the environment"})
	if err != nil {
		panic(err)
	}
	searcher := &web.Searcher{Engines: []web.Engine{engine}}
	defer searcher.Close()
	for _, t := range append(searcher.Tools(), fetcher.Tool()) {
		fmt.Println(t.Spec().Name, "can:", t.Spec().Risk)
	}
	// Output:
	// web_search can: reads, spends, leaves
	// image_search can: reads, spends, leaves
	// web_fetch can: reads, leaves
}
