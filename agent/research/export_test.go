package research

import (
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
)

// Stream is what is shown of a report that arrives in pieces.
func Stream(look func(int) (Source, bool), question string, pieces ...string) string {
	r := newReader(question, look)
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(r.feed(p))
	}
	out.WriteString(r.end())
	return out.String()
}

// SourcesOf are the passages that the messages of a step bring.
func SourcesOf(msgs []item.Message) map[int]Source { return sourcesOf(msgs, "s1", time.Now()) }
