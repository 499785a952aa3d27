package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
)

func init() {
	door.Hang(func(runtime any) door.Parts {
		r := runtime.(*Runtime)
		p := door.Parts{Engine: r.engine, Journal: r.journal, Store: r.db, Graphs: graphs{r}, Log: r.log, Quota: r.quota(), Write: r.write, Memory: r.book}
		if r.opt.Agent != nil {
			p.Agents, p.Skills = r.db.Agents, r.skills
		}
		if r.opt.Files {
			p.Folder = r.folder
		}
		return p
	})
}

// write has the model that answers where nobody chooses one write a text. Its fallbacks are asked as long as there is none of it.
func (r *Runtime) write(ctx context.Context, owner, system, text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		choice, err := r.models.Choose(ctx, model.Wish{Owner: owner})
		if err != nil {
			yield("", err)
			return
		}
		var failed error
		for _, m := range append([]model.Model{choice.Model}, choice.Fallbacks...) {
			if _, none := m.(*offline.Model); none {
				continue
			}
			begun := false
			failed = nil
			for part, err := range m.Stream(ctx, model.Request{System: system, Messages: []item.Message{item.UserText("", text)}, Extra: choice.Extra}) {
				if err != nil {
					failed = err
					break
				}
				if t, ok := part.(model.Text); ok && t.Text != "" {
					if begun = true; !yield(t.Text, nil) {
						return
					}
				}
			}
			if failed == nil && begun {
				return
			}
			if failed == nil {
				failed = errors.New("the model said nothing")
			}
			if begun {
				break
			}
		}
		if failed == nil {
			failed = door.ErrNoModel
		}
		yield("", failed)
	}
}

// graphs finds a runtime's graphs by name.
type graphs struct{ r *Runtime }

func (g graphs) Names() []string { return slices.Sorted(maps.Keys(g.r.graphs)) }

func (g graphs) Graph(ctx context.Context, who run.Identity, name string, req run.Request) (*graph.Graph, error) {
	if _, ok := g.r.graphs[name]; !ok {
		return nil, fmt.Errorf("graph %q: %w", name, run.ErrNotFound)
	}
	req.Graph = name
	return g.r.build(ctx, run.Run{Owner: who.Owner, Request: req})
}

// settings is a [model.Models] that says what a run can be told about its model: JSON Schemas by name.
type settings interface {
	Settings() map[string]json.RawMessage
}

// Schemas tells what the built-in graph can be configured with, in configurable values or in the context. Of other graphs
// only their builders know.
func (g graphs) Schemas(name string) (configurable, context json.RawMessage) {
	if _, own := g.r.opt.Graphs[name]; own || name != DefaultGraph {
		return nil, nil
	}
	known := map[string]json.RawMessage{
		"max_steps": json.RawMessage(`{"type":"integer","minimum":1,"maximum":10000,"description":"how often the model may be called for one answer"}`),
	}
	if s, ok := g.r.models.(settings); ok {
		maps.Copy(known, s.Settings())
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": known})
	if err != nil {
		return nil, nil // what others wrote is no JSON
	}
	return schema, schema
}
