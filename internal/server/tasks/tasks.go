// Package tasks serves the native protocol, which docs/wire/task.md describes. A run is its root task. A sub-agent's task
// is addressed by its own id together with its root's, ?root=…, since a provider's call ids are unique in a run
// tree and nowhere else.
//
// # Laws
//
//   - A task's object is what a reader of its stream has who has read as far.
//   - A request with a member or a filter that the protocol does not know is refused: a misspelt one must not be ignored.
//   - Of two answers to the same question one counts; the other is refused before it becomes a task.
//   - A connection that ends stops no task, unless its creator asked for that.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/item"
)

// Store is what the routes read and write directly; what concerns executing runs goes through the engine.
type Store interface {
	run.Assistants
	run.Runs
	graph.Checkpointer
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
	run.Pieces
}

// Engine executes runs.
type Engine interface {
	Prepare(ctx context.Context, who run.Identity, o run.Order) (*run.Draft, error)
	Cancel(ctx context.Context, who run.Identity, id string, action run.Action) (run.Run, error)
	CancelTask(ctx context.Context, who run.Identity, id, task string) (run.Run, error)
	Wait(ctx context.Context, who run.Identity, id string) (run.Run, error)
}

// Graphs finds graphs.
type Graphs interface {
	// Names lists the graphs that there are.
	Names() []string
	// Graph builds a graph as a run with that configuration would get it; run.ErrNotFound if there is none.
	Graph(ctx context.Context, who run.Identity, name string, config run.Request) (*graph.Graph, error)
}

// Options are what the routes need; all of it is required.
type Options struct {
	Store   Store
	Engine  Engine
	Journal *journal.Journal
	Graphs  Graphs
	Feeds   *feed.Feeds
	Terms   *stream.Terms
}

// Service serves tasks.
type Service struct {
	opt  Options
	path func(string) string // where clients find a path of ours
}

