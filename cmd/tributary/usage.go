package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/companion"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

type usageCmd struct {
	Since  time.Duration `help:"Only runs of so long ago or later, as in 24h."`
	Thread string        `help:"Only runs of this thread."`
	Owner  string        `help:"Whose runs." default:"local"`
	Most   int           `help:"How many threads are listed." default:"10"`
}

// Run prints what runs have spent. It only reads, and may look on while a server works on the same folder.
func (c usageCmd) Run(e *env) error {
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", e.config.Data, errNoRuns)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	q := companion.UsageQuery{Thread: c.Thread}
	if c.Since > 0 {
		q.Since = time.Now().Add(-c.Since)
	}
	used, err := (&companion.Companion{Store: db}).Used(e.ctx, run.Identity{Owner: cmp.Or(c.Owner, tributary.DefaultOwner)}, q)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "runs\tcalls\tinput\tcached\toutput\tcost\t")
	print := func(name string, s companion.Sum) {
		u := s.Usage
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%.4f\t  %s\n", s.Runs, s.Turns, u.InputTokens, u.CachedTokens, u.OutputTokens, float64(u.CostMicros)/1e6, name)
	}
	print("all", used.Sum)
	for _, part := range []struct {
		name  string
		lines []companion.Line
	}{{"model", used.Models}, {"agent", used.Agents}, {"thread", used.Threads[:min(max(c.Most, 0), len(used.Threads))]}} {
		for _, l := range part.lines {
			print(part.name+" "+l.Name, l.Sum)
		}
	}
	return w.Flush()
}
