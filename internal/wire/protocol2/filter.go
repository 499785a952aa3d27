package protocol2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The channels of the protocol. A custom event with a name is on "custom:name".
var channels = []string{"values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"}

// Filter says which events a reader wants. The zero Filter matches nothing, as it names no channel.
type Filter struct {
	Channels []string
	// Namespaces are prefixes, of which one must match; none means all.
	Namespaces [][]string
	// Depth is how far below its prefix an event may be; nil for any depth.
	Depth *int
	// Since is the last seq that the reader has.
	Since uint64
}

// Validate says what is wrong with a filter that a client sent.
func (f *Filter) Validate() error {
	if len(f.Channels) == 0 {
		return errors.New("channels must name at least one channel")
	}
	for _, c := range f.Channels {
		if !slices.Contains(channels, c) && (!strings.HasPrefix(c, "custom:") || c == "custom:") {
			return fmt.Errorf("channel %q is not one of %s", c, strings.Join(channels, ", "))
		}
	}
	if f.Depth != nil && *f.Depth < 0 {
		return errors.New("depth must not be negative")
	}
	return nil
}

// Match reports whether the reader wants the event.
func (f *Filter) Match(e *Event) bool {
	return e.Seq > f.Since && f.wants(e.Channel) && f.within(e.Namespace)
}

// wants reports whether a channel is among those asked for; custom stands for all custom ones.
func (f *Filter) wants(channel string) bool {
	return slices.Contains(f.Channels, channel) || strings.HasPrefix(channel, "custom:") && slices.Contains(f.Channels, "custom")
}

func (f *Filter) within(namespace []string) bool {
	if len(f.Namespaces) == 0 {
		return true
	}
	return slices.ContainsFunc(f.Namespaces, func(prefix []string) bool {
		return isPrefix(prefix, namespace) && (f.Depth == nil || len(namespace)-len(prefix) <= *f.Depth)
	})
}

// isPrefix compares part by part. A part of the prefix that names no execution stands for all of the node's.
func isPrefix(prefix, namespace []string) bool {
	if len(prefix) > len(namespace) {
		return false
	}
	for i, want := range prefix {
		have := namespace[i]
		if !strings.Contains(want, ":") {
			have, _, _ = strings.Cut(have, ":")
		}
		if have != want {
			return false
		}
	}
	return true
}
