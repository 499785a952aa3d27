package runs

import (
	"encoding/json"
	"errors"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// CheckConfig checks a config object, of a run or of an assistant that gives runs theirs.
func CheckConfig(raw json.RawMessage) error {
	if jsonvalue.IsNull(raw) {
		return nil
	}
	var c struct {
		Configurable   map[string]json.RawMessage `json:"configurable"`
		Tags           []string                   `json:"tags"`
		RecursionLimit *int                       `json:"recursion_limit"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return run.Invalidf("config."+wrong.Field, "got a %s where something else is expected", wrong.Value)
		}
		return run.Invalidf("config", "must be an object")
	}
	if c.RecursionLimit != nil && (*c.RecursionLimit < 1 || *c.RecursionLimit > 1_000_000) {
		return run.Invalidf("config.recursion_limit", "must be between 1 and 1000000")
	}
	return nil
}
