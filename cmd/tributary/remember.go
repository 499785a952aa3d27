package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
)

// MemoryConfig is the part of the file about what agents remember of people.
type MemoryConfig struct {
	Enabled bool `yaml:"enabled"`
	// Model finds out after a run what is worth remembering; empty: the one that answers where nobody chooses. "rules" asks none.
	Model string `yaml:"model"`
	// Wait is how long a thread must be quiet before that.
	Wait time.Duration `yaml:"wait"`
	// MaxFacts is how many facts are kept of a person, by each agent; Budget how many tokens an agent is reminded with.
	MaxFacts int `yaml:"max_facts"`
	Budget   int `yaml:"budget"`
	// Tools gives agents tools to look into their memory and change it.
	Tools bool `yaml:"tools"`
}

func usualMemory() MemoryConfig {
	return MemoryConfig{Enabled: true, Wait: 30 * time.Second, Tools: true}
}

const rulesOnly = "rules"

// memory is how the runtime remembers.
func (c Config) memory(models *registry.Registry) (*tributary.Memory, error) {
	m := c.Memory
	if !m.Enabled {
		return nil, nil
	}
	out := &tributary.Memory{Wait: m.Wait, MaxFacts: m.MaxFacts, Budget: m.Budget, NoTools: !m.Tools}
	if out.Wait == 0 {
		out.Wait = -1 // at once
	}
	if m.Model == rulesOnly {
		return out, nil
	}
	usual, _, err := models.Resolve(m.Model, "")
	if err != nil && m.Model != "" {
		return nil, fmt.Errorf("configuration: memory.model: %w", err)
	}
	if err != nil || usual.Provider == "offline" {
		return out, nil
	}
	wish, _ := json.Marshal(map[string]string{"model_name": m.Model}) // a text
	if m.Model == "" {
		wish = nil
	}
	out.Model = func(ctx context.Context, owner string) (model.Choice, error) {
		return models.Choose(ctx, model.Wish{Owner: owner, Configurable: wish})
	}
	return out, nil
}

// memoryKit lists the tools for memory; the runtime makes its own from the same settings.
func memoryKit(_ *env, config Config, _ *slog.Logger) (kit, error) {
	switch {
	case !config.Memory.Enabled:
		return kit{group: memory.Group, off: "memory.enabled is false in the configuration"}, nil
	case !config.Memory.Tools:
		return kit{group: memory.Group, off: "memory.tools is false in the configuration"}, nil
	}
	return kit{group: memory.Group, tools: memory.Tools(nil)}, nil
}

type memoryCmd struct {
	Agent string `help:"The custom agent whose memory it is; without it, the lead agent's." placeholder:"NAME"`

	List   memoryListCmd   `cmd:"" help:"List the facts that are remembered of you, or those with some words."`
	Show   memoryShowCmd   `cmd:"" help:"Show a fact with where it comes from, or everything as JSON."`
	Add    memoryAddCmd    `cmd:"" help:"Have a fact remembered."`
	Edit   memoryEditCmd   `cmd:"" help:"Change what a fact says."`
	Delete memoryDeleteCmd `cmd:"" help:"Forget a fact for good."`
	Export memoryExportCmd `cmd:"" help:"Write everything to a file, or to the terminal."`
	Import memoryImportCmd `cmd:"" help:"Put an export in the place of what is remembered."`
	Clear  memoryClearCmd  `cmd:"" help:"Forget everything."`
	Off    memoryOffCmd    `cmd:"" help:"Remember nothing, and be reminded of nothing, from now on. What is remembered stays."`
	On     memoryOnCmd     `cmd:"" help:"Remember again."`
}

type (
	memoryListCmd struct {
		Query []string `arg:"" optional:"" help:"Words to look for."`
	}
	memoryShowCmd struct {
		ID string `arg:"" optional:"" help:"The fact; everything, if not given."`
	}
	memoryAddCmd struct {
		Content    string  `arg:"" help:"What is to be remembered."`
		Category   string  `help:"A word, as in preference or correction." default:"context"`
		Confidence float64 `help:"From 0 to 1." default:"0.9"`
	}
	memoryEditCmd struct {
		ID         string   `arg:""`
		Content    *string  `arg:"" optional:"" help:"What it is to say."`
		Category   *string  `help:"A word."`
		Confidence *float64 `help:"From 0 to 1."`
	}
	memoryDeleteCmd struct {
		ID string `arg:""`
	}
	memoryExportCmd struct {
		File string `arg:"" optional:"" help:"Where to; without it, to the terminal."`
	}
	memoryImportCmd struct {
		File string `arg:"" help:"An export; - reads from the terminal."`
	}
	memoryClearCmd struct {
		Yes    bool   `help:"Do not ask: there is no way back." required:""`
		Thread string `help:"Only what comes from this thread." placeholder:"ID"`
	}
	memoryOffCmd struct{}
	memoryOnCmd  struct{}
)

