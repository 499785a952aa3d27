package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// Who wants the whole answer at once gets it by a call that does not stream.
func TestAWholeAnswerIsAskedForWithoutAStream(t *testing.T) {
	wires(t, func(t *testing.T, responses bool) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var said map[string]json.RawMessage
			if err := json.Unmarshal(body, &said); err != nil || string(said["stream"]) != "false" || said["stream_options"] != nil {
				t.Errorf("the request is %s", body)
			}
			w.Header().Set("Content-Type", "application/json")
			if responses {
				fmt.Fprint(w, `{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Hello."}]}],"usage":{"input_tokens":3,"output_tokens":2}}`)
				return
			}
			fmt.Fprint(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`)
		}))
		defer srv.Close()
		o := Options{Model: "m", BaseURL: srv.URL, Key: NewKey("k")}
		var m model.Model = Chat(o)
		if responses {
			m = Responses(o)
		}
		text, finish := "", item.Finish("")
		for part, err := range m.Stream(t.Context(), model.Request{Messages: []item.Message{item.UserText("u", "Hi")}, Whole: true}) {
			if err != nil {
				t.Fatal(err)
			}
			switch p := part.(type) {
			case model.Text:
				text += p.Text
			case model.Finish:
				finish = p.Reason
			}
		}
		if text != "Hello." || finish != item.FinishStop {
			t.Errorf("got %q, %q", text, finish)
		}
	})
}
