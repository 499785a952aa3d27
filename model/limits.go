package model

import "fmt"

// Limits bound a whole answer, so that a provider that does not stop, or that means harm, costs one call and not the
// process. A field that is zero means the default that stands beside it; a negative one, no limit.
//
// A [Meter] holds an answer's parts to the first five, whoever made them. The last two are about bytes on their way,
// and each provider's package holds to them.
type Limits struct {
	TextBytes     int `yaml:"text_bytes"`     // of text, reasoning and citations: 2 MiB, four times what any model can say
	ArgumentBytes int `yaml:"argument_bytes"` // of the arguments of all calls: 2 MiB
	Calls         int `yaml:"calls"`          // of tools: 128
	Blocks        int `yaml:"blocks"`         // of text, reasoning, pictures and what only the provider can read: 1024
	DataBytes     int `yaml:"data_bytes"`     // of pictures and what only the provider can read: 48 MiB

	WireBytes  int `yaml:"wire_bytes"`  // of the answer as it is read, after decompression, with [LineBytes] for each line: 64 MiB
	EventBytes int `yaml:"event_bytes"` // of one event, line or element of it: 16 MiB
}

// LineBytes is what a line of an answer counts for beside what is in it.
const LineBytes = 32

// WithDefaults returns the limits with the defaults filled in.
func (l Limits) WithDefaults() Limits {
	for _, f := range []struct {
		value *int
		usual int
	}{
		{&l.TextBytes, 2 << 20}, {&l.ArgumentBytes, 2 << 20}, {&l.Calls, 128}, {&l.Blocks, 1024}, {&l.DataBytes, 48 << 20},
		{&l.WireBytes, 64 << 20}, {&l.EventBytes, 16 << 20},
	} {
		if *f.value == 0 {
			*f.value = f.usual
		}
	}
	return l
}

// LimitError says which of the [Limits] an answer passed.
type LimitError struct {
	Setting string // by its name in a configuration file, as in "calls"
	Limit   int
}

var exceeded = map[string]string{
	"text_bytes":     "the answer has more than %d bytes of text",
	"argument_bytes": "the answer has more than %d bytes of arguments for tools",
	"calls":          "the answer calls more than %d tools",
	"blocks":         "the answer has more than %d blocks",
	"data_bytes":     "the answer has more than %d bytes of pictures and data",
	"wire_bytes":     "the answer is longer than %d bytes",
	"event_bytes":    "one event of the answer is longer than %d bytes",
}

func (e *LimitError) Error() string {
	return fmt.Sprintf(exceeded[e.Setting], e.Limit) + "; the setting answers." + e.Setting + " is the limit"
}

// Meter holds the parts of one answer to limits. Make one with [Limits.Meter].
type Meter struct {
	limits                Limits
	text, arguments, data int
	calls, blocks         int
	last                  place
	seen                  map[place]bool
}

// place tells calls and blocks apart.
type place struct {
	kind        byte // of text, reasoning, call, image
	item, block int
}

// Meter begins to measure an answer.
func (l Limits) Meter() *Meter { return &Meter{limits: l.WithDefaults(), seen: map[place]bool{}} }

// Take measures one part more. Its error is a [*LimitError]; the part is then one too many.
func (m *Meter) Take(part Part) error {
	switch p := part.(type) {
	case Text:
		m.text += len(p.Text)
		m.at(place{'t', 0, p.Block}, &m.blocks)
	case Reasoning:
		m.text += len(p.Text) + len(p.Signature) + len(p.Encrypted) + len(p.ID)
		m.at(place{'r', p.Item, p.Block}, &m.blocks)
	case ToolCall:
		m.arguments += len(p.Arguments) + len(p.Name) + len(p.ID) + len(p.Signature)
		m.at(place{'c', p.Index, 0}, &m.calls)
	case Image:
		m.data += len(p.URL)
		m.at(place{'t', 0, p.Block}, &m.blocks)
	case Opaque:
		m.data += len(p.Raw)
		m.blocks++
	case Annotation:
		m.text += len(p.URL) + len(p.Title) + len(p.Quote) + 16
	case Usage, Finish:
	}
	switch l := m.limits; {
	case over(m.text, l.TextBytes):
		return &LimitError{"text_bytes", l.TextBytes}
	case over(m.arguments, l.ArgumentBytes):
		return &LimitError{"argument_bytes", l.ArgumentBytes}
	case over(m.calls, l.Calls):
		return &LimitError{"calls", l.Calls}
	case over(m.blocks, l.Blocks):
		return &LimitError{"blocks", l.Blocks}
	case over(m.data, l.DataBytes):
		return &LimitError{"data_bytes", l.DataBytes}
	}
	return nil
}

// Said is how many bytes of text and arguments the answer has.
func (m *Meter) Said() int { return m.text + m.arguments }

func over(n, limit int) bool { return limit >= 0 && n > limit }

// at counts a place that was not there before. Nearly always it is the one of the part before.
func (m *Meter) at(p place, count *int) {
	if m.last == p || m.seen[p] {
		m.last = p
		return
	}
	m.last, m.seen[p] = p, true
	*count++
}
