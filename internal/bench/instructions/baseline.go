package instructions

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Baseline is what each subject cost when it was recorded, in instructions per event.
type Baseline map[string]int

// ReadBaseline reads what Format wrote.
func ReadBaseline(r io.Reader) (Baseline, error) {
	b := Baseline{}
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			return b, lines.Err()
		}
		var name string
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "%s %d", &name, &n); err != nil || n <= 0 {
			return nil, fmt.Errorf("%q is not a name and a number", lines.Text())
		}
		b[name] = n
	}
}

// Format is the baseline as text, a line for each subject, in order.
func (b Baseline) Format() []byte {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(b)) {
		out = fmt.Appendf(out, "%s %d\n", name, b[name])
	}
	return out
}

// Problems says what costs over a fifth more than it did, and what was never recorded.
func (b Baseline) Problems(now Baseline) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, ok := b[name]
		switch got := now[name]; {
		case !ok:
			problems = append(problems, name+" was never recorded")
		case got*5 > was*6:
			problems = append(problems, fmt.Sprintf("%s: %d instructions for each event, %+d %% of the %d that were recorded; a fifth more is the limit", name, got, (got-was)*100/was, was))
		}
	}
	return problems
}
