package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/task"
)

// taskRoutes is the native protocol; docs/wire/task.md describes it. A run is its root task. A sub-agent's task
// is addressed by its own id together with its root's, ?root=…, since a provider's call ids are unique in a run
// tree and nowhere else.
func (s *Server) taskRoutes() {
	s.handle("POST /tasks", s.createTask)
	s.handle("GET /tasks", s.listTasks)
	s.handle("GET /tasks/{id}", s.getTask)
	s.handle("DELETE /tasks/{id}", s.deleteTask)
	s.handle("GET /tasks/{id}/events", s.taskEvents)
	s.handle("GET /tasks/{id}/ws", s.taskSocket)
	s.handle("POST /tasks/{id}/cancel", s.cancelTask)
	s.handle("POST /tasks/{id}/input", s.answerTask)
	s.handle("GET /tasks/{id}/model-view", s.taskModelView)
}

const (
	taskDialect = "task"
	// threadHeader names the task's thread; the folded object is what the stream gives, and has no place for it.
	threadHeader = "X-Thread-Id"
)

func newTaskProjector() wire.Projector { return task.New() }

// taskRef is a task that a request speaks of.
type taskRef struct {
	run   run.Run
	child string // a sub-agent of the run; empty for its root task
}

// findTask reads the task from the request's path.
func (s *Server) findTask(r *http.Request, who run.Identity) (taskRef, error) {
	id, root := r.PathValue("id"), r.URL.Query().Get("root")
	ref := taskRef{}
	if root != "" && root != id {
		ref.child = id
		id = root
	}
	var err error
	ref.run, err = s.opt.Store.Run(r.Context(), who, id)
	if errors.Is(err, run.ErrNotFound) {
		if root != "" {
			return ref, &statusError{http.StatusNotFound, "root", fmt.Sprintf("root: there is no task %q", id)}
		}
		return ref, &statusError{http.StatusNotFound, "id", fmt.Sprintf("id: there is no task %q; a sub-agent's task is found with ?root= and the id of its root task", id)}
	}
	return ref, err
}

// findRoot is findTask for what can only be done to a whole tree.
func (s *Server) findRoot(r *http.Request, who run.Identity, what string) (run.Run, error) {
	ref, err := s.findTask(r, who)
	if err == nil && ref.child != "" {
		err = &statusError{http.StatusUnprocessableEntity, "root", "root: " + what}
	}
	return ref.run, err
}

func (s *Server) getTask(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.findTask(r, who)
	if err != nil {
		return err
	}
	return s.answerWith(w, r, http.StatusOK, ref)
}

// answerWith answers with the folded object of a task.
func (s *Server) answerWith(w http.ResponseWriter, r *http.Request, status int, ref taskRef) error {
	body, err := s.taskObject(r.Context(), ref)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set(threadHeader, ref.run.Thread)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
	return nil
}

// taskObject folds the journal as it is now. It is what a reader of the stream has who has read as far.
func (s *Server) taskObject(ctx context.Context, ref taskRef) ([]byte, error) {
	fold := &transcript.Fold{}
	for env, err := range s.opt.Journal.Read(ctx, ref.run.ID, 0) {
		if err != nil {
			return nil, err
		}
		if err := fold.Apply(&env); err != nil {
			s.log.Error("a journal breaks a law", "run", ref.run.ID, "seq", env.Seq, "err", err)
		}
	}
	picture, ok := fold.Task(ref.child)
	switch {
	case ok:
		return task.Object(ref.run.ID, picture), nil
	case ref.child != "":
		return nil, &statusError{http.StatusNotFound, "id", fmt.Sprintf("id: task %q has no sub-agent %q", ref.run.ID, ref.child)}
	}
	// It waits, or its first event is not on disk yet. The stream begins with task.created, which has the time of that.
	return fmt.Appendf(nil, `{"task_id":%q,"status":%q,"output":[]}`, ref.run.ID, taskStatus(ref.run.Status)), nil
}

// taskEvents streams a task from its beginning, or from after the frame that the client names.
func (s *Server) taskEvents(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.findRoot(r, who, "the events of a sub-agent are part of its root's stream; leave out root")
	if err != nil {
		return err
	}
	after, err := taskCursor(r)
	if err != nil {
		return err
	}
	w.Header().Set(threadHeader, rn.Thread)
	err = s.streamRun(w, r, feedKey{run: rn.ID, dialect: taskDialect}, newTaskProjector, after)
	return s.explainLost(w, r, rn.ID, err)
}

