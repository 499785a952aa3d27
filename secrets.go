package tributary

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/tributary-ai/tributary/internal/secret"
)

// Secrets are what a request brought in confidence. Printed, logged or encoded they show nothing; whoever wants one asks for it.
type Secrets struct{ values secret.Values }

// Secret is the one of a name, from the member "secrets" of a request's settings.
func (s Secrets) Secret(name string) (value string, ok bool) { return s.values.Secret(name) }

// Fill puts them back to where they stood in a request's settings, for the one who uses them there.
func (s Secrets) Fill(settings json.RawMessage) json.RawMessage { return s.values.Fill(settings) }

// Format hides the values, whatever the verb.
func (s Secrets) Format(f fmt.State, verb rune) { s.values.Format(f, verb) }

// LogValue hides the values.
func (s Secrets) LogValue() slog.Value { return s.values.LogValue() }

// MarshalJSON hides the values.
func (s Secrets) MarshalJSON() ([]byte, error) { return s.values.MarshalJSON() }
