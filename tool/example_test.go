package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

func ExampleFunc() {
	type where struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather := tool.Func("weather", "Tells the weather in a city.", func(_ context.Context, in where) (string, error) {
		return "It is sunny in " + in.City + ".", nil
	})
	set, err := tool.NewSet(weather)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []string{`{"city":"Paris"}`, `{"town":"Paris"}`} {
		res, err := set.Invoke(context.Background(), "weather", tool.Call{ID: "call_1", Arguments: json.RawMessage(args)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Error, item.JoinText(res.Content))
	}
	// Output:
	// false It is sunny in Paris.
	// true the arguments do not fit the tool: city is missing (name of the city); town is not a field; the fields are city
}
