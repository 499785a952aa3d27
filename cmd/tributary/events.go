package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

type eventsCmd struct {
	Run_   string `arg:"" optional:"" name:"run" help:"Id of the run, which is also its task's. Without it, the newest run."`
	Follow bool   `help:"Wait for more until the run has ended." short:"f"`
	JSON   bool   `help:"Print each event as a line of JSON." name:"json"`
	After  uint64 `help:"Begin after this event." placeholder:"SEQ"`

	Request string `help:"Print what the model of a turn was shown, to the byte, and nothing else; the id of a turn is in its turn_started, and last is the last one." placeholder:"TURN"`
}

// Run prints a journal. It only reads, and may look on while a server works on the same folder.
func (c eventsCmd) Run(e *env) error {
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", e.config.Data, errNoRuns)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Run_ == "" {
		if c.Run_, err = newestRun(e.ctx, db); err != nil {
			return fmt.Errorf("%s: %w", e.config.Data, err)
		}
	}
	j := journal.Open(db, journal.Options{Poll: 200 * time.Millisecond})
	defer j.Close()
	if c.Request != "" {
		return c.printRequest(e, j, db)
	}
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

func (c eventsCmd) printRequest(e *env, j *journal.Journal, db *sqlite.DB) error {
	turn := c.Request
	if turn == "last" {
		turn = ""
	}
	shown, err := run.ReadShown(e.ctx, j, db, c.Run_, turn)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(shown.Body)
	return err
}

var errNoRuns = errors.New("there are no runs yet; ask something with tributary chat, or give another folder with --data")

func newestRun(ctx context.Context, db *sqlite.DB) (string, error) {
	runs, _, err := db.SearchRuns(ctx, run.Identity{Owner: tributary.DefaultOwner}, run.RunQuery{Limit: 1})
	switch {
	case err != nil:
		return "", err
	case len(runs) == 0:
		return "", errNoRuns
	}
	return runs[0].ID, nil
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
