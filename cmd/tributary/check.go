package main

import (
	"fmt"

	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

type checkCmd struct{}

// Run prints what is damaged, a line each. It only reads, and may look on while a server works on the same folder.
func (checkCmd) Run(e *env) error {
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Fprintf(e.stderr, "reading all of %s …\n", e.config.Data)
	found, err := db.Check(e.ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		fmt.Fprintln(e.stdout, f)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d findings; what they name is lost and never shown as if it were whole, the rest can be used: "+
			"delete the threads that are named, or restore the folder from a copy", len(found))
	}
	fmt.Fprintln(e.stdout, "nothing is damaged")
	return nil
}