// New makes the service.
func New(opt Options) *Service { return &Service{opt: opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	s.path = t.Path
	t.Section("tasks", "What agents do, as objects and as streams of their changes")
	root := jsonvalue.Object{{"root", edge.Text("the root task's id, where the task is a sub-agent's")}}
	place := append(root, jsonvalue.Member{"after", edge.Text("go on after the event with this number")},
		jsonvalue.Member{"include", edge.Text("\"times\": events of items say when they came to be")})
	t.Handle("POST /tasks", s.create, edge.Doc{
		Summary: "Create a task; with stream follow it, else wait for its end", Body: request{}, Answer: Task{}, Stream: true, Fails: []int{404, 409},
	})
	t.Handle("GET /tasks", s.list, edge.Doc{
		Summary: "List tasks", Answer: page{},
		Query: jsonvalue.Object{
			{"status", edge.Text("several with commas between them: " + statusWords())}, {"thread_id", ""}, {"assistant", ""},
			{"metadata", edge.Text(`what their metadata must contain, as {"customer":"7"}`)}, {"order", edge.Word{"desc", "asc"}}, {"limit", 0}, {"offset", 0},
		},
		Fails: []int{404},
	})
	t.Handle("GET /tasks/{id}", s.get, edge.Doc{
		Summary: "Get a task", Query: append(root, jsonvalue.Member{"include", edge.Text("with a comma between them, \"content\": what the model reads of tool results and messages, beside what people see; \"times\": when items were begun and ended")}), Answer: Task{},
	})
	t.Handle("DELETE /tasks/{id}", s.remove, edge.Doc{
		Summary: "Delete a task that has ended, the newest of its thread", Status: []int{204}, Fails: []int{409},
	})
	t.Handle("GET /tasks/{id}/events", s.events, edge.Doc{Summary: "Follow a task", Query: place, Stream: true, Fails: []int{410}})
	t.Handle("GET /tasks/{id}/ws", s.serveSocket, edge.Doc{Summary: "Follow a task over a WebSocket", Query: place, Status: []int{101}, Fails: []int{410}})
	t.Handle("POST /tasks/{id}/cancel", s.cancel, edge.Doc{
		Summary: "Stop a task; with wait, answer when it has ended", Query: root, Body: cancelRequest{}, Status: []int{200, 202, 204}, Answer: Task{}, Fails: []int{409},
	})
	t.Handle("POST /tasks/{id}/input", s.answer, edge.Doc{
		Summary: "Answer what a task asks, with a new task that goes on", Body: answerRequest{}, Answer: Task{}, Stream: true, Fails: []int{409},
	})
	t.Handle("GET /tasks/{id}/model-view", s.showModelView, edge.Doc{
		Summary: "Get the conversation as the model sees it", Query: root, Answer: modelView{}, Fails: []int{410},
	})
	t.Handle("GET /tasks/{id}/references", s.showReferences, edge.Doc{
		Summary: "Get what the task's answers cite, also where an earlier task of the thread found it", Query: root, Answer: referenceList{}, Fails: []int{410},
	})
	t.Handle("GET /tasks/{id}/requests/{turn}", s.showRequest, edge.Doc{
		Summary: "Get what the model of a turn was shown, to the byte; \"last\" is the last turn", Query: root, Answer: shownRequest{}, Fails: []int{404, 410},
	})
}

// Task is the object of a task, as the package task of the wire writes it.
type Task struct {
	ID         string           `json:"task_id"`
	Parent     string           `json:"parent_task_id,omitempty" doc:"of a sub-agent's task"`
	Status     string           `json:"status" enum:"queued,working,input_required,completed,failed,canceled,expired"`
	Agent      string           `json:"agent,omitempty"`
	Title      string           `json:"title,omitempty"`
	Attempt    int              `json:"attempt,omitempty" doc:"from the second on"`
	Cause      string           `json:"cause,omitempty" doc:"why it was tried again"`
	CreatedAt  time.Time        `json:"created_at,omitzero"`
	Output     []map[string]any `json:"output" doc:"items: reasoning, tool_call, tool_result, message"`
	Reason     string           `json:"reason,omitempty" doc:"why it ended"`
	Error      *event.Error     `json:"error,omitempty"`
	Usage      *item.Usage      `json:"usage,omitempty"`
	EndedAt    time.Time        `json:"ended_at,omitzero"`
	Tasks      []Task           `json:"tasks,omitempty" doc:"of sub-agents that no tool result contains"`
	Interrupts []Question       `json:"interrupts,omitempty" doc:"what it asks"`
	Plans      []map[string]any `json:"plans,omitempty"`
	Teams      []map[string]any `json:"teams,omitempty"`
	Warnings   []map[string]any `json:"warnings,omitempty"`
	Times      []Time           `json:"times,omitempty" doc:"of all items of the run, with include=times"`
}

// Time is when an item was begun and ended.
type Time struct {
	Item  string    `json:"item_id"`
	Task  string    `json:"task_id"`
	Began time.Time `json:"began_at"`
	Ended time.Time `json:"ended_at,omitzero"`
}

// Question is what a task asks.
type Question struct {
	ID      string `json:"id"`
	Ask     string `json:"ask,omitempty"`
	Value   any    `json:"value"`
	Options []any  `json:"options,omitempty"`
}

const (
	dialect = "task"
	// threadHeader names the task's thread; the folded object is what the stream gives, and has no place for it.
	threadHeader = "X-Thread-Id"
)

// target is a task that a request speaks of.
type target struct {
	run   run.Run
	child string // a sub-agent of the run; empty for its root task
	// content says that what the model reads is wanted too; times, when its items were begun and ended.
	content, times bool
}

// place is the stream of a task. Readers wait in it for hours, and hold no more than this.
type place struct {
	run   string
	child string // a sub-agent of the run; empty for its root task
	times bool   // frames of items say when
}

// key names the stream among all projections.
func (p place) key(lines bool) feed.Key {
	k := feed.Key{Run: p.run, Dialect: dialect, Lines: lines}
	if p.child != "" {
		k.Dialect += " of " + p.child
	}
	if p.times {
		k.Dialect += " with times"
	}
	return k
}

func (p place) project() wire.Projector {
	proj := task.New()
	proj.Only(p.child)
	if p.times {
		proj.Times()
	}
	return proj
}

// find reads the task from the request's path.
func (s *Service) find(r *http.Request, who run.Identity) (target, error) {
	id, root := r.PathValue("id"), r.URL.Query().Get("root")
	ref := target{}
	if root != "" && root != id {
		ref.child = id
		id = root
	}
	var err error
	ref.run, err = s.opt.Store.Run(r.Context(), who, id)
	if errors.Is(err, run.ErrNotFound) {
		if root != "" {
			return ref, edge.RefuseField(http.StatusNotFound, "root", fmt.Sprintf("root: there is no task %q", id))
		}
		return ref, edge.RefuseField(http.StatusNotFound, "id", fmt.Sprintf("id: there is no task %q; a sub-agent's task is found with ?root= and the id of its root task", id))
	}
	return ref, err
}

// findRoot is find for what can only be done to a whole tree.
func (s *Service) findRoot(r *http.Request, who run.Identity, what string) (run.Run, error) {
	ref, err := s.find(r, who)
	if err == nil && ref.child != "" {
		err = edge.RefuseField(http.StatusUnprocessableEntity, "root", "root: "+what)
	}
	return ref.run, err
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.find(r, who)
	if err != nil {
		return err
	}
	included, err := include(r, "content", "times")
	if err != nil {
		return err
	}
	ref.content, ref.times = included["content"], included["times"]
	return s.answerWith(w, r, http.StatusOK, ref)
}

// include reads what a request wants beside what everybody gets.
func include(r *http.Request, offered ...string) (map[string]bool, error) {
	text := r.URL.Query().Get("include")
	if text == "" {
		return nil, nil
	}
	wanted := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		if !slices.Contains(offered, word) {
			return nil, edge.RefuseField(http.StatusUnprocessableEntity, "include", fmt.Sprintf("include: %q cannot be had; \"%s\" can", word, strings.Join(offered, "\", \"")))
		}
		wanted[word] = true
	}
	return wanted, nil
}

