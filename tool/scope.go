package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tributary-ai/tributary/item"
)

// Scope is what a call can reach of the run that makes it. An agent gives one to every call; a call that is made by hand,
// in a test for example, has one in which there is nobody to ask and nothing to keep.
//
// A Scope is good until the call returns, and safe for use by several goroutines of it.
type Scope interface {
	// Ask asks a person and returns the answer as JSON. While there is none it returns an error, which the tool must
	// return: the run then ends interrupted, perhaps for days, and the run that brings the answer makes the call again, from
	// its beginning, with the same id. The n-th Ask then gets the n-th answer. So a tool asks before it does anything.
	Ask(Question) (json.RawMessage, error)

	// Progress tells the readers of the run how the call is coming on; each takes the place of the one before.
	Progress(Progress)
	// Show streams a part of what people see of the result, before there is one: the next lines of a build log, a picture that
	// gets sharper. A text is added to what the block has; an image takes the place of its coarser version; another block is whole.
	// Blocks are numbered from 0 and begun in that order.
	//
	// What was shown stays: it is how what people see of the result begins. What [Tool.Call] returns is what the model reads;
	// people see of it what is not plain text, what can be cited, and what failed. If the call never returns, because
	// somebody stopped the run, what was shown is what there is.
	Show(block int, part item.Block)
	// Emit writes an event of the tool's own into the run, under a name that front ends know.
	Emit(ctx context.Context, name string, data any) error

	// Update writes a field of the agent's state, together with the result of the call: both are kept, or neither. What
	// becomes of the value is up to the field. A call that fails updates nothing, and a field that the agent does not have
	// is passed over; the error says that the value does not fit the field.
	Update(field string, value any) error

	// Secret is what the run's creator gave in confidence under a name. It is for the call alone: what a tool returns, shows or
	// emits is kept and read by others.
	Secret(name string) (value string, ok bool)
	// Store is the owner's long-term memory; nil where there is none.
	Store() Store
	// Folder is the folder of the thread. It is the same for all calls of a run, and must not be closed.
	Folder() (*os.Root, error)
	// Local returns the value that the run keeps under a key, which is made by the first who asks. It lives in memory for as
	// long as the run executes in this process, and is gone after a crash: keep in it what can be made again.
	// Keys are compared as those of a context are: give them a type of your own.
	Local(key any, make func() any) any
}

// Question is what a tool asks a person.
type Question struct {
	// Value is what is shown, encoded as JSON: a text, or an object that a front end knows.
	Value any
	// Kind says what sort of answer is wanted: "tool_approval", "clarification", "plan_review"; empty for any other.
	Kind string
	// Options are answers to offer.
	Options []string
}

// Ask is [Scope].Ask for an answer of a type.
func Ask[T any](s Scope, q Question) (T, error) {
	var answer T
	raw, err := s.Ask(q)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, fmt.Errorf("the person's answer does not fit: %w", err)
	}
	return answer, nil
}

// Progress is what a tool tells while it works. Every member may be left out.
type Progress struct {
	// Message says what is being done now, in a few words for people.
	Message string `json:"message,omitempty"`
	// Done and Total say how far it is, in whatever the tool counts; Total is zero where nobody knows.
	Done  float64 `json:"done,omitempty"`
	Total float64 `json:"total,omitempty"`
	// Data is anything else, for a front end that knows the tool.
	Data json.RawMessage `json:"data,omitempty"`
}

// Store is the part of a long-term memory that tools use: values by key, under a namespace. All of it belongs to the
// owner of the run.
type Store interface {
	Get(ctx context.Context, namespace []string, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error
	Delete(ctx context.Context, namespace []string, key string) error
}

// detached is the scope of a call that nobody gave one.
type detached struct{}

var (
	errNobody   = errors.New("there is nobody to ask: the tool was called outside of a run")
	errNoFolder = errors.New("there is no folder: the tool was called outside of a run")
)

func (detached) Ask(Question) (json.RawMessage, error)   { return nil, errNobody }
func (detached) Progress(Progress)                       {}
func (detached) Show(int, item.Block)                    {}
func (detached) Emit(context.Context, string, any) error { return nil }
func (detached) Update(string, any) error                { return nil }
func (detached) Secret(string) (string, bool)            { return "", false }
func (detached) Store() Store                            { return nil }
func (detached) Folder() (*os.Root, error)               { return nil, errNoFolder }
func (detached) Local(_ any, make func() any) any        { return make() }
