// Package checkup looks at what a program needs to run well, and says what to do about what is wrong.
//
// Checks are data: whoever puts a program together lists them, and a part of it that can be in order or not adds one. The package
// knows none.
//
// # Laws
//
//   - Findings come in the order of the checks, and every check has at least one.
//   - A check that fails or panics is a finding of its own, and the others are made all the same.
//   - Whatever is not in order says what to do.
package checkup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// State is how something is.
type State string

// The states. A warning is something that works now and should not stay so.
const (
	OK      State = "ok"
	Warning State = "warning"
	Wrong   State = "wrong"
)

// Finding is what a check found.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"`
}

// Well is a finding that all is in order.
func Well(format string, args ...any) Finding {
	return Finding{State: OK, Says: fmt.Sprintf(format, args...)}
}

// Warn is a finding that something should be changed; do says how.
func Warn(do, format string, args ...any) Finding {
	return Finding{State: Warning, Says: fmt.Sprintf(format, args...), Do: do}
}

// Bad is a finding that something must be changed; do says how.
func Bad(do, format string, args ...any) Finding {
	return Finding{State: Wrong, Says: fmt.Sprintf(format, args...), Do: do}
}

// Check looks at one thing.
type Check struct {
	Name string
	Look func(ctx context.Context) []Finding
}

// Limit is how long a check may take.
const Limit = time.Minute

// Make makes the checks, one after the other.
func Make(ctx context.Context, checks []Check) []Finding {
	var all []Finding
	for _, c := range checks {
		found := look(ctx, c)
		if len(found) == 0 {
			found = []Finding{Bad("report this as a mistake of tributary's", "the check says nothing")}
		}
		for _, f := range found {
			f.Check = c.Name
			if f.State != OK {
				f.Do = cmp.Or(f.Do, "report this as a mistake of tributary's: nobody says what to do")
			}
			all = append(all, f)
		}
	}
	return all
}

func look(ctx context.Context, c Check) (found []Finding) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			found = append(found, Bad("report this as a mistake of tributary's", "the check itself failed: %v", p))
		}
	}()
	return c.Look(ctx)
}

// Count is how many findings have a state.
func Count(found []Finding, s State) (n int) {
	for _, f := range found {
		if f.State == s {
			n++
		}
	}
	return n
}

// Text writes findings for people: a line each, and below it what to do.
func Text(w io.Writer, found []Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	before := ""
	for _, f := range found {
		name := f.Check
		if name == before {
			name = ""
		}
		before = f.Check
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, f.State, oneLine(f.Says))
		if f.Do != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", oneLine(f.Do))
		}
	}
	return t.Flush()
}

// oneLine keeps what others wrote from looking like findings, or from moving the cursor.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// JSON writes findings for programs.
func JSON(w io.Writer, found []Finding) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		OK       bool      `json:"ok"`
		Findings []Finding `json:"findings"`
	}{Count(found, Wrong) == 0, found})
}
