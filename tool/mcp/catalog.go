package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/tool"
)

// catalog is what a server offers, as far as it was told. It is guarded by the hub's lock.
type catalog struct {
	tools    []*remote
	at       time.Time // when it was asked; zero for never
	stale    time.Time // when the server said that it has changed
	failed   error     // why it could not be asked again
	failedAt time.Time
	fetching chan struct{} // closed when it has been asked; nil while nobody asks
}

const (
	listAge    = 5 * time.Minute  // after which a server is asked again
	failAge    = 15 * time.Second // for which a server that cannot be asked is left alone
	maxTools   = 500
	maxPages   = 50
	maxSchema  = 64 << 10
	maxDepth   = 24
	maxAbout   = 2000 // characters of a description
	maxName    = 64   // of a tool, for every provider
	maxMention = 200  // characters of what is mentioned: a title, a type
)

// list returns the server's tools. With an error they are those of before, if any.
func (s *server) list(ctx context.Context, who Who) ([]*remote, error) {
	h := s.hub
	h.mu.Lock()
	now := time.Now()
	if h.closed {
		h.mu.Unlock()
		return nil, errClosed
	}
	switch {
	case s.failed != nil && now.Sub(s.failedAt) < failAge, s.failed == nil && !s.at.IsZero() && s.at.After(s.stale) && now.Sub(s.at) < listAge:
		defer h.mu.Unlock()
		return s.tools, s.failed
	case s.fetching == nil:
		s.fetching = make(chan struct{})
		h.work.Go(func() { s.fetch(who) })
	}
	asked := s.fetching
	h.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return s.tools, s.failed
}

// changed is told that the list is another one now.
func (s *server) changed() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.stale = time.Now()
}

// fetch asks the server, in a session of those who want to know: they will need it anyway.
func (s *server) fetch(who Who) {
	h := s.hub
	asked := time.Now()
	tools, err := s.ask(who)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.failed = err
	if err == nil {
		s.tools, s.at = tools, asked
	} else {
		s.failedAt = time.Now()
	}
	close(s.fetching)
	s.fetching = nil
	h.forget(s)
}

func (s *server) ask(who Who) ([]*remote, error) {
	ctx, cancel := context.WithTimeout(s.hub.ctx, s.Start+s.Timeout)
	defer cancel()
	ss, err := s.acquire(ctx, s.scope(who.Owner, who.Thread))
	if err != nil {
		return nil, err
	}
	defer ss.release()
	var found []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for page := 0; page == 0 || params.Cursor != "" && page < maxPages && len(found) < maxTools; page++ {
		res, err := ss.client.ListTools(ctx, params)
		if err != nil {
			s.hub.mu.Lock()
			ss.retire()
			s.hub.mu.Unlock()
			return nil, fmt.Errorf("the MCP server %s does not list its tools: %w", s.Name, s.plainError(err))
		}
		found = append(found, res.Tools...)
		params = &mcp.ListToolsParams{Cursor: res.NextCursor}
	}
	return s.offered(found[:min(len(found), maxTools)]), nil
}

// offered makes tools of what a server lists. What cannot be offered is left out, and the operator told.
func (s *server) offered(found []*mcp.Tool) []*remote {
	var tools []*remote
	names := map[string]bool{}
	for _, t := range found {
		if t == nil || s.Tools != nil && !slices.Contains(s.Tools, t.Name) {
			continue
		}
		r, err := s.remoteOf(t)
		if err == nil && names[r.spec.Name] {
			err = errors.New("there are two of this name")
		}
		if err != nil {
			s.hub.opt.Log.Warn("a tool of an MCP server is not offered", "server", s.Name, "tool", short(visible(t.Name), maxMention), "err", s.plainError(err))
			continue
		}
		names[r.spec.Name] = true
		tools = append(tools, r)
	}
	return tools
}

func (s *server) remoteOf(t *mcp.Tool) (*remote, error) {
	schema, err := schemaOf(t.InputSchema)
	if err != nil {
		return nil, err
	}
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	about := t.Description
	if about == "" {
		about = t.Title
	}
	return &remote{server: s, name: t.Name, spec: tool.Spec{
		Name: toolName(s.Name, t.Name), Description: short(visible(s.mask(about)), maxAbout), Schema: schema,
		Risk: s.Risk, Group: Group, Timeout: s.Timeout + s.Start + 2*grace, Grace: grace,
	}}, nil
}

// toolName is server__tool. A name that had to be changed gets a mark that depends on what it was, so that two names do
// not become one.
func toolName(server, name string) string {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameRunes, r) {
			return r
		}
		return '_'
	}, name)
	full := server + "__" + plain
	if plain == name && len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return full[:min(len(full), maxName-len(mark))] + mark
}

// schemaOf is a server's schema as models and our own checks can use it.
func schemaOf(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its schema is larger than %d bytes", maxSchema)
	}
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	object, ok := decoded.(map[string]any)
	if decoded == nil {
		object, ok = map[string]any{}, true
	}
	if kind, given := object["type"]; !ok || given && kind != "object" {
		return nil, errors.New("its schema is not that of an object")
	}
	object["type"] = "object"
	delete(object, "$schema") // which draft it is changes nothing of what models are told
	if decoded, err = scrub(object, 0); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(decoded); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	if _, err := schema.Resolve(nil); err != nil { // nothing is fetched: a reference to elsewhere is an error
		return nil, fmt.Errorf("its schema: %w", err)
	}
	return raw, nil
}

// scrub frees the texts of a schema from what nobody sees. A name cannot be changed, so one that hides something is refused.
func scrub(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("its schema is nested more than %d deep", maxDepth)
	}
	var err error
	switch v := v.(type) {
	case string:
		return visible(v), nil
	case []any:
		for i := range v {
			if v[i], err = scrub(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name, inner := range v {
			if visible(name) != name {
				return nil, errors.New("its schema has a name with characters that nobody sees")
			}
			if v[name], err = scrub(inner, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
