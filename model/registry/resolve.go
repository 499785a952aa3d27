package registry

import (
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/model"
)

// Warning tells of something that went otherwise than configured. The zero Warning is none.
type Warning = model.Warning

// Warning codes.
const (
	UnknownModel  = "unknown_model"  // a custom agent names a model that does not exist
	UnusableModel = "unusable_model" // a configured model cannot be used
)

// UnknownError is the answer to a request for a model that does not exist.
type UnknownError struct {
	Name  string
	Known []string // those that can be used
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no model %q; the models are %s", e.Name, strings.Join(e.Known, ", "))
}

// UnusableError is the answer to a request for a model that cannot be used, and to any request if none can.
type UnusableError struct {
	Name    string // empty if no model can be used
	Problem string
}

func (e *UnusableError) Error() string {
	if e.Name == "" {
		return "no model can be used: " + e.Problem
	}
	return fmt.Sprintf("model %q cannot be used: %s", e.Name, e.Problem)
}

// Resolve decides which model answers: the one that the request names, else the one that the agent is configured
// with, else the first that can be used. Empty names wish for nothing. A request's wish that cannot be met
// is an [*UnknownError] or an [*UnusableError]; for an agent's the first takes its place, with a warning.
func (r *Registry) Resolve(requested, agent string) (Entry, Warning, error) {
	if requested != "" {
		e, ok := r.Lookup(requested)
		switch {
		case !ok:
			return Entry{}, Warning{}, &UnknownError{requested, r.usable()}
		case !e.Usable():
			return Entry{}, Warning{}, &UnusableError{requested, e.Problem}
		}
		return e, Warning{}, nil
	}
	first, warning, err := r.first()
	if err != nil || agent == "" {
		return first, warning, err
	}
	e, ok := r.Lookup(agent)
	switch {
	case !ok:
		return first, Warning{Code: UnknownModel, Message: fmt.Sprintf("the agent's model %q does not exist; %s answers in its place", agent, first.Name)}, nil
	case !e.Usable():
		return first, Warning{Code: UnusableModel, Message: fmt.Sprintf("the agent's model %q cannot be used (%s); %s answers in its place", agent, e.Problem, first.Name)}, nil
	}
	return e, Warning{}, nil
}

// first is the default: the first model that can be used. That others before it cannot be is worth a warning only where
// somebody has put them there.
func (r *Registry) first() (Entry, Warning, error) {
	var problems []string
	for _, e := range r.entries {
		if !e.Usable() {
			problems = append(problems, fmt.Sprintf("%s: %s", e.Name, e.Problem))
			continue
		}
		if len(problems) > 0 && !r.implied {
			return e, Warning{Code: UnusableModel, Message: fmt.Sprintf("%s answers, since models before it cannot be used (%s)", e.Name, strings.Join(problems, "; "))}, nil
		}
		return e, Warning{}, nil
	}
	return Entry{}, Warning{}, &UnusableError{Problem: strings.Join(problems, "; ")}
}

func (r *Registry) usable() []string {
	var names []string
	for _, e := range r.entries {
		if e.Usable() {
			names = append(names, e.Name)
		}
	}
	return names
}