// taskCursor reads where a stream begins: after the frame with that number; empty for the beginning. The
// header wins, because a browser that reconnects sends it beside the address that it began with.
func taskCursor(r *http.Request) (string, error) {
	text, field := r.Header.Get("Last-Event-ID"), "Last-Event-ID"
	if text == "" {
		text, field = r.URL.Query().Get("after"), "after"
	}
	if text == "" {
		return "", nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < -1 {
		return "", &statusError{http.StatusUnprocessableEntity, field, fmt.Sprintf("%s: %q is no sequence number; give that of the last event you have, or -1 for all", field, text)}
	}
	if n == -1 {
		return "", nil
	}
	return strconv.FormatInt(n, 10), nil
}

// lostProblem answers a cursor that is not in the log, and says which ones are.
type lostProblem struct {
	problem
	Newest int `json:"newest"` // the last number there is; -1 if there is none
}

// explainLost turns the error of a cursor beyond the end into one that helps. Other errors pass.
func (s *Server) explainLost(w http.ResponseWriter, r *http.Request, runID string, err error) error {
	if !errors.Is(err, journal.ErrLost) {
		return err
	}
	newest := -1
	proj := newTaskProjector()
	var frames []wire.Frame
	for env, err := range s.opt.Journal.Read(r.Context(), runID, 0) {
		if err != nil {
			return err
		}
		if frames, err = proj.Project(frames[:0], &env); err != nil {
			return err
		}
		newest += len(frames)
	}
	s.answer(w, http.StatusGone, lostProblem{problem{
		Error:  http.StatusText(http.StatusGone),
		Detail: fmt.Sprintf("after: the task has no such event; its newest is %d. Read it again from the beginning", newest),
		Field:  "after",
	}, newest})
	return nil
}

// cancelRequest is the body of POST /tasks/{id}/cancel.
type cancelRequest struct {
	// Action is "interrupt", which keeps what the task has done, or "rollback", which removes it. Default interrupt.
	Action run.Action `json:"action"`
	// Wait answers when the task has ended and not at once.
	Wait bool `json:"wait"`
}

func (s *Server) cancelTask(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.findTask(r, who)
	if err != nil {
		return err
	}
	req := cancelRequest{Action: run.StopRun}
	if err := decodeStrict(w, r, &req); err != nil {
		return err
	}
	if ref.child != "" {
		return s.cancelChild(w, r, who, ref, req.Wait)
	}
	if ref.run.Status.Ended() {
		return s.cancelEnded(w, r, ref)
	}
	if ref.run, err = s.opt.Engine.Cancel(r.Context(), who, ref.run.ID, req.Action); err != nil {
		return err
	}
	if ref.run.Status.Ended() { // in the meantime
		return s.cancelEnded(w, r, ref)
	}
	if !req.Wait {
		return s.answerWith(w, r, http.StatusAccepted, ref)
	}
	ref.run, err = s.opt.Engine.Wait(r.Context(), who, ref.run.ID)
	if errors.Is(err, run.ErrNotFound) && req.Action == run.RollbackRun {
		w.WriteHeader(http.StatusNoContent) // it is gone, as was asked for
		return nil
	}
	if err != nil {
		return err
	}
	return s.answerWith(w, r, http.StatusOK, ref)
}

// cancelEnded answers a cancel that comes too late. To repeat one that worked is no mistake.
func (s *Server) cancelEnded(w http.ResponseWriter, r *http.Request, ref taskRef) error {
	if ref.run.Status == run.Cancelled {
		return s.answerWith(w, r, http.StatusOK, ref)
	}
	return &statusError{http.StatusConflict, "id", fmt.Sprintf("id: task %q is %s and cannot be canceled any more", ref.run.ID, taskStatus(ref.run.Status))}
}

// cancelChild stops a sub-agent alone; its root goes on without it.
func (s *Server) cancelChild(w http.ResponseWriter, r *http.Request, who run.Identity, ref taskRef, wait bool) error {
	rn, err := s.opt.Engine.CancelTask(r.Context(), who, ref.run.ID, ref.child)
	if err != nil {
		return err
	}
	if rn.Status.Ended() {
		return s.cancelEnded(w, r, ref)
	}
	if !wait {
		return s.answerWith(w, r, http.StatusAccepted, ref)
	}
	for env, err := range s.opt.Journal.Follow(r.Context(), ref.run.ID, journal.Position{}) {
		if err != nil {
			return err
		}
		if _, ended := env.Event.(event.TaskEnded); ended && env.Task == ref.child {
			break
		}
	}
	return s.answerWith(w, r, http.StatusOK, ref)
}

// deleteTask removes a task that has ended. Later tasks of the thread build on its state, so only the newest goes.
func (s *Server) deleteTask(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.findRoot(r, who, "a sub-agent's task is part of its root's and goes with it; leave out root")
	if err != nil {
		return err
	}
	if !rn.Status.Ended() {
		return &statusError{http.StatusConflict, "id", fmt.Sprintf("id: task %q is %s; cancel it first", rn.ID, taskStatus(rn.Status))}
	}
	newest, err := s.opt.Store.ThreadRuns(r.Context(), who, rn.Thread, "", 1, 0)
	if err != nil {
		return err
	}
	if len(newest) > 0 && newest[0].ID != rn.ID {
		return &statusError{http.StatusConflict, "id", fmt.Sprintf("id: task %q was continued by %q; delete that one first", rn.ID, newest[0].ID)}
	}
	if err := s.opt.Store.DeleteRun(r.Context(), who, rn.ID); err != nil {
		return err
	}
	s.opt.Journal.Drop(rn.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// taskStatus is this protocol's word for how a run stands.
func taskStatus(s run.Status) string {
	for _, w := range taskStatuses {
		if w.status == s {
			return w.word
		}
	}
	return "working"
}

var taskStatuses = []struct {
	word   string
	status run.Status
}{
	{"queued", run.Pending},
	{"working", run.Running},
	{"completed", run.Success},
	{"failed", run.Failed},
	{"input_required", run.Interrupted},
	{"canceled", run.Cancelled},
	{"expired", run.TimedOut},
}

// taskTime writes times as the events do.
func taskTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
