package model

import (
	"fmt"
	"time"
)

// Class says what kind of failure a provider's error is, and with it whether trying again can help.
type Class string

const (
	Auth       Class = "model_auth"        // key missing, wrong or without the right
	Quota      Class = "model_quota"       // paid up or used up: waiting does not help
	BadRequest Class = "model_bad_request" // the request can never succeed
	NotFound   Class = "model_not_found"   // no such model
	TooLarge   Class = "model_too_large"   // the conversation does not fit
	Refused    Class = "model_refused"     // the provider's filter stopped it
	RateLimit  Class = "model_rate_limit"  // too many requests for now
	Overloaded Class = "model_overloaded"  // the provider has no room for now
	Server     Class = "model_server"      // the provider failed
	Network    Class = "model_network"     // no connection, or a connection that broke
	Timeout    Class = "model_timeout"     // no first part, or no next part, in time
	Broken     Class = "model_broken"      // the answer is garbage, or ends without its end
	TooMuch    Class = "model_too_much"    // the answer passed one of the [Limits]
	Unfit      Class = "model_unfit"       // the answer is complete, and not what was asked for
)

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool {
	switch c {
	case RateLimit, Overloaded, Server, Network, Timeout, Broken, Unfit:
		return true
	case Auth, Quota, BadRequest, NotFound, TooLarge, Refused, TooMuch:
		return false
	}
	return false
}

// Error is a failed call.
type Error struct {
	Class    Class
	Provider string
	Model    string // what the one who asked calls the model; empty if it has no name here
	Status   int    // of HTTP; 0 if it did not get that far
	Message  string // the provider's reason in one sentence, without keys
	// After is how long the provider asks to wait; 0 if it does not say.
	After time.Duration
	Err   error // the cause, for logs; may contain what Message must not
}

// Error names the model where it has a name: the provider may be no more than the host of an address.
func (e *Error) Error() string {
	who := e.Provider
	if e.Model != "" {
		who = "model " + e.Model
	}
	if e.Status != 0 {
		return fmt.Sprintf("%s answered %d: %s", who, e.Status, e.Message)
	}
	return fmt.Sprintf("%s: %s", who, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }
