package run

import (
	"context"
	"encoding/json"
	"net/url"
	"runtime/debug"
	"time"
)

// FollowUp is something that is to be done because a run has ended: telling somebody, naming its thread, remembering what
// was said. It is stored in the transaction of RunEnded and removed when it was carried out, so that it is done at least
// once, whatever happens to the process: a [Handler] uses its key to do twice what must happen once.
type FollowUp struct {
	// Key is the idempotency key: the same at every try. A follow-up whose key is there already is not stored again. The
	// engine makes it of kind and run where it is empty.
	Key  string
	Kind string // which handler does it
	// Lane bounds how much is done at once for the same receiver; see [Handler].
	Lane    string
	Payload json.RawMessage // what the handler needs to know, an object or empty

	// NextAt is when it becomes due; the end of the run, if that is later or it is zero. While a worker has it, until when.
	NextAt time.Time

	// The rest is filled by engine and store.

	Run       string
	Thread    string
	Owner     string
	CreatedAt time.Time
	Attempts  int    // tries that were begun, with this one
	Worker    string // who has it now
	Error     string // why the last try failed
	Parked    bool   // it failed too often and is not tried again
}

// Handler carries out follow-ups of a kind. Zero fields have defaults.
type Handler struct {
	// Do does it. An error means that it will be tried again; [NotYet] that it was not tried at all.
	Do func(ctx context.Context, f FollowUp) error
	// Early says that what waits for its time is done at once when the engine is closed.
	Early bool
	// Timeout bounds a try. Default 1 minute.
	Timeout time.Duration
	// Tries is after how many a follow-up is parked. Wait is the pause after the first, which doubles up to MaxWait. With the
	// defaults, 15, 2 s and 1 h, that takes about four hours.
	Tries   int
	Wait    time.Duration
	MaxWait time.Duration
	// AtOnce is how many are done at the same time, and PerLane how many of them in one lane, so that receivers who do not
	// answer leave room for others. Default 64 and 4.
	AtOnce  int
	PerLane int
}

// NotYet is what a handler returns for a follow-up whose time has not come after all. It is no failure.
type NotYet struct{ Until time.Time }

func (n NotYet) Error() string { return "not before " + n.Until.Format(time.RFC3339) }

func (h *Handler) fill() {
	orElse := func(d *time.Duration, usual time.Duration) {
		if *d <= 0 {
			*d = usual
		}
	}
	orElse(&h.Timeout, time.Minute)
	orElse(&h.Wait, 2*time.Second)
	orElse(&h.MaxWait, time.Hour)
	if h.Tries <= 0 {
		h.Tries = 15
	}
	if h.AtOnce <= 0 {
		h.AtOnce = 64
	}
	if h.PerLane <= 0 {
		h.PerLane = 4
	}
}

// pause is how long to wait after a number of tries.
func (h *Handler) pause(tries int) time.Duration {
	d := h.Wait
	for ; tries > 1 && d < h.MaxWait; tries-- {
		d *= 2
	}
	return min(d, h.MaxWait)
}

// FollowUps keeps what is to be done after runs.
type FollowUps interface {
	// ClaimFollowUps leases follow-ups of a kind that are due, the longest due first.
	ClaimFollowUps(ctx context.Context, c FollowUpClaim) ([]FollowUp, error)
	// FinishFollowUp removes one that was carried out; journal.ErrFenced if its lease was lost.
	FinishFollowUp(ctx context.Context, f FollowUp) error
	// PutOffFollowUp gives one back, to be tried at its NextAt or not at all; journal.ErrFenced if its lease was lost.
	// A try that was interrupted is not counted.
	PutOffFollowUp(ctx context.Context, f FollowUp, interrupted bool) error
	// HastenFollowUps makes those of a kind due that wait for their time. One that failed keeps its pause.
	HastenFollowUps(ctx context.Context, kind string) error
	// FollowUps lists the caller's that were not carried out yet, oldest first.
	FollowUps(ctx context.Context, who Identity, q FollowUpQuery) ([]FollowUp, error)
	// NextFollowUp is when, after a time, the next of some kinds becomes due; ok is false if there is none.
	NextFollowUp(ctx context.Context, kinds []string, after time.Time) (at time.Time, ok bool, err error)
}

// FollowUpClaim says which follow-ups a worker takes.
type FollowUpClaim struct {
	Worker  string
	Kind    string
	Lease   time.Duration
	Most    int
	PerLane int // of all workers together
}

// FollowUpQuery selects follow-ups. Zero fields do not restrict.
type FollowUpQuery struct {
	Run    string
	Thread string
	Kind   string
	Parked bool // only those that are not tried again
	Limit  int
}

// WebhookKind is the kind of follow-up that calls the webhook of a run.
const WebhookKind = "webhook"

// Webhook is the follow-up of a run whose request names a webhook.
func Webhook(r Run) []FollowUp {
	if r.Request.Webhook == "" {
		return nil
	}
	f := FollowUp{Key: "run_" + r.ID, Kind: WebhookKind}
	if u, err := url.Parse(r.Request.Webhook); err == nil {
		f.Lane = u.Host // and nothing else of it: an address may hold a secret
	}
	if r.Cancel == RollbackRun { // nothing else will be left of it
		f.Payload, _ = json.Marshal(r) // plain data
	}
	return []FollowUp{f}
}

// followUps are those of a run, as they are stored. A run ends whatever its follow-ups do.
func (e *Engine) followUps(r Run, at time.Time) (all []FollowUp) {
	if e.opt.FollowUps == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			e.opt.Log.Error("the follow-ups of a run cannot be told and are lost", "run", r.ID, "panic", p, "stack", string(debug.Stack()))
			all = nil
		}
	}()
	all = e.opt.FollowUps(r)
	for i := range all {
		f := &all[i]
		if f.Key == "" {
			f.Key = f.Kind + "_" + r.ID
		}
		f.Run, f.Thread, f.Owner, f.CreatedAt = r.ID, r.Thread, r.Owner, at
		if f.NextAt.Before(at) {
			f.NextAt = at
		}
	}
	return all
}
