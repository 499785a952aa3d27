package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

type eventsCmd struct {
	Run_   string `arg:"" name:"run" help:"Id of the run."`
	Follow bool   `help:"Wait for more until the run has ended." short:"f"`
	JSON   bool   `help:"Print each event as a line of JSON." name:"json"`
	After  uint64 `help:"Begin after this event." placeholder:"SEQ"`
}

// Run prints a journal. It only reads, and may look on while a server works on the same folder.
func (c eventsCmd) Run(e *env) error {
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	j := journal.Open(db, journal.Options{Poll: 200 * time.Millisecond})
	defer j.Close()
	events := j.Read(e.ctx, c.Run_, c.After)
	if c.Follow {
		events = j.Follow(e.ctx, c.Run_, journal.Position{Seq: c.After})
	}
	n := 0 // printed
	for env, err := range events {
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case errors.Is(err, journal.ErrGone) && n == 0:
			return fmt.Errorf("there is no run %q in %s", c.Run_, e.config.Data)
		case err != nil:
			return err
		}
		if err := c.print(e, &env); err != nil {
			return err
		}
		n++
	}
	return nil
}

func (c eventsCmd) print(e *env, env *event.Envelope) error {
	line, err := env.AppendJSON(nil)
	if err != nil {
		return err
	}
	if c.JSON {
		fmt.Fprintf(e.stdout, "%s\n", line)
		return nil
	}
	_, data, _ := strings.Cut(string(line), `,"data":`)
	where := env.Node
	if env.NS != "" {
		where = env.NS + "|" + where
	}
	if env.Task != "" {
		where += " @" + env.Task
	}
	fmt.Fprintf(e.stdout, "%5d  %s  %-16s %-12s %s\n", env.Seq, env.At.Format("15:04:05.000"), env.Event.Kind(), where, strings.TrimSuffix(data, "}"))
	return nil
}
