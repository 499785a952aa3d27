package langgraph

import (
	"fmt"
	"strings"
)

// Modes is a set of stream modes.
type Modes uint16

const (
	Values Modes = 1 << iota
	Updates
	MessagesTuple
	Messages // the older protocol: metadata, partial, complete
	Custom
	Events
	Debug
	Tasks
	Checkpoints
	Tools
)

// All is every mode there is.
const All = Values | Updates | MessagesTuple | Messages | Custom | Events | Debug | Tasks | Checkpoints | Tools

var modeNames = map[string]Modes{
	"values": Values, "updates": Updates, "messages-tuple": MessagesTuple, "messages": Messages, "custom": Custom,
	"events": Events, "debug": Debug, "tasks": Tasks, "checkpoints": Checkpoints, "tools": Tools,
}

// ParseModes reads a request's stream_mode. No mode at all means values.
func ParseModes(names []string) (Modes, error) {
	if len(names) == 0 {
		return Values, nil
	}
	var m Modes
	for _, name := range names {
		mode, ok := modeNames[name]
		if !ok {
			return 0, fmt.Errorf("stream_mode %q is not one of values, updates, messages-tuple, messages, custom, events, debug, tasks, checkpoints, tools", name)
		}
		m |= mode
	}
	return m, nil
}

// Has reports that the set has one of others.
func (m Modes) Has(others Modes) bool { return m&others != 0 }

// Shows reports that a frame of this name belongs to one of the modes, for a join that asks for fewer than the run was
// created with. What no mode was asked for, metadata and error, belongs to all.
func (m Modes) Shows(name string) bool {
	name, _, _ = strings.Cut(name, "|")
	switch name {
	case "metadata", "error":
		return true
	case "messages":
		return m.Has(MessagesTuple)
	case "messages/metadata", "messages/partial", "messages/complete":
		return m.Has(Messages)
	}
	return m.Has(modeNames[name])
}
