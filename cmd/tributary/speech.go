package main

import (
	"cmp"
	"context"
	"os"

	"github.com/tributary-ai/tributary/model/openai"
)

// SpeechConfig is a service that reads texts aloud, over the wire audio/speech of OpenAI, which others offer too.
type SpeechConfig struct {
	// Model is the service's name of it; without one nobody reads aloud.
	Model string `yaml:"model"`
	// BaseURL is that of the API; empty for OpenAI's.
	BaseURL string `yaml:"base_url"`
	// KeyEnv names the variable that has the key.
	KeyEnv string `yaml:"api_key_env"`
	// Voice reads, and SecondVoice too where two people talk.
	Voice       string `yaml:"voice"`
	SecondVoice string `yaml:"second_voice"`
}

// speak is nil where nobody reads aloud.
func (c SpeechConfig) speak() func(ctx context.Context, text string, second bool, format string) ([]byte, error) {
	if c.Model == "" {
		return nil
	}
	s := openai.NewSpeech(openai.Options{Model: c.Model, BaseURL: c.BaseURL, Key: openai.NewKey(os.Getenv(cmp.Or(c.KeyEnv, "OPENAI_API_KEY")))})
	first := cmp.Or(c.Voice, "alloy")
	other := cmp.Or(c.SecondVoice, "nova")
	return func(ctx context.Context, text string, second bool, format string) ([]byte, error) {
		voice := first
		if second {
			voice = other
		}
		return s.Say(ctx, text, voice, format)
	}
}
