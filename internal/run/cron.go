package run

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Cron starts runs on a schedule.
type Cron struct {
	ID    string
	Owner string
	// Thread is where the runs are made; empty for a new thread each time.
	Thread   string
	Schedule string
	Timezone string // empty for UTC
	// EndTime is after which it no longer fires; zero for never.
	EndTime time.Time
	// Next is when it fires next; zero if never again.
	Next    time.Time
	Enabled bool
	// Request is what each run is asked to do, without its assistant's settings: those count that it has then.
	Request  Request
	Payload  json.RawMessage // as the client gave it
	Metadata json.RawMessage
	// Keep lets the threads of its runs live after them.
	Keep      bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Plan sets Next to the first time after t.
func (c *Cron) Plan(t time.Time) error {
	s, err := ParseSchedule(c.Schedule, c.Timezone)
	if err != nil {
		return err
	}
	c.Next = s.Next(t)
	if !c.EndTime.IsZero() && c.Next.After(c.EndTime) {
		c.Next = time.Time{}
	}
	return nil
}

// Crons keeps schedules.
type Crons interface {
	CreateCron(ctx context.Context, who Identity, c Cron) (Cron, error)
	Cron(ctx context.Context, who Identity, id string) (Cron, error)
	SearchCrons(ctx context.Context, who Identity, q CronQuery) (crons []Cron, total int, err error)
	// ReplaceCron stores all of a cron but its id, owner and creation.
	ReplaceCron(ctx context.Context, who Identity, c Cron) (Cron, error)
	DeleteCron(ctx context.Context, who Identity, id string) error
	// DueCrons lists crons of all owners that are to fire by a time.
	DueCrons(ctx context.Context, by time.Time, n int) ([]Cron, error)
	// AdvanceCron moves a firing from one time to the next. It reports false if somebody else did: of several
	// nodes one fires.
	AdvanceCron(ctx context.Context, id string, from, to time.Time) (bool, error)
	// NextCron is when the next one fires; ok is false if none does.
	NextCron(ctx context.Context) (at time.Time, ok bool, err error)
}

// CronQuery selects crons. Zero fields do not restrict.
type CronQuery struct {
	Assistant string
	Thread    string
	Enabled   *bool
	Metadata  json.RawMessage
	SortBy    string // cron_id, assistant_id, thread_id, next_run_date, end_time, created_at, updated_at; default created_at
	Asc       bool
	Limit     int
	Offset    int
}

// Scheduler fires crons. A firing that was missed, because no process was there, is made up for once. It owns one goroutine.
type Scheduler struct {
	engine *Engine
	store  Crons
	log    *slog.Logger
	kick   chan struct{}
	stop   context.CancelFunc
	done   sync.WaitGroup
}

const (
	cronPoll = 30 * time.Second
	cronsDue = 100 // fired at once
)

// OpenScheduler starts to fire.
func OpenScheduler(engine *Engine, store Crons, log *slog.Logger) *Scheduler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Scheduler{engine: engine, store: store, log: log, kick: make(chan struct{}, 1), stop: stop}
	s.done.Go(func() { s.loop(ctx) })
	return s
}

// Kick tells that a cron was made or changed.
func (s *Scheduler) Kick() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Close stops firing. Close it before the engine.
func (s *Scheduler) Close() {
	s.stop()
	s.done.Wait()
}

func (s *Scheduler) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.kick:
		case <-ctx.Done():
			return
		}
		timer.Reset(s.fireDue(ctx))
	}
}

// fireDue fires what is due and returns how long to wait.
func (s *Scheduler) fireDue(ctx context.Context) time.Duration {
	due, err := s.store.DueCrons(ctx, time.Now(), cronsDue)
	if err != nil && ctx.Err() == nil {
		s.log.Error("look for crons that are due", "err", err)
	}
	for _, c := range due {
		if err := s.fire(ctx, c); err != nil && ctx.Err() == nil {
			s.log.Error("a cron could not start its run", "cron", c.ID, "err", err)
		}
	}
	if len(due) == cronsDue {
		return 0
	}
	at, ok, err := s.store.NextCron(ctx)
	if err != nil || !ok {
		return cronPoll
	}
	return min(max(time.Until(at), 10*time.Millisecond), cronPoll)
}

func (s *Scheduler) fire(ctx context.Context, c Cron) error {
	was := c.Next
	if err := c.Plan(time.Now()); err != nil {
		c.Next = time.Time{} // it cannot be planned; it was when it was made
		s.log.Error("a cron cannot be planned any more", "cron", c.ID, "err", err)
	}
	// The next time is stored before the run starts: a crash in between loses a firing rather than doubling it.
	mine, err := s.store.AdvanceCron(ctx, c.ID, was, c.Next)
	if err != nil || !mine {
		return err
	}
	o := Order{Request: c.Request, Thread: c.Thread}
	o.Temporary = c.Thread == "" && !c.Keep
	_, err = s.engine.Order(ctx, Identity{Owner: c.Owner}, o)
	var gone *MissingError
	if errors.As(err, &gone) && gone.Field == "thread_id" {
		// Its thread was deleted, and with it the reason to go on.
		_, err = s.store.AdvanceCron(ctx, c.ID, c.Next, time.Time{})
	}
	return err
}
