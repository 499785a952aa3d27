package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// onlyGraphs rewrites the recorded streams of protocol 2 in the one point in which ours differ throughout: only graphs have
// namespaces and lives, so nodes are not told started and completed, and what they say is told in their graph's namespace.
// The frames that are left out do not count.
func onlyGraphs(t *testing.T, steps []*step) {
	t.Helper()
	type event struct {
		frame
		data   map[string]any
		params map[string]any
		ns     string
		seq    int
	}
	streams := map[*step][]event{}
	graphs := map[string]bool{"[]": true}
	for _, st := range steps {
		if !strings.HasSuffix(st.Path, "/stream/events") || st.Kind != "sse" {
			continue
		}
		for _, f := range allFrames(strings.NewReader(st.Response)) {
			e := event{frame: f}
			if err := json.Unmarshal([]byte(f.data), &e.data); err != nil {
				t.Fatal(err)
			}
			e.params = e.data["params"].(map[string]any)
			e.ns, e.seq = fmt.Sprint(e.params["namespace"]), int(e.data["seq"].(float64))
			streams[st] = append(streams[st], e)
			switch f.name {
			case "values", "updates", "tasks", "checkpoints":
				graphs[e.ns] = true
			}
		}
	}
	var left []int // numbers of the frames that nodes' lives have
	for _, events := range streams {
		for _, e := range events {
			if e.name == "lifecycle" && !graphs[e.ns] && !slices.Contains(left, e.seq) {
				left = append(left, e.seq)
			}
		}
	}
	for st, events := range streams {
		var filter struct{ Since int }
		if err := json.Unmarshal(st.Body, &filter); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range events {
			n := e.seq
			for _, gone := range left {
				if gone < e.seq {
					n--
				}
			}
			if slices.Contains(left, e.seq) || n <= filter.Since {
				continue
			}
			if e.name == "messages" || e.name == "tools" {
				if parts := e.params["namespace"].([]any); !graphs[e.ns] {
					e.params["namespace"] = parts[:len(parts)-1]
				}
			}
			e.data["seq"], e.data["event_id"] = n, strconv.Itoa(n)
			text, err := json.Marshal(e.data)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "event: %s\ndata: %s\nid: %d\n\n", e.name, text, n)
		}
		st.Response = b.String()
	}
}
