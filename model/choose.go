package model

import (
	"context"
	"encoding/json"
)

// Models chooses the model of a run. Package model/registry makes one from configuration and environment.
type Models interface {
	// Choose is asked before a run is accepted, and each time it executes. A [*WishError] refuses the request in the words
	// of its setting; any other error is the server's fault.
	Choose(ctx context.Context, w Wish) (Choice, error)
}

// Lister is a [Models] that tells what there is to choose from.
type Lister interface {
	// List lists the models in the order in which they are chosen from, those that cannot be used included.
	List() []Listed
}

// Listed is a model that a run can ask for.
type Listed struct {
	Name string // what model_name in a run's settings says to choose it
	Info
	ReasoningEffort bool // it can be told how hard to think
	Default         bool // it answers where nobody chooses
	// Problem says why it cannot be used; empty if it can.
	Problem string
}

// Wish is what a run says of the model that it wants.
type Wish struct {
	Owner string // whose run it is
	// Configurable are the run's settings, an object or empty: the request's, over those of its assistant.
	Configurable json.RawMessage
	// Inherited are the keys of Configurable that come from the assistant and not from the request.
	Inherited []string
}

// Choice is what a run calls.
type Choice struct {
	Model Model
	// Fallbacks are asked in order when Model has failed for good.
	Fallbacks []Model
	Thinking  Thinking
	Extra     map[string]json.RawMessage // see [Request]
	// Warnings tell what was asked for and is not done.
	Warnings []Warning
}

// Warning tells of something that goes otherwise than somebody asked. The zero Warning is none.
type Warning struct {
	Code    string
	Message string
}

// WishError says which setting of a [Wish] cannot be met, and why.
type WishError struct {
	Setting string // the key in Configurable; empty for all of it
	Reason  string
}

func (e *WishError) Error() string {
	if e.Setting == "" {
		return e.Reason
	}
	return e.Setting + ": " + e.Reason
}
