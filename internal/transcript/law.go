package transcript

import (
	"errors"
	"fmt"
	"iter"

	"github.com/tributary-ai/tributary/event"
)

// Law names a law that a journal can break; the numbers are those of the design.
type Law string

const (
	Order       Law = "1: order"              // seq is 1, 2, 3 …; things start before they grow, grow before they end
	SumOfParts  Law = "3: sum of parts"       // deltas joined equal the ended value
	CountedOnce Law = "4: counted once"       // usage of a task is the sum over its turns
	EndsOnce    Law = "5: ends once"          // RunEnded is the last event, and there is one
	HoldsChild  Law = "9: parent holds child" // a sub-agent lives inside its caller's tool_result
)

// LawError says that an event does not fit what came before it. The fold has taken the event in as well as
// it could.
type LawError struct {
	Law  Law
	Seq  uint64
	Kind string // of the event; empty if the journal is too short
	What string
}

func (e *LawError) Error() string {
	return fmt.Sprintf("event %d (%s): law %s: %s", e.Seq, e.Kind, e.Law, e.What)
}

// broke notes a broken law; an event is blamed for the first law it breaks.
func (f *Fold) broke(law Law, format string, args ...any) {
	if f.broken == nil {
		f.broken = &LawError{law, f.env.Seq, f.env.Event.Kind(), fmt.Sprintf(format, args...)}
	}
}

// refuse notes a broken law of an event that finds nothing to change.
func (f *Fold) refuse(law Law, format string, args ...any) {
	f.broke(law, format, args...)
	f.touched = touched{}
}

// most is how many broken laws Check lists; one mistake is often the cause of hundreds.
const most = 20

// Check folds a whole journal and returns the laws that it breaks, as [*LawError]s joined; nil if it is lawful. A
// journal without RunEnded breaks a law: use a [Fold] for a run that is not over.
func Check(journal iter.Seq[event.Envelope]) error {
	var f Fold
	var errs []error
	for env := range journal {
		if err := f.Apply(&env); err != nil {
			if errs = append(errs, err); len(errs) == most {
				return errors.Join(append(errs, errors.New("and perhaps more"))...)
			}
		}
	}
	if !f.ended {
		errs = append(errs, &LawError{EndsOnce, f.seq, "", "the journal does not end with run_ended"})
	}
	return errors.Join(errs...)
}
