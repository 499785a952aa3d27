package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store is an owner's long-term storage: JSON objects by namespace and key.
type Store interface {
	Get(ctx context.Context, namespace []string, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error
}

// Stamped is a [Store] that tells one state of a value from another without reading it, which a [Book] asks for before every run. Equal
// stamps are of equal values.
type Stamped interface {
	Stamp(ctx context.Context, namespace []string, key string) (stamp string, ok bool, err error)
}

// Whose memory it is: what one agent remembers of one person.
type Whose struct {
	Owner string
	Agent string // the name of a custom agent; empty for the lead agent
}

func (w Whose) scope() string {
	if w.Agent == "" {
		return "user"
	}
	return "agent:" + w.Agent
}

// Label is the first of the namespaces in which documents are stored.
const Label = "tributary_memory"

// lead is the label of the lead agent's; no custom agent can have that name.
const lead = "lead_agent"

const (
	documentKey = "document"
	switchKey   = "switch"
)

func (w Whose) namespace() []string { return []string{Label, cmp.Or(w.Agent, lead)} }

// Options are settings of a [Book]. Zero fields have defaults.
type Options struct {
	Store func(owner string) Store
	// Local is whose everything is where no owner is named.
	Local string
	// MaxFacts is how many facts a document has; the least certain and oldest give way. Default 1000.
	MaxFacts int
	// Threshold is how certain a model must be of what is learned. Default 0.7.
	Threshold float64
	// Budget is how many tokens a reminder has, and Corrections how many of them are kept for corrections. Default 2000 and 500.
	Budget      int
	Corrections int
	// Now is the clock; nil: the machine's.
	Now func() time.Time
}

// Book keeps documents. It is safe for concurrent use; one process has one book on a store.
type Book struct {
	opt   Options
	seed  maphash.Seed
	locks [64]sync.Mutex // of owners: a change reads, and then writes
	heads heads
}

// New makes a book.
func New(opt Options) *Book {
	if opt.MaxFacts <= 0 {
		opt.MaxFacts = 1000
	}
	if opt.Threshold <= 0 {
		opt.Threshold = 0.7
	}
	if opt.Budget <= 0 {
		opt.Budget = 2000
	}
	if opt.Corrections <= 0 {
		opt.Corrections = opt.Budget / 4
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Book{opt: opt, seed: maphash.MakeSeed()}
}

// Settings are those that the book has, with its defaults.
func (b *Book) Settings() Options { return b.opt }

// ErrNoFact says that there is no such fact.
var ErrNoFact = errors.New("there is no such fact")

// ErrOff says that memory is switched off.
var ErrOff = errors.New("memory is switched off")

// row is a document as it is stored. Its head comes first, so that who reminds a model decodes nothing else.
type row struct {
	Head     head      `json:"head"`
	Document Document  `json:"document"`
	Done     []string  `json:"done,omitempty"` // runs that were learned from, the last at the end
	Gone     []tomb    `json:"gone,omitempty"` // the last at the end
	Floor    time.Time `json:"floor,omitzero"` // runs that were asked before are not learned from
	Salt     string    `json:"salt,omitempty"`
}

type head struct {
	Off      bool   `json:"off,omitempty"`
	Erased   int    `json:"erased,omitempty"` // how often something was taken back
	Budget   [2]int `json:"budget"`           // for which Reminder was made
	Reminder string `json:"reminder"`
}

// tomb is where a fact was.
type tomb struct {
	Thread string    `json:"thread,omitempty"`
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// How many runs and tombs a row remembers. When there are too many tombs, the floor takes the place of the oldest: nothing that was asked
// before it is learned any more, whichever thread it was in. Runs are asked about again soon or never.
const (
	mostDone = 512
	mostGone = 512
)

// switched is an owner's switch for all agents.
type switched struct {
	Off    bool      `json:"off,omitempty"`
	Since  time.Time `json:"since,omitzero"` // when it was last switched on
	Erased int       `json:"erased,omitempty"`
}

func (b *Book) store(owner string) Store { return b.opt.Store(cmp.Or(owner, b.opt.Local)) }

func (b *Book) now() time.Time { return b.opt.Now().UTC() }

func (b *Book) lock(owner string) func() {
	m := &b.locks[maphash.String(b.seed, cmp.Or(owner, b.opt.Local))%uint64(len(b.locks))]
	m.Lock()
	return m.Unlock
}

func (b *Book) read(ctx context.Context, w Whose) (row, error) {
	var r row
	raw, ok, err := b.store(w.Owner).Get(ctx, w.namespace(), documentKey)
	if err != nil || !ok {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("the memory in namespace %s is not one that this program wrote: %w; delete the item, or clear the memory", strings.Join(w.namespace(), "/"), err)
	}
	return r, nil
}

func (b *Book) switched(ctx context.Context, owner string) (s switched, err error) {
	raw, ok, err := b.store(owner).Get(ctx, []string{Label}, switchKey)
	if err == nil && ok {
		err = json.Unmarshal(raw, &s)
	}
	return s, err
}

// change reads a document, has it changed, and writes it. Whoever changes nothing says so, and nothing is written.
func (b *Book) change(ctx context.Context, w Whose, change func(*row, time.Time) (changed bool, err error)) (Document, error) {
	defer b.lock(w.Owner)()
	r, err := b.read(ctx, w)
	if err != nil {
		return Document{}, err
	}
	now := b.now()
	changed, err := change(&r, now)
	if err != nil {
		return Document{}, err
	}
	if changed {
		err = b.write(ctx, w, &r, now)
	}
	r.Document.shown(w, now)
	return r.Document, err
}

func (b *Book) write(ctx context.Context, w Whose, r *row, now time.Time) error {
	r.Document.Version, r.Document.LastUpdated = Version, now
	r.Document.Revision++
	r.Head.Budget = [2]int{b.opt.Budget, b.opt.Corrections}
	r.Head.Reminder = remind(&r.Document, b.opt.Budget, b.opt.Corrections, now)
	if n := len(r.Done) - mostDone; n > 0 {
		r.Done = slices.Delete(r.Done, 0, n)
	}
	if n := len(r.Gone) - mostGone; n > 0 {
		if at := r.Gone[n-1].At; at.After(r.Floor) {
			r.Floor = at
		}
		r.Gone = slices.Delete(r.Gone, 0, n)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.store(w.Owner).Put(ctx, w.namespace(), documentKey, raw)
}

// Reminder is what a model is told of a person.
type Reminder struct {
	Text string // a line for each thing; empty for nothing
	// Erased is another number whenever something was taken back: what was told before must then not be told again.
	Erased int
}

// Reminder says what the agent is to be reminded of. It is empty while memory is off.
func (b *Book) Reminder(ctx context.Context, w Whose) (Reminder, error) {
	s, err := b.switched(ctx, w.Owner)
	if err != nil {
		return Reminder{}, err
	}
	h, ok, err := b.head(ctx, w)
	if err != nil || !ok {
		return Reminder{Erased: s.Erased}, err
	}
	out := Reminder{Text: h.Reminder, Erased: h.Erased + s.Erased}
	if h.Off || s.Off {
		out.Text = ""
		return out, nil
	}
	if h.Budget != [2]int{b.opt.Budget, b.opt.Corrections} { // the settings have changed since
		r, err := b.read(ctx, w)
		if err != nil {
			return Reminder{}, err
		}
		out.Text = remind(&r.Document, b.opt.Budget, b.opt.Corrections, b.now())
	}
	return out, nil
}

// digest stands for a content that is not kept.
func (r *row) digest(content string) string {
	if r.Salt == "" {
		r.Salt = rand.Text()
	}
	sum := sha256.Sum256([]byte(r.Salt + normal(content)))
	return hex.EncodeToString(sum[:16])
}
