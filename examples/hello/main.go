// Command hello is the shortest agent: the built-in one, asked one question. Without a model of its own it asks the offline
// model, which needs no key.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/tributary-ai/tributary"
)

func main() {
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	answer, err := rt.Chat(ctx, tributary.Request{Text: "count to three"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
