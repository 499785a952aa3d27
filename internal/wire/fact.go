package wire

import (
	"encoding/json"
	"fmt"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
)

// AppendFact appends an event as an object whose type is its kind, for dialects that have no words of their own for it.
func AppendFact(b []byte, e event.Event) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return b, fmt.Errorf("tell %s: %w", e.Kind(), err)
	}
	b = jsonline.AppendString(append(b, `{"type":`...), e.Kind())
	if len(body) > len("{}") {
		b = append(b, ',')
	}
	return append(b, body[1:]...), nil
}
