package registry

import (
	"errors"
	"fmt"
	"os"

	"github.com/tributary-ai/tributary/model/openai"
)

// Embeddings makes the model for embeddings that a Config describes, with the address, key and headers that a model of the same settings
// has; it needs no name. An error is a mistake in the settings; problem says what the machine lacks, and is empty if nothing.
func Embeddings(c Config, o Options) (e *openai.Embeddings, problem string, err error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	p, err := lookup(c)
	if err != nil {
		return nil, "", err
	}
	switch c.Provider {
	case "anthropic", "gemini", "offline":
		return nil, "", fmt.Errorf("provider %s has no embeddings on the wire of OpenAI that is spoken here; name another, with its base_url", c.Provider)
	}
	if c.Model == "" {
		return nil, "", errors.New("it does not say which model of the provider it is")
	}
	if err := c.check(); err != nil {
		return nil, "", err
	}
	if _, err := c.locate(p, o); err != nil {
		return nil, "", err
	}
	s := settings{Config: c, provider: c.Provider, client: o.HTTPClient, limits: o.Limits}
	if s.extra, err = raw(c.Extra); err != nil {
		return nil, "", fmt.Errorf("extra: %w", err)
	}
	if s.key, problem = key(c, p, o); problem == "" {
		s.headers, problem = headers(c, o)
	}
	if problem != "" {
		return nil, problem, nil
	}
	return openai.NewEmbeddings(openaiOptions(s)), "", nil
}
