package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/tributary-ai/tributary/internal/run"
)

var runMembers = []string{"run_id", "thread_id", "assistant_id", "metadata", "status", "kwargs", "multitask_strategy", "created_at", "updated_at"}

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
	_, err := oneOf("status", word, "pending", "running", "error", "success", "timeout", "interrupted")
	return []run.Status{run.Status(word)}, err
}

func runJSON(r run.Run) object {
	w := wordsOf(r)
	ids := object{{"run_id", r.ID}, {"thread_id", r.Thread}, {"graph_id", r.Request.Graph}, {"assistant_id", r.Assistant}}
	metadata := combine(object{{"graph_id", r.Request.Graph}, {"assistant_id", r.Assistant}}, r.Request.Metadata)
	config := fields(r.Request.Config)
	configObject := object{{"configurable", combine(ids, config["configurable"])}}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if name != "configurable" && name != "metadata" {
			configObject = append(configObject, member{name, config[name]})
		}
	}
	configObject = append(configObject, member{"metadata", metadata})
	modes := w.StreamMode
	if len(modes) == 0 {
		modes = []string{"values"}
	}
	var kwargs object
	if len(r.Request.Command) > 0 {
		kwargs = append(kwargs, member{"command", r.Request.Command})
	} else {
		kwargs = append(kwargs, member{"input", orNull(r.Request.Input)})
	}
	kwargs = append(kwargs, object{
		{"config", configObject}, {"context", orEmpty(r.Request.Context)}, {"stream_mode", modes},
		{"temporary", r.Request.Temporary}, {"subgraphs", w.StreamSubgraphs}, {"resumable", w.StreamResumable},
	}...)
	for name, nodes := range map[string][]string{"interrupt_before": r.Request.InterruptBefore, "interrupt_after": r.Request.InterruptAfter} {
		if len(nodes) > 0 {
			kwargs = append(kwargs, member{name, nodes})
		}
	}
	if r.Request.Webhook != "" {
		kwargs = append(kwargs, member{"webhook", r.Request.Webhook})
	}
	strategy := r.Request.Multitask
	if strategy == "" {
		strategy = run.Enqueue
	}
	return object{
		{"run_id", r.ID}, {"thread_id", r.Thread}, {"assistant_id", r.Assistant}, {"metadata", metadata}, {"status", statusWord(r.Status)},
		{"kwargs", kwargs}, {"multitask_strategy", strategy}, {"created_at", stamp(r.CreatedAt)}, {"updated_at", stamp(r.UpdatedAt)},
	}
}

// combine adds the members of an object, in the order of their names, to those that are known.
func combine(known object, raw json.RawMessage) object {
	out := slices.Clone(known)
	m := fields(raw)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.ContainsFunc(known, func(k member) bool { return k.name == name }) {
			out = append(out, member{name, m[name]})
		}
	}
	return out
}

// create makes a run as a request says: on the thread that the path names, or on one of its own.
func (s *Server) create(r *http.Request, who run.Identity, b *runBody, streamed bool) (run.Run, wireWords, error) {
	thread, stateless := r.PathValue("thread_id"), r.PathValue("thread_id") == ""
	if stateless {
		return s.createOn(r, who, b, newID(), true, streamed)
	}
	thread, err := parseID("thread_id", thread)
	if err != nil {
		return run.Run{}, wireWords{}, err
	}
	return s.createOn(r, who, b, thread, false, streamed)
}

func (s *Server) createOn(r *http.Request, who run.Identity, b *runBody, thread string, stateless, streamed bool) (run.Run, wireWords, error) {
	req, words, err := s.request(r, who, b, thread)
	if err != nil {
		return run.Run{}, words, err
	}
	if stateless {
		req.CreateThread, req.Temporary = true, b.OnCompletion != "keep"
	}
	words.Streamed, words.Stateless = streamed, stateless
	if req.Wire, err = json.Marshal(words); err != nil {
		return run.Run{}, words, err
	}
	rn, err := s.opt.Engine.Start(r.Context(), who, thread, req)
	s.bells.ring(thread)
	if errors.Is(err, run.ErrBusy) {
		return rn, words, &statusError{http.StatusUnprocessableEntity, "multitask_strategy",
			"Thread is already running a task. Wait for it to finish or choose a different multitask strategy."}
	}
	return rn, words, noThread(err, thread)
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

func (s *Server) createRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var body runBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	rn, _, err := s.create(r, who, &body, false)
	if err != nil {
		return err
	}
	locate(w, rn)
	rn.Status = run.Pending // it was accepted; whether it runs already is a matter of luck
	s.answer(w, http.StatusOK, runJSON(rn))
	return nil
}

func (s *Server) createBatch(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var bodies []runBody
	if err := decode(w, r, &bodies); err != nil {
		return err
	}
	if len(bodies) == 0 || len(bodies) > 100 {
		return run.Invalidf("body", "must be a list of 1 to 100 runs")
	}
	for i := range bodies { // all are checked before the first is created
		if _, _, err := s.request(r, who, &bodies[i], ""); err != nil {
			var invalid *run.InvalidError
			if errors.As(err, &invalid) {
				return run.Invalidf(strconv.Itoa(i)+"."+invalid.Field, "%s", invalid.Reason)
			}
			return err
		}
	}
	out := list{}
	for i := range bodies {
		rn, _, err := s.create(r, who, &bodies[i], false)
		if err != nil {
			return err
		}
		rn.Status = run.Pending
		out = append(out, runJSON(rn))
	}
	s.answer(w, http.StatusOK, out)
	return nil
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	limit, offset, err := queryPage(r, 10)
	if err != nil {
		return err
	}
	statuses, err := statusesOf(r.URL.Query().Get("status"))
	if err != nil {
		return err
	}
	names := r.URL.Query()["select"]
	if err := selection(names, runMembers...); err != nil {
		return err
	}
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	found, err := s.threadRuns(r.Context(), who, id, statuses, limit, offset)
	if err != nil {
		return noThread(err, id)
	}
	out := list{}
	for _, rn := range found {
		out = append(out, runJSON(rn).pick(names))
	}
	s.answer(w, http.StatusOK, out)
	return nil
}

// threadRuns lists runs of any of the statuses, newest first.
func (s *Server) threadRuns(ctx context.Context, who run.Identity, thread string, statuses []run.Status, limit, offset int) ([]run.Run, error) {
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
func (s *Server) run(r *http.Request, who run.Identity) (run.Run, error) {
	id, err := pathID(r, "run_id")
	if err != nil {
		return run.Run{}, err
	}
	thread := r.PathValue("thread_id")
	if thread != "" {
		if thread, err = parseID("thread_id", thread); err != nil {
			return run.Run{}, err
		}
	}
	rn, err := s.opt.Store.Run(r.Context(), who, id)
	if err == nil && thread != "" && rn.Thread != thread {
		err = fmt.Errorf("run %q of thread %q: %w", id, thread, run.ErrNotFound)
	}
	return rn, noRun(err)
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, runJSON(rn))
	return nil
}

func (s *Server) deleteRun(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	// Who follows the thread has seen its numbers, which nothing else must get.
	n, err := s.counts.of(r.Context(), s, who, rn)
	if err != nil && !isGone(err) {
		return err
	}
	if err := s.opt.Store.DeleteRun(r.Context(), who, rn.ID); err != nil {
		return noRun(err)
	}
	s.gaps.add(rn.Thread, rn.StartedAt, n)
	s.opt.Journal.Drop(rn.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
