package tributary

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/internal/companion"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// companion is what stands around the runtime's conversations.
func (r *Runtime) companion() *companion.Companion {
	return &companion.Companion{
		Store: r.db, Graphs: graphs{r}, NoModel: door.ErrNoModel,
		Write: func(ctx context.Context, who run.Identity, system, text string) iter.Seq2[string, error] {
			return r.write(ctx, who.Owner, system, text)
		},
	}
}

// UsageQuery selects runs. Zero fields do not restrict.
type UsageQuery struct {
	Thread string
	// Since and Until bound when runs were created.
	Since, Until time.Time
}

// Spent is what some runs have spent together.
type Spent struct {
	Name  string // of the thread, the agent or the model; empty for all
	Runs  int
	Turns int // model calls
	// Usage has a cost where the models have prices.
	Usage item.Usage
}

// UsageReport is what runs have spent: together, and by thread, agent and model, the costliest first.
type UsageReport struct {
	Spent
	Threads, Agents, Models []Spent
}

// Usage adds up what an owner's runs have spent. Those that have not ended are not in it.
func (r *Runtime) Usage(ctx context.Context, owner string, q UsageQuery) (UsageReport, error) {
	u, err := r.companion().Used(ctx, identity(owner), companion.UsageQuery(q))
	if err != nil {
		return UsageReport{}, r.told(err)
	}
	lines := func(list []companion.Line) (out []Spent) {
		for _, l := range list {
			out = append(out, Spent{l.Name, l.Runs, l.Turns, l.Usage})
		}
		return out
	}
	return UsageReport{Spent{"", u.Runs, u.Turns, u.Sum.Usage}, lines(u.Threads), lines(u.Agents), lines(u.Models)}, nil
}

// Goal is what a thread works towards; nil for nothing. See [middleware.Pursue].
func (r *Runtime) Goal(ctx context.Context, owner, thread string) (*middleware.Goal, error) {
	g, err := r.companion().Goal(ctx, identity(owner), thread)
	return g, r.told(err)
}

// SetGoal gives a thread that has run a goal, in place of the one before; an empty one takes it away. The lead agent's next run works
// towards it, and goes on by itself until it is reached. The first run of a thread is given one in its context, as goal.
func (r *Runtime) SetGoal(ctx context.Context, owner, thread, objective string) (*middleware.Goal, error) {
	g, err := r.companion().SetGoal(ctx, identity(owner), thread, objective)
	return g, r.told(err)
}

// Feedback is what a person thinks of a run's answer.
type Feedback struct {
	Rating  int // 1 or -1
	Comment string
	At      time.Time
}

// Rate keeps what a person thinks of a run, in place of what they thought before.
func (r *Runtime) Rate(ctx context.Context, owner, id string, f Feedback) error {
	rn, err := r.db.Run(ctx, identity(owner), id)
	if err != nil {
		return r.told(err)
	}
	_, err = r.companion().Rate(ctx, identity(owner), companion.Feedback{Run: id, Thread: rn.Thread, Rating: f.Rating, Comment: f.Comment})
	return r.told(err)
}

// Rating is what a person thinks of a run; [ErrNotFound] if nobody said.
func (r *Runtime) Rating(ctx context.Context, owner, id string) (Feedback, error) {
	rn, err := r.db.Run(ctx, identity(owner), id)
	if err != nil {
		return Feedback{}, r.told(err)
	}
	f, err := r.companion().Rating(ctx, identity(owner), rn.Thread, id)
	return Feedback{f.Rating, f.Comment, f.At}, r.told(err)
}

// Unrate forgets it.
func (r *Runtime) Unrate(ctx context.Context, owner, id string) error {
	rn, err := r.db.Run(ctx, identity(owner), id)
	if err != nil {
		return r.told(err)
	}
	return r.told(r.companion().Unrate(ctx, identity(owner), rn.Thread, id))
}

// Suggest is what the person could say next on a thread, at most n. It is nothing where no language model can write it: the offline one
// cannot.
func (r *Runtime) Suggest(ctx context.Context, owner, thread string, n int) ([]string, error) {
	c := r.companion()
	said, err := c.Recent(ctx, identity(owner), thread)
	if err != nil {
		return nil, r.told(err)
	}
	list, err := c.Suggest(ctx, identity(owner), said, n)
	return list, r.told(err)
}

// Polish says a text better, for somebody to send; as it is, where no language model can.
func (r *Runtime) Polish(ctx context.Context, owner, text string) (string, error) {
	better, err := r.companion().Polish(ctx, identity(owner), text)
	return better, r.told(err)
}

// Folder opens the folder of a thread: uploads, workspace and outputs are in it, by these names. What is written into uploads, the
// agent's next run is told of. Close it when it is not needed any more.
func (r *Runtime) Folder(ctx context.Context, owner, thread string) (*os.Root, error) {
	if !r.opt.Files {
		return nil, invalid("files", "this runtime's agents have no files; see Options.Files")
	}
	root, err := r.folder(identity(owner), thread)
	if err != nil {
		return nil, r.told(fmt.Errorf("folder: %w", err))
	}
	return root, ctx.Err()
}
