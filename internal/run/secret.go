package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/secret"
)

// Sealer encrypts what requests bring in confidence; [secret.Box] is one.
type Sealer interface {
	Seal(run string, v secret.Values) ([]byte, error)
	Open(run string, sealed []byte) (secret.Values, error)
}

// conceal moves secrets out of what is stored and shown of the request. What was moved before stays where it is.
func (r *Request) conceal() error {
	var config map[string]json.RawMessage
	if err := unmarshalObject(r.Config, &config); err != nil {
		return Invalidf("config", "must be an object")
	}
	var first secret.Values
	changed := false
	for name, value := range config {
		if !strings.EqualFold(name, "configurable") { // decoders take it in any spelling
			continue
		}
		rest, taken := secret.Take(value)
		if !bytes.Equal(rest, value) {
			config[name], changed = rest, true
		}
		first = secret.Both(first, taken, value)
	}
	if changed { // otherwise it stays as it was written
		var err error
		if r.Config, err = json.Marshal(config); err != nil {
			return Invalidf("config", "%v", err)
		}
	}
	context, second := secret.Take(r.Context)
	if taken := secret.Both(first, second, r.Context); !taken.IsZero() {
		r.Secrets = taken
	}
	r.Context, r.Sealed = context, !r.Secrets.IsZero()
	return nil
}

// WithoutSecrets refuses settings that hold secrets, for what is kept and shown for good: an assistant, a schedule.
func WithoutSecrets(config, context json.RawMessage) error {
	r := Request{Config: config, Context: context}
	if err := r.conceal(); err != nil || !r.Sealed {
		return err
	}
	return Invalidf("config", "has secrets, or headers of MCP servers, which are not kept here: send them with each run, or name the server in the configuration (mcp.servers)")
}

// seal encrypts the secrets of a new run.
func (e *Engine) seal(id string, r *Request) ([]byte, error) {
	if !r.Sealed {
		return nil, nil
	}
	if e.opt.Secrets == nil {
		return nil, Invalidf("config", "has secrets, and there is nothing here to seal them with")
	}
	sealed, err := e.opt.Secrets.Seal(id, r.Secrets)
	if err != nil {
		return nil, fmt.Errorf("seal the secrets of a run: %w", err)
	}
	return sealed, nil
}

// inherit gives a request the secrets of the run that it goes on after, if that still has them.
func (e *Engine) inherit(ctx context.Context, from string, r *Request) error {
	v, err := e.unseal(ctx, from)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	r.Secrets, r.Sealed = v, err == nil && !v.IsZero()
	return err
}

// reveal gives a run its secrets back that was not created just now.
func (e *Engine) reveal(ctx context.Context, r *Run) error {
	if !r.Request.Sealed || !r.Request.Secrets.IsZero() {
		return nil
	}
	v, err := e.unseal(ctx, r.ID)
	if err != nil {
		e.opt.Log.Error("the secrets of a run cannot be read", "run", r.ID, "err", err)
		return &event.Error{Code: "secrets_lost", Message: "what the request brought in confidence (secrets, headers of MCP servers) cannot be read any more; send the request again"}
	}
	r.Request.Secrets = v
	return nil
}

func (e *Engine) unseal(ctx context.Context, id string) (secret.Values, error) {
	if e.opt.Secrets == nil {
		return secret.Values{}, errors.New("there is nothing to open them with")
	}
	sealed, err := e.opt.Store.Secrets(ctx, id)
	if err != nil {
		return secret.Values{}, err
	}
	return e.opt.Secrets.Open(id, sealed)
}