func (c memoryListCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error {
		query := strings.Join(c.Query, " ")
		facts, err := b.Search(e.ctx, query, 1000)
		if err != nil {
			return err
		}
		if len(facts) == 0 {
			fmt.Fprintln(e.stdout, "Nothing is remembered.")
			return nil
		}
		w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tCATEGORY\tSURE\tSAID IN\tCONTENT")
		for _, f := range facts {
			fmt.Fprintf(w, "%s\t%s\t%.2g\t%s\t%s\n", f.ID, f.Category, f.Confidence, f.Source, f.Content)
		}
		return w.Flush()
	})
}

func (c memoryShowCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error {
		d, err := b.Document(e.ctx)
		if err != nil {
			return err
		}
		if c.ID == "" {
			return writeJSON(e.stdout, d)
		}
		i := slices.IndexFunc(d.Facts, func(f memory.Fact) bool { return f.ID == c.ID })
		if i < 0 {
			return noFact(c.ID)
		}
		return writeJSON(e.stdout, d.Facts[i])
	})
}

func noFact(id string) error {
	return remedied{fmt.Errorf("fact %q: %w", id, memory.ErrNoFact), "tributary memory list has them with their ids"}
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (c memoryAddCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error {
		return b.Add(e.ctx, memory.Fact{Content: c.Content, Category: c.Category, Confidence: c.Confidence})
	})
}

func (c memoryEditCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error {
		return b.Edit(e.ctx, c.ID, memory.Change{Content: c.Content, Category: c.Category, Confidence: c.Confidence})
	})
}

func (c memoryDeleteCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error { return b.Delete(e.ctx, c.ID) })
}

func (c memoryExportCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error {
		d, err := b.Document(e.ctx)
		if err != nil || c.File == "" {
			return errors.Join(err, writeJSON(e.stdout, d))
		}
		f, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // it is about a person
		if err != nil {
			return err
		}
		return errors.Join(writeJSON(f, d), f.Close())
	})
}

func (c memoryImportCmd) Run(e *env, m *memoryCmd) error {
	in := e.stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	var d memory.Document
	raw, err := io.ReadAll(io.LimitReader(in, 32<<20))
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err == nil && d.Facts == nil { // what is no export must not delete everything
		err = errors.New("there are no facts")
	}
	if err != nil {
		return remedied{fmt.Errorf("%s: %w", c.File, err), "give a file that tributary memory export wrote"}
	}
	return m.with(e, func(b bookOf) error { return b.Import(e.ctx, d) })
}

func (c memoryClearCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error { return b.Clear(e.ctx, c.Thread) })
}

func (memoryOffCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error { return b.Switch(e.ctx, false) })
}

func (memoryOnCmd) Run(e *env, m *memoryCmd) error {
	return m.with(e, func(b bookOf) error { return b.Switch(e.ctx, true) })
}

// bookOf is one memory: in the folder, or at the server that has the folder.
type bookOf interface {
	Document(ctx context.Context) (memory.Document, error)
	Search(ctx context.Context, query string, limit int) ([]memory.Fact, error)
	Add(ctx context.Context, f memory.Fact) error
	Edit(ctx context.Context, id string, c memory.Change) error
	Delete(ctx context.Context, id string) error
	Import(ctx context.Context, d memory.Document) error
	Clear(ctx context.Context, thread string) error
	Switch(ctx context.Context, on bool) error
}

// with opens the memory, does something with it, and closes it.
func (m *memoryCmd) with(e *env, do func(bookOf) error) error {
	if !e.config.Memory.Enabled {
		fmt.Fprintln(e.stderr, "memory.enabled is false in the configuration: agents neither learn this nor are reminded of it")
	}
	agent := strings.ToLower(m.Agent)
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{})
	if server, ok := running(e.config.Data); ok && errors.Is(err, sqlite.ErrLocked) {
		return do(remoteBook{server, agent})
	}
	if err != nil {
		return err
	}
	book := memory.New(memory.Options{Store: func(owner string) memory.Store { return folderStore{db, run.Identity{Owner: owner}} }, MaxFacts: e.config.Memory.MaxFacts, Budget: e.config.Memory.Budget})
	err = do(ownBook{book, memory.Whose{Owner: tributary.DefaultOwner, Agent: agent}})
	if errors.Is(err, memory.ErrNoFact) && !errors.As(err, new(remedied)) {
		err = remedied{err, "tributary memory list has them with their ids"}
	}
	return errors.Join(err, db.Close())
}

// folderStore are an owner's items in a data folder.
type folderStore struct {
	db  *sqlite.DB
	who run.Identity
}

func (s folderStore) Get(ctx context.Context, namespace []string, key string) (json.RawMessage, bool, error) {
	it, err := s.db.Item(ctx, s.who, namespace, key, 0)
	if errors.Is(err, run.ErrNotFound) {
		return nil, false, nil
	}
	return it.Value, err == nil, err
}

func (s folderStore) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	return s.db.PutItem(ctx, s.who, run.Item{Namespace: namespace, Key: key, Value: value})
}

type ownBook struct {
	book *memory.Book
	of   memory.Whose
}

func (b ownBook) Document(ctx context.Context) (memory.Document, error) {
	return b.book.Document(ctx, b.of)
}

func (b ownBook) Search(ctx context.Context, query string, limit int) ([]memory.Fact, error) {
	return b.book.Search(ctx, b.of, query, limit)
}

func (b ownBook) Add(ctx context.Context, f memory.Fact) error {
	_, _, err := b.book.Add(ctx, b.of, f)
	return err
}

func (b ownBook) Edit(ctx context.Context, id string, c memory.Change) error {
	_, err := b.book.Edit(ctx, b.of, id, c)
	return err
}

func (b ownBook) Delete(ctx context.Context, id string) error {
	_, err := b.book.Delete(ctx, b.of, id)
	return err
}

func (b ownBook) Import(ctx context.Context, d memory.Document) error {
	_, err := b.book.Import(ctx, b.of, d)
	return err
}

func (b ownBook) Clear(ctx context.Context, thread string) (err error) {
	if thread != "" {
		_, err = b.book.DeleteThread(ctx, b.of, thread)
		return err
	}
	_, err = b.book.Clear(ctx, b.of)
	return err
}

func (b ownBook) Switch(ctx context.Context, on bool) error {
	if b.of.Agent == "" {
		return b.book.SwitchAll(ctx, b.of.Owner, on)
	}
	return b.book.Switch(ctx, b.of, on)
}

type remoteBook struct {
	remote
	agent string
}

func (b remoteBook) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	if query == nil {
		query = url.Values{}
	}
	if b.agent != "" {
		query.Set("agent_name", b.agent)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		raw = nil
	}
	res, err := b.do(ctx, method, "/memory"+path+"?"+query.Encode(), raw)
	if err != nil {
		return fmt.Errorf("the server at %s: %w", b.url, err)
	}
	defer res.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(into)
}

func (b remoteBook) Document(ctx context.Context) (d memory.Document, err error) {
	return d, b.call(ctx, "GET", "/export", nil, nil, &d)
}

func (b remoteBook) Search(ctx context.Context, query string, limit int) ([]memory.Fact, error) {
	var found struct{ Facts []memory.Fact }
	err := b.call(ctx, "GET", "/search", url.Values{"query": {query}, "limit": {fmt.Sprint(limit)}}, nil, &found)
	return found.Facts, err
}

func (b remoteBook) Add(ctx context.Context, f memory.Fact) error {
	return b.call(ctx, "POST", "/facts", nil, map[string]any{"content": f.Content, "category": f.Category, "confidence": f.Confidence}, nil)
}

func (b remoteBook) Edit(ctx context.Context, id string, c memory.Change) error {
	return b.call(ctx, "PATCH", "/facts/"+url.PathEscape(id), nil, c, nil)
}

func (b remoteBook) Delete(ctx context.Context, id string) error {
	return b.call(ctx, "DELETE", "/facts/"+url.PathEscape(id), nil, nil, nil)
}

func (b remoteBook) Import(ctx context.Context, d memory.Document) error {
	return b.call(ctx, "POST", "/import", nil, d, nil)
}

func (b remoteBook) Clear(ctx context.Context, thread string) error {
	q := url.Values{}
	if thread != "" {
		q.Set("thread_id", thread)
	}
	return b.call(ctx, "DELETE", "", q, nil, nil)
}

func (b remoteBook) Switch(ctx context.Context, on bool) error {
	return b.call(ctx, "PUT", "/status", nil, map[string]bool{"enabled": on}, nil)
}
