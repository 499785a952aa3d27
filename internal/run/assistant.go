package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// assistantSpace is the namespace in which LangGraph derives the id of a graph's default assistant; clients have
// such ids in their code.
var assistantSpace = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// DefaultAssistant is the id of the assistant that every graph has.
func DefaultAssistant(graph string) string {
	return uuid.NewSHA1(assistantSpace, []byte(graph)).String()
}

// EnsureDefaults makes the default assistants of graphs that have none yet. They belong to the system.
func EnsureDefaults(ctx context.Context, store Assistants, defaults []Assistant) error {
	for _, a := range defaults {
		a.ID = DefaultAssistant(a.Graph)
		if a.Name == "" {
			a.Name = a.Graph
		}
		a.Metadata = json.RawMessage(`{"created_by":"system"}`)
		if _, err := store.CreateAssistant(ctx, Identity{}, a); err != nil && !errors.Is(err, ErrExists) {
			return fmt.Errorf("default assistant of graph %q: %w", a.Graph, err)
		}
	}
	return nil
}

// Resolve finds an assistant by its id, or by the name of a graph whose default it is.
func Resolve(ctx context.Context, store Assistants, who Identity, name string) (Assistant, error) {
	if name == "" {
		return Assistant{}, Invalidf("assistant_id", "is required")
	}
	id := name
	if uuid.Validate(name) != nil {
		id = DefaultAssistant(name)
	}
	a, err := store.Assistant(ctx, who, id)
	if errors.Is(err, ErrNotFound) {
		return a, fmt.Errorf("assistant %q: %w", name, ErrNotFound)
	}
	return a, err
}

// Apply puts the assistant's settings under those of the request: what the request says counts.
func (a Assistant) Apply(r *Request) error {
	r.Assistant, r.Graph = a.ID, a.Graph
	var err error
	if r.Inherited, err = inherited(a.Config, r.Config); err != nil {
		return err
	}
	if r.Config, err = under(a.Config, r.Config, "config"); err != nil {
		return err
	}
	r.Context, err = under(a.Context, r.Context, "context")
	return err
}

// inherited lists the configurable keys that only the assistant has.
func inherited(assistant, request json.RawMessage) ([]string, error) {
	var a, r struct {
		Configurable map[string]json.RawMessage `json:"configurable"`
	}
	if len(assistant) > 0 {
		if err := json.Unmarshal(assistant, &a); err != nil {
			return nil, fmt.Errorf("assistant's config: %w", err)
		}
	}
	if len(request) > 0 {
		if err := json.Unmarshal(request, &r); err != nil {
			return nil, Invalidf("config", "configurable must be an object")
		}
	}
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(a.Configurable)) {
		if _, ok := r.Configurable[k]; !ok {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// under merges two objects; of "configurable" objects the keys are merged too.
func under(base, over json.RawMessage, field string) (json.RawMessage, error) {
	var b, o map[string]json.RawMessage
	if err := unmarshalObject(base, &b); err != nil {
		return nil, fmt.Errorf("assistant's %s: %w", field, err)
	}
	if err := unmarshalObject(over, &o); err != nil {
		return nil, Invalidf(field, "must be an object")
	}
	if len(b) == 0 {
		return over, nil
	}
	for k, v := range o {
		if k == "configurable" && b[k] != nil {
			merged, err := under(b[k], v, field+".configurable")
			if err != nil {
				return nil, err
			}
			v = merged
		}
		b[k] = v
	}
	return json.Marshal(b)
}

func unmarshalObject(raw json.RawMessage, m *map[string]json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, m)
}

// Settings are what a graph is built from and what its nodes read: its configurable values and its context. LangGraph's clients of today write into the
// context what those of yesterday wrote into config.configurable, so either tells what the other does not.
func (r *Request) Settings() (configurable, context json.RawMessage, err error) {
	var c struct {
		Configurable json.RawMessage `json:"configurable"`
	}
	if len(r.Config) > 0 {
		if err := json.Unmarshal(r.Config, &c); err != nil {
			return nil, nil, Invalidf("config", "%v", err)
		}
	}
	if configurable, err = under(r.Context, c.Configurable, "config.configurable"); err != nil {
		return nil, nil, err
	}
	context, err = under(c.Configurable, r.Context, "context")
	return configurable, context, err
}