// answerWith answers with the folded object of a task.
func (s *Service) answerWith(w http.ResponseWriter, r *http.Request, status int, ref target) error {
	body, err := s.objectOf(r.Context(), ref)
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

// objectOf folds the journal as it is now. It is what a reader of the stream has who has read as far.
func (s *Service) objectOf(ctx context.Context, ref target) ([]byte, error) {
	var times task.Times
	var look func(*event.Envelope)
	if ref.times {
		look = times.Apply
	}
	fold, err := s.fold(ctx, ref.run.ID, look)
	if err != nil {
		return nil, err
	}
	picture, ok := fold.Task(ref.child)
	switch {
	case ok:
		write := task.Object
		if ref.content {
			write = task.WithContent
		}
		object := write(ref.run.ID, picture)
		if ref.times {
			object = times.AddTo(object, ref.run.ID)
		}
		return object, nil
	case ref.child != "":
		return nil, edge.RefuseField(http.StatusNotFound, "id", fmt.Sprintf("id: task %q has no sub-agent %q", ref.run.ID, ref.child))
	}
	// It waits, or its first event is not on disk yet. The stream begins with task.created, which has the time of that.
	return fmt.Appendf(nil, `{"task_id":%q,"status":%q,"output":[]}`, ref.run.ID, statusWord(ref.run.Status)), nil
}

// fold folds the journal of a run as it is now; look, if there is one, is shown each event of it.
func (s *Service) fold(ctx context.Context, run string, look func(*event.Envelope)) (*transcript.Fold, error) {
	fold := &transcript.Fold{}
	for env, err := range s.opt.Journal.Read(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		if err := fold.Apply(&env); err != nil {
			s.opt.Terms.Log.Error("a journal breaks a law", "run", run, "seq", env.Seq, "err", err)
		}
		if look != nil {
			look(&env)
		}
	}
	return fold, nil
}

// events streams a task from its beginning, or from after the frame that the client names.
func (s *Service) events(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	at, after, err := s.findPlace(w, r, who)
	if err != nil {
		return err
	}
	if err = s.opt.Terms.Follow(w, r, s.reader(at, after)); errors.Is(err, journal.ErrLost) {
		return s.explainLost(w, r, at)
	}
	return err
}

// findPlace reads which task a stream is of, and after which frame it begins; the headers name its thread. It is not
// part of its callers, or the runs that it handles would lie on their stacks, twice the size, for as long as they stream.
//
//go:noinline
func (s *Service) findPlace(w http.ResponseWriter, r *http.Request, who run.Identity) (at place, after string, err error) {
	ref, err := s.find(r, who)
	if err != nil {
		return at, "", err
	}
	if ref.child != "" {
		if _, err := s.objectOf(r.Context(), ref); err != nil { // there must be such a sub-agent
			return at, "", err
		}
	}
	w.Header().Set(threadHeader, ref.run.Thread)
	included, err := include(r, "times")
	if err != nil {
		return at, "", err
	}
	after, err = cursorOf(r)
	return place{ref.run.ID, ref.child, included["times"]}, after, err
}

// reader reads a task's stream from after the frame with an id; from its beginning, if that is empty.
func (s *Service) reader(at place, after string) *feed.Reader {
	return s.opt.Feeds.Reader(at.key(false), at.project, feed.Start{Last: after})
}

// cursorOf reads where a stream begins: after the frame with that number; empty for the beginning. The
// header wins, because a browser that reconnects sends it beside the address that it began with.
func cursorOf(r *http.Request) (string, error) {
	text, field := r.Header.Get("Last-Event-ID"), "Last-Event-ID"
	if text == "" {
		text, field = r.URL.Query().Get("after"), "after"
	}
	if text == "" {
		return "", nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < -1 {
		return "", edge.RefuseField(http.StatusUnprocessableEntity, field, fmt.Sprintf("%s: %q is no sequence number; give that of the last event you have, or -1 for all", field, text))
	}
	if n == -1 {
		return "", nil
	}
	return strconv.FormatInt(n, 10), nil
}

// lostProblem answers a cursor that is not in the log, and says which ones are.
type lostProblem struct {
	edge.Problem
	Newest json.Number `json:"newest"` // the last number there is; -1 if there is none
}

// explainLost answers a cursor beyond the end with what helps.
//
//go:noinline
func (s *Service) explainLost(w http.ResponseWriter, r *http.Request, at place) error {
	newest := json.Number("-1")
	proj := at.project()
	var frames []wire.Frame
	for env, err := range s.opt.Journal.Read(r.Context(), at.run, 0) {
		if err != nil {
			return err
		}
		if frames, err = proj.Project(frames[:0], &env); err != nil {
			return err
		}
		if len(frames) > 0 {
			newest = json.Number(frames[len(frames)-1].ID)
		}
	}
	return edge.Answer(w, http.StatusGone, lostProblem{edge.Problem{
		Error:  http.StatusText(http.StatusGone),
		Detail: fmt.Sprintf("after: the task has no such event; its newest is %s. Read it again from the beginning", newest),
		Field:  "after",
	}, newest})
}

// cancelRequest is the body of POST /tasks/{id}/cancel.
type cancelRequest struct {
	// Action is "interrupt", which keeps what the task has done, or "rollback", which removes it. Default interrupt.
	Action run.Action `json:"action" enum:"interrupt,rollback" doc:"keep what it has done, or remove it"`
	// Wait answers when the task has ended and not at once.
	Wait bool `json:"wait"`
}

func (s *Service) cancel(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.find(r, who)
	if err != nil {
		return err
	}
	req := cancelRequest{Action: run.StopRun}
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	if _, err := edge.OneOf("action", string(req.Action), string(run.StopRun), string(run.RollbackRun)); err != nil {
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
func (s *Service) cancelEnded(w http.ResponseWriter, r *http.Request, ref target) error {
	if ref.run.Status == run.Cancelled {
		return s.answerWith(w, r, http.StatusOK, ref)
	}
	return edge.RefuseField(http.StatusConflict, "id", fmt.Sprintf("id: task %q is %s and cannot be canceled any more", ref.run.ID, statusWord(ref.run.Status)))
}

// cancelChild stops a sub-agent alone; its root goes on without it.
func (s *Service) cancelChild(w http.ResponseWriter, r *http.Request, who run.Identity, ref target, wait bool) error {
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

// remove removes a task that has ended. Later tasks of the thread build on its state, so only the newest goes.
func (s *Service) remove(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.findRoot(r, who, "a sub-agent's task is part of its root's and goes with it; leave out root")
	if err != nil {
		return err
	}
	if !rn.Status.Ended() {
		return edge.RefuseField(http.StatusConflict, "id", fmt.Sprintf("id: task %q is %s; cancel it first", rn.ID, statusWord(rn.Status)))
	}
	newest, err := s.opt.Store.ThreadRuns(r.Context(), who, rn.Thread, "", 1, 0)
	if err != nil {
		return err
	}
	if len(newest) > 0 && newest[0].ID != rn.ID {
		return edge.RefuseField(http.StatusConflict, "id", fmt.Sprintf("id: task %q was continued by %q; delete that one first", rn.ID, newest[0].ID))
	}
	if err := s.opt.Store.DeleteRun(r.Context(), who, rn.ID); err != nil {
		return err
	}
	s.opt.Journal.Drop(rn.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// statusWord is this protocol's word for how a run stands.
func statusWord(s run.Status) string {
	for _, w := range statuses {
		if w.status == s {
			return w.word
		}
	}
	return "working"
}

var statuses = []struct {
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

// stamp writes times as the events do.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
