package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// A result that arrives whole is sent once.
func TestAWholeResultIsToldOnce(t *testing.T) {
	const size = 1 << 20
	words := strings.Repeat("all work and no play makes jack a dull boy ", size/43)
	look := tool.Repeatable(tool.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return words, nil }))
	w := serve(t, tributary.Options{Tools: []tool.Tool{look}, OmitRequests: true, Models: tributary.OneModel(scripted.Sequence(
		scripted.Call("c1", "look", `{}`), scripted.Words("So it is."),
	))}, httpapi.Options{})
	res, err := http.Post(w.server.URL+"/tasks", "application/json", strings.NewReader(`{"input":"look","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) < size || float64(len(body)) > 1.05*size {
		t.Errorf("a result of %d bytes is %d on the wire", size, len(body))
	}
}
