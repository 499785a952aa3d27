package scripted_test

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// A model that looks something up and then answers from what it found.
func ExampleNew() {
	m := scripted.New(func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == item.Tool {
			return scripted.Words("It is " + last.Text() + ".")
		}
		return scripted.Call("call_1", "weather", `{"city":"Paris"}`)
	})
	ask := func(messages ...item.Message) {
		for part, err := range m.Stream(context.Background(), model.Request{Messages: messages}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			switch part := part.(type) {
			case model.Text:
				fmt.Printf("%q\n", part.Text)
			case model.ToolCall:
				fmt.Printf("call %d %s%q\n", part.Index, part.Name, part.Arguments)
			case model.Finish:
				fmt.Println(part.Reason)
			}
		}
	}
	question := item.UserText("", "How is the weather?")
	ask(question)
	ask(question, item.Message{Role: item.Tool, CallID: "call_1", Content: item.Text("sunny")})

	// Output:
	// call 0 weather""
	// call 0 "{"
	// call 0 "\"cit"
	// call 0 "y\""
	// call 0 ":\"Par"
	// call 0 "is\""
	// call 0 "}"
	// tool_calls
	// "It"
	// " is"
	// " sunny."
	// stop
}
