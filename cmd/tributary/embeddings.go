package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tributary-ai/tributary/internal/checkup"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool/search"
)

// EmbeddingsConfig is a model that turns texts into vectors, over the wire embeddings of OpenAI, which most servers speak. With one, the
// meaning of passages has a say in their order when documents are searched.
type EmbeddingsConfig struct {
	// Model is the provider's name of it; without one there are no embeddings.
	Model string `yaml:"model"`
	// Provider, and where it is and who asks, are as those of models.
	Provider   string            `yaml:"provider"`
	KeyEnv     string            `yaml:"api_key_env"`
	KeyFile    string            `yaml:"api_key_file"`
	BaseURL    string            `yaml:"base_url"`
	APIVersion string            `yaml:"api_version"`
	Headers    map[string]string `yaml:"headers"`
	// Extra is merged into every request, as in {dimensions: 512}.
	Extra map[string]any `yaml:"extra"`
	// Wait is the longest that a search waits for it.
	Wait time.Duration `yaml:"wait"`
	// Batch is how many texts are sent at a time.
	Batch int `yaml:"batch"`
}

func (c EmbeddingsConfig) check() error {
	if c.Model == "" {
		if c.Provider != "" || c.BaseURL != "" {
			return errors.New("embeddings: it does not say which model of the provider it is")
		}
		return nil
	}
	if c.Wait < 0 || c.Wait > 0 && c.Wait < time.Millisecond {
		return fmt.Errorf("embeddings.wait: %v is too short; give a unit, as in 2s", c.Wait)
	}
	if c.Batch < 0 {
		return errors.New("embeddings.batch must not be negative")
	}
	if _, _, err := c.open(); err != nil {
		return fmt.Errorf("embeddings: %w", err)
	}
	return nil
}

// open is the model, as the search wants it; problem says why it cannot be used.
func (c EmbeddingsConfig) open() (e search.Embeddings, problem string, err error) {
	if c.Model == "" {
		return e, "", nil
	}
	of := registry.Config{
		Provider: cmp.Or(c.Provider, "openai"), Model: c.Model, KeyEnv: c.KeyEnv, KeyFile: c.KeyFile,
		BaseURL: c.BaseURL, APIVersion: c.APIVersion, Headers: c.Headers, Extra: c.Extra,
	}
	by, problem, err := registry.Embeddings(of, registry.Options{})
	if err != nil || problem != "" {
		return e, problem, err
	}
	return search.Embeddings{By: by, Name: of.Provider + "/" + c.Model, Wait: c.Wait, Batch: c.Batch}, "", nil
}

// embeddings adds the model to the options of a search. One that cannot be used is told of and done without.
func (c Config) embeddings(opt *search.Options, told io.Writer) error {
	e, problem, err := c.Embeddings.open()
	if err != nil {
		return fmt.Errorf("embeddings: %w", err)
	}
	if problem != "" {
		fmt.Fprintf(told, "documents are searched without embeddings: %s\n", problem)
	}
	opt.Embeddings = e
	return nil
}

// lookAtEmbeddings asks the model for a vector, which costs next to nothing.
func lookAtEmbeddings(ctx context.Context, c Config) []checkup.Finding {
	if c.Embeddings.Model == "" {
		return []checkup.Finding{checkup.Well("no model for embeddings is configured; documents are searched by their words")}
	}
	e, problem, err := c.Embeddings.open()
	if err == nil && problem != "" {
		err = errors.New(problem)
	}
	begun := time.Now()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		_, err = e.By.Embed(ctx, []string{"hello"})
	}
	if err != nil {
		return []checkup.Finding{checkup.Warn("mend embeddings in the configuration, or take them out: documents are searched without them", "the model for embeddings cannot be used: %v", err)}
	}
	return []checkup.Finding{checkup.Well("the model for embeddings %s answers within %v", e.Name, time.Since(begun).Round(time.Millisecond))}
}
