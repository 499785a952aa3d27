package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// scope shows a run to one tool call. What the call says once it has ended is dropped: its result is on record by then.
type scope struct {
	scope *graph.Scope
	ctx   context.Context // of the call
	call  item.ToolCall
	log   *slog.Logger
	shown *shown // guarded by mu until the call is over

	mu     sync.Mutex
	over   bool
	writes []graph.Write
}

var _ tool.Scope = (*scope)(nil)

func (s *scope) Ask(q tool.Question) (json.RawMessage, error) {
	answer, err := askPerson(s.scope, q)
	return answer, tool.Abort(err) // the model has nothing to read until there is an answer
}

func askPerson(s *graph.Scope, q tool.Question) (json.RawMessage, error) {
	return graph.Ask[json.RawMessage](s, q.Value, graph.Kind(event.Ask(q.Kind)), graph.Options(q.Options...))
}

func (s *scope) Progress(p tool.Progress) {
	if len(p.Data) > 0 && !json.Valid(p.Data) {
		s.log.Warn("progress of a tool is not JSON", "tool", s.call.Name, "data", string(p.Data))
		p.Data = nil
	}
	_ = s.tell(event.ToolProgressed{
		Item: resultID(s.call), CallID: s.call.CallID, Name: s.call.Name, Message: p.Message, Done: p.Done, Total: p.Total, Data: p.Data,
	})
}

func (s *scope) Show(block int, part item.Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		_ = s.scope.Emit(s.ctx, s.shown.add(resultID(s.call), block, part)...)
	}
}

func (s *scope) Emit(_ context.Context, name string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("event %q: %w", name, err)
	}
	return s.tell(event.Custom{Name: name, Data: raw})
}

func (s *scope) tell(e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	return s.scope.Emit(s.ctx, e)
}

func (s *scope) Update(field string, value any) error {
	w, known, err := s.scope.Write(field, value)
	if err != nil || !known {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.writes = append(s.writes, w)
	}
	return nil
}

func (s *scope) Secret(name string) (string, bool) { return s.scope.Secret(name) }

func (s *scope) Store() tool.Store {
	if st := s.scope.Store(); st != nil {
		return st
	}
	return nil
}

func (s *scope) Folder() (*os.Root, error)          { return s.scope.Folder() }
func (s *scope) Local(key any, make func() any) any { return s.scope.Local(key, make) }

// end closes the scope and returns what is to be written.
func (s *scope) end() []graph.Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.writes
}
