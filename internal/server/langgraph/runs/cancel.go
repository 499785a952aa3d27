package runs

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
)

func cancelAction(r *http.Request) (run.Action, error) {
	action, err := edge.OneOf("action", r.URL.Query().Get("action"), string(run.StopRun), string(run.RollbackRun))
	return run.Action(action), err
}

func (s *Service) cancelRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	action, err := cancelAction(r)
	if err != nil {
		return err
	}
	wait, err := edge.QueryBool(r, "wait")
	if err != nil {
		return err
	}
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	if err := s.stop(r.Context(), who, rn, action, wait); err != nil {
		return runNotFound(err)
	}
	status := http.StatusAccepted
	if wait {
		status = http.StatusNoContent
	}
	w.WriteHeader(status)
	return nil
}

// stop cancels a run, and waits for its end if asked to. A run that had not begun has nothing to stop, so its end
// is always waited for: whoever looks next finds it ended.
func (s *Service) stop(ctx context.Context, who run.Identity, rn run.Run, action run.Action, wait bool) error {
	before, err := s.opt.Engine.Cancel(ctx, who, rn.ID, action)
	if err != nil {
		return err
	}
	if !before.Status.Ended() && (wait || before.Status == run.Pending) {
		_, err = s.opt.Engine.Wait(ctx, who, rn.ID)
		if errors.Is(err, run.ErrNotFound) { // rolled back
			err = nil
		}
	}
	return err
}

type cancellation struct {
	ThreadID string   `json:"thread_id" doc:"required with run_ids"`
	RunIDs   []string `json:"run_ids"`
	Status   string   `json:"status" enum:"pending,running,all" doc:"instead of run_ids"`
}

// cancelRuns cancels several runs: those that are named, or all of a status.
func (s *Service) cancelRuns(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	action, err := cancelAction(r)
	if err != nil {
		return err
	}
	var req cancellation
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	var found []run.Run
	switch {
	case req.Status != "":
		found, err = s.inFlight(r.Context(), who, req.Status, req.ThreadID)
	case len(req.RunIDs) > 0:
		found, err = s.named(r.Context(), who, req.ThreadID, req.RunIDs)
	default:
		err = run.Invalidf("run_ids", "name runs, or give a status: pending, running or all")
	}
	if err != nil {
		return err
	}
	for _, rn := range found {
		if err := s.stop(r.Context(), who, rn, action, false); err != nil && !errors.Is(err, run.ErrNotFound) {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) named(ctx context.Context, who run.Identity, thread string, ids []string) (found []run.Run, err error) {
	if thread, err = edge.ParseThread("thread_id", thread); err != nil {
		return nil, err
	}
	if len(ids) > edge.MaxLimit {
		return nil, run.Invalidf("run_ids", "are more than %d", edge.MaxLimit)
	}
	for i, id := range ids {
		if id, err = edge.ParseID("run_ids."+strconv.Itoa(i), id); err != nil {
			return nil, err
		}
		rn, err := s.opt.Store.Run(ctx, who, id)
		if err == nil && rn.Thread != thread {
			err = run.ErrNotFound
		}
		if err != nil {
			return nil, runNotFound(err)
		}
		found = append(found, rn)
	}
	return found, nil
}

// inFlight lists the caller's runs that wait or execute.
func (s *Service) inFlight(ctx context.Context, who run.Identity, status, thread string) ([]run.Run, error) {
	status, err := edge.OneOf("status", status, "pending", "running", "all")
	if err != nil {
		return nil, err
	}
	if thread != "" {
		if thread, err = edge.ParseThread("thread_id", thread); err != nil {
			return nil, err
		}
	}
	all, err := s.opt.Store.RunsInFlight(ctx, who)
	if err != nil {
		return nil, err
	}
	var out []run.Run
	for _, rn := range all {
		if (thread == "" || rn.Thread == thread) && (status == "all" || status == string(rn.Status)) {
			out = append(out, rn)
		}
	}
	return out, nil
}
