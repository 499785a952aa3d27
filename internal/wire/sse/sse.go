// Package sse writes server-sent events.
//
// A frame is written as event, data, id and a blank line, in the order in which LangGraph's server writes
// them. Data must be one line, as JSON is. Comments end with a single newline: a blank line after one
// would make some clients dispatch an empty event.
package sse

// ContentType is the media type of an event stream.
const ContentType = "text/event-stream"

// Heartbeat is a comment that keeps connections and watchdogs awake.
const Heartbeat = ": heartbeat\n"

// Append appends a frame to dst. An empty name or id is left out.
func Append(dst []byte, name string, data []byte, id string) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(append(append(dst, "data: "...), data...), '\n')
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	return append(dst, '\n')
}
