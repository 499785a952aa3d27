package offline_test

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
)

// Tokens are those of a real vocabulary, which cuts long words.
func ExampleModel_Stream() {
	m := offline.New(offline.Options{})
	req := model.Request{Messages: []item.Message{item.UserText("", "Count from ten to twelve.")}}
	for part, err := range m.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch part := part.(type) {
		case model.Text:
			fmt.Printf("%q ", part.Text)
		case model.Finish:
			fmt.Println(part.Reason)
		}
	}
	// Output: "ten" "\n" "ele" "ven" "\n" "t" "wel" "ve" stop
}
