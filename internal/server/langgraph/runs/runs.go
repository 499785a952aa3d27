package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/threads"
)

// Run is what [JSON] shows.
type Run struct {
	ID        string          `json:"run_id" format:"uuid"`
	Thread    string          `json:"thread_id"`
	Assistant string          `json:"assistant_id" format:"uuid"`
	Metadata  json.RawMessage `json:"metadata" type:"object"`
	Status    string          `json:"status" enum:"pending,running,error,success,timeout,interrupted"`
	Kwargs    json.RawMessage `json:"kwargs" type:"object" doc:"what was asked for"`
	Multitask string          `json:"multitask_strategy" enum:"enqueue,reject,interrupt,rollback"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
}

var runMembers = edge.Members[Run]()

// statuses are a run's, in LangGraph's words.
var statuses = edge.Word{"pending", "running", "error", "success", "timeout", "interrupted"}

// statusWord is a run's status in LangGraph's words: one that stopped to ask has done what it should, and
// "interrupted" means that somebody stopped it.
func statusWord(s run.Status) string {
	switch s {
	case run.Interrupted:
		return string(run.Success)
	case run.Cancelled:
		return "interrupted"
	}
	return string(s)
}

// statusesOf is the other way round.
func statusesOf(word string) ([]run.Status, error) {
	switch word {
	case "":
		return []run.Status{""}, nil
	case "success":
		return []run.Status{run.Success, run.Interrupted}, nil
	case "interrupted":
		return []run.Status{run.Cancelled}, nil
	}
	_, err := edge.OneOf("status", word, statuses...)
	return []run.Status{run.Status(word)}, err
}

// JSON shows a run.
func JSON(r run.Run) jsonvalue.Object {
	w := wordsOf(r)
	ids := jsonvalue.Object{{"run_id", r.ID}, {"thread_id", r.Thread}, {"graph_id", r.Request.Graph}, {"assistant_id", r.Assistant}}
	metadata := jsonvalue.Object{{"graph_id", r.Request.Graph}, {"assistant_id", r.Assistant}}.With(r.Request.Metadata)
	config := jsonvalue.Fields(r.Request.Config)
	configObject := jsonvalue.Object{{"configurable", ids.With(config["configurable"])}}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if name != "configurable" && name != "metadata" {
			configObject = append(configObject, jsonvalue.Member{name, config[name]})
		}
	}
	configObject = append(configObject, jsonvalue.Member{"metadata", metadata})
	modes := w.StreamMode
	if len(modes) == 0 {
		modes = []string{"values"}
	}
	var kwargs jsonvalue.Object
	if len(r.Request.Command) > 0 {
		kwargs = append(kwargs, jsonvalue.Member{"command", r.Request.Command})
	} else {
		kwargs = append(kwargs, jsonvalue.Member{"input", jsonvalue.OrNull(r.Request.Input)})
	}
	kwargs = append(kwargs, jsonvalue.Object{
		{"config", configObject}, {"context", jsonvalue.OrEmpty(r.Request.Context)}, {"stream_mode", modes},
		{"temporary", r.Request.Temporary}, {"subgraphs", w.StreamSubgraphs}, {"resumable", w.StreamResumable},
	}...)
	for name, nodes := range map[string][]string{"interrupt_before": r.Request.InterruptBefore, "interrupt_after": r.Request.InterruptAfter} {
		if len(nodes) > 0 {
			kwargs = append(kwargs, jsonvalue.Member{name, nodes})
		}
	}
	if r.Request.Webhook != "" {
		kwargs = append(kwargs, jsonvalue.Member{"webhook", r.Request.Webhook})
	}
	strategy := r.Request.Multitask
	if strategy == "" {
		strategy = run.Enqueue
	}
	return jsonvalue.Object{
		{"run_id", r.ID}, {"thread_id", r.Thread}, {"assistant_id", r.Assistant}, {"metadata", metadata}, {"status", statusWord(r.Status)},
		{"kwargs", kwargs}, {"multitask_strategy", strategy}, {"created_at", jsonvalue.Time(r.CreatedAt)}, {"updated_at", jsonvalue.Time(r.UpdatedAt)},
	}
}

// accept makes the run that a request's body asks for.
func (s *Service) accept(w http.ResponseWriter, r *http.Request, who run.Identity, streamed bool) (run.Run, wireWords, error) {
	var body Body
	if err := edge.Decode(w, r, &body); err != nil {
		return run.Run{}, wireWords{}, err
	}
	return s.create(r, who, &body, streamed)
}

// create makes a run as a request says: on the thread that the path names, or on one of its own.
func (s *Service) create(r *http.Request, who run.Identity, b *Body, streamed bool) (run.Run, wireWords, error) {
	thread := r.PathValue("thread_id")
	if thread != "" {
		var err error
		if thread, err = edge.ParseThread("thread_id", thread); err != nil {
			return run.Run{}, wireWords{}, err
		}
	}
	return s.createOn(r, who, b, thread, streamed)
}

// StartAll creates a run on a thread, of which readers will see all that there is.
func (s *Service) StartAll(r *http.Request, who run.Identity, b *Body, thread string) (run.Run, error) {
	b.StreamMode = edge.Words{"values", "updates", "messages", "tools", "custom", "tasks"}
	b.StreamSubgraphs, b.StreamResumable = true, true
	rn, _, err := s.createOn(r, who, b, thread, true)
	return rn, err
}

// createOn makes a run on a thread; on one of its own, if none is named.
func (s *Service) createOn(r *http.Request, who run.Identity, b *Body, thread string, streamed bool) (run.Run, wireWords, error) {
	d, words, err := s.draft(r, who, b, thread)
	if err != nil {
		return run.Run{}, words, err
	}
	words.Streamed, words.Stateless = streamed, thread == ""
	d.Request.Temporary = words.Stateless && b.OnCompletion != "keep"
	if d.Request.Wire, err = json.Marshal(words); err != nil {
		return run.Run{}, words, err
	}
	rn, err := d.Start(r.Context())
	s.opt.Threads.Ring(d.Thread)
	if errors.Is(err, run.ErrBusy) {
		return rn, words, edge.RefuseField(http.StatusUnprocessableEntity, "multitask_strategy",
			"Thread is already running a task. Wait for it to finish or choose a different multitask strategy.")
	}
	return rn, words, threads.NotFound(err, thread)
}

// locate names a run in the headers: clients learn its id there, and where to reconnect.
func locate(w http.ResponseWriter, rn run.Run) {
	at := "/threads/" + rn.Thread + "/runs/" + rn.ID
	if wordsOf(rn).Stateless {
		at = "/runs/" + rn.ID
	}
	w.Header().Set("Content-Location", at)
	w.Header().Set("Location", at+"/stream")
}

func (s *Service) createRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, _, err := s.accept(w, r, who, false)
	if err != nil {
		return err
	}
	locate(w, rn)
	rn.Status = run.Pending // it was accepted; whether it runs already is a matter of luck
	return edge.Answer(w, http.StatusOK, JSON(rn))
}

func (s *Service) createBatch(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var bodies []Body
	if err := edge.Decode(w, r, &bodies); err != nil {
		return err
	}
	if len(bodies) == 0 || len(bodies) > 100 {
		return run.Invalidf("body", "must be a list of 1 to 100 runs")
	}
	for i := range bodies { // all are checked before the first is created
		if _, _, err := s.draft(r, who, &bodies[i], ""); err != nil {
			var invalid *run.InvalidError
			if errors.As(err, &invalid) {
				return run.Invalidf(strconv.Itoa(i)+"."+invalid.Field, "%s", invalid.Reason)
			}
			return err
		}
	}
	out := jsonvalue.List{}
	for i := range bodies {
		rn, _, err := s.create(r, who, &bodies[i], false)
		if err != nil {
			return err
		}
		rn.Status = run.Pending
		out = append(out, JSON(rn))
	}
	return edge.Answer(w, http.StatusOK, out)
}

func (s *Service) listRuns(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	limit, offset, err := edge.QueryPage(r, 10)
	if err != nil {
		return err
	}
	statuses, err := statusesOf(r.URL.Query().Get("status"))
	if err != nil {
		return err
	}
	names := edge.QueryWords(r, "select")
	if err := edge.Selection(names, runMembers...); err != nil {
		return err
	}
	id, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	found, err := s.threadRuns(r.Context(), who, id, statuses, limit, offset)
	if err != nil {
		return threads.NotFound(err, id)
	}
	out := jsonvalue.List{}
	for _, rn := range found {
		out = append(out, JSON(rn).Pick(names))
	}
	return edge.Answer(w, http.StatusOK, out)
}

// threadRuns lists runs of any of the statuses, newest first.
func (s *Service) threadRuns(ctx context.Context, who run.Identity, thread string, statuses []run.Status, limit, offset int) ([]run.Run, error) {
	if len(statuses) == 1 {
		return s.opt.Store.ThreadRuns(ctx, who, thread, statuses[0], limit, offset)
	}
	var all []run.Run
	for _, st := range statuses {
		some, err := s.opt.Store.ThreadRuns(ctx, who, thread, st, limit+offset, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b run.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))], nil
}

// run finds the run that the path names. On a thread's path it must be that thread's.
func (s *Service) run(r *http.Request, who run.Identity) (run.Run, error) {
	id, err := edge.PathID(r, "run_id")
	if err != nil {
		return run.Run{}, err
	}
	thread := r.PathValue("thread_id")
	if thread != "" {
		if thread, err = edge.ParseThread("thread_id", thread); err != nil {
			return run.Run{}, err
		}
	}
	rn, err := s.opt.Store.Run(r.Context(), who, id)
	if err == nil && thread != "" && rn.Thread != thread {
		err = fmt.Errorf("run %q of thread %q: %w", id, thread, run.ErrNotFound)
	}
	return rn, runNotFound(err)
}

func (s *Service) getRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, JSON(rn))
}

func (s *Service) deleteRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	if err := s.opt.Removing(r.Context(), who, rn); err != nil {
		return err
	}
	if err := s.opt.Store.DeleteRun(r.Context(), who, rn.ID); err != nil {
		return runNotFound(err)
	}
	s.opt.Journal.Drop(rn.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
