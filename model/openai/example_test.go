package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/openai"
)

// A compatible server needs only its address.
func ExampleChat() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"reasoning_content":"A greeting."}}]}`, "\n\n")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello!"}}]}`, "\n\n")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "\n\n")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer srv.Close()

	m := openai.Chat(openai.Options{Model: "qwen3", BaseURL: srv.URL + "/v1", Key: openai.NewKey("sk-…"), Provider: "vllm"})
	for part, err := range m.Stream(context.Background(), model.Request{Messages: []item.Message{item.UserText("1", "hi")}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch p := part.(type) {
		case model.Reasoning:
			fmt.Println("thinks:", p.Text)
		case model.Text:
			fmt.Println("says:", p.Text)
		case model.Finish:
			fmt.Println("ends:", p.Reason)
		}
	}
	// Output:
	// thinks: A greeting.
	// says: Hello!
	// ends: stop
}
