package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// waitBeat is how often a request that waits for a run shows that it lives, with a newline before the JSON.
const waitBeat = time.Second

func (s *Service) createWait(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	rn, words, err := s.accept(w, r, who, true)
	if err != nil {
		return err
	}
	return s.await(w, r, who, rn, words.OnDisconnect == "cancel")
}

func (s *Service) joinWait(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	cancel, err := edge.QueryBool(r, "cancel_on_disconnect")
	if err != nil {
		return err
	}
	rn, err := s.run(r, who)
	if err != nil {
		return err
	}
	return s.await(w, r, who, rn, cancel)
}

// await answers with what a run left behind, when it has ended.
func (s *Service) await(w http.ResponseWriter, r *http.Request, who run.Identity, rn run.Run, cancel bool) error {
	locate(w, rn)
	w.Header().Set("Content-Type", "application/json")
	o := &outcomeReader{s: s, rn: rn, cursor: s.opt.Journal.Cursor(rn.ID, journal.Position{})}
	defer o.cursor.Close()
	how, err := s.waitFor(r, http.NewResponseController(w), w, o)
	switch {
	case how == stream.ReaderLeft && cancel:
		s.abandon(r, who, rn.ID)
		return nil
	case how != stream.RunEnded:
		return nil
	case err != nil:
		return err
	}
	body, err := o.result(r.Context())
	if err != nil {
		return err
	}
	_, _ = w.Write(body) // a client that has gone needs no answer
	return nil
}

// waitFor reads the run to its end, with newlines to keep the connection awake.
func (s *Service) waitFor(r *http.Request, rc *http.ResponseController, w io.Writer, o *outcomeReader) (stream.Ending, error) {
	beat := time.NewTicker(waitBeat)
	defer beat.Stop()
	ctx := r.Context()
	for {
		bell, err := o.poll(ctx)
		switch {
		case err == io.EOF:
			return stream.RunEnded, nil
		case ctx.Err() != nil:
			return stream.ReaderLeft, nil
		case err != nil:
			return stream.RunEnded, err
		}
	again:
		select {
		case <-bell:
		case <-beat.C:
			if _, err := w.Write([]byte("\n")); err != nil || rc.Flush() != nil && ctx.Err() != nil {
				return stream.ReaderLeft, nil
			}
			if !o.look() {
				goto again
			}
		case <-ctx.Done():
			return stream.ReaderLeft, nil
		case <-s.opt.Terms.Closing:
			return stream.ServerEnds, nil
		}
	}
}

// outcomeReader follows a run for its end alone.
type outcomeReader struct {
	s          *Service
	rn         run.Run
	cursor     *journal.Cursor
	looks      int
	checkpoint string
	end        event.RunEnded
	gone       bool
}

func (o *outcomeReader) poll(ctx context.Context) (<-chan struct{}, error) {
	for {
		events, bell, err := o.cursor.Poll(ctx)
		if feed.Gone(err) {
			o.gone = true
			return nil, io.EOF
		}
		if err != nil || bell != nil {
			return bell, err
		}
		for i := range events {
			switch e := events[i].Event.(type) { // where the graph stands and how the run ended; the rest is no part of the answer
			case event.CheckpointSaved:
				if events[i].NS == "" {
					o.checkpoint = e.ID
				}
			case event.RunEnded:
				o.end = e
			}
		}
	}
}

// look makes the cursor ask the store now and then, and reports whether it will.
func (o *outcomeReader) look() bool {
	if o.looks++; o.looks%2 == 0 {
		o.cursor.Look()
		return true
	}
	return false
}

// result is the body: the last values, the questions that are open, or the error.
func (o *outcomeReader) result(ctx context.Context) ([]byte, error) {
	failed := func(name, message string) ([]byte, error) {
		return json.Marshal(jsonvalue.Object{{"__error__", jsonvalue.Object{{"error", name}, {"message", message}}}})
	}
	if o.gone {
		return failed("UserRollback", "the run was rolled back")
	}
	switch o.end.Status {
	case event.Failed, event.TimedOut:
		if e := o.end.Error; e != nil {
			name := e.Name
			if name == "" {
				name = "Error"
			}
			return failed(name, e.Message)
		}
		return failed("Error", o.end.Reason)
	case event.Cancelled:
		if o.end.Reason == string(run.RollbackRun) {
			return failed("UserRollback", "the run was rolled back")
		}
	case event.Success, event.Interrupted:
	}
	values, snap, err := o.s.opt.States.Final(ctx, o.rn, o.checkpoint)
	if err != nil {
		return nil, err
	}
	if o.end.Status == event.Interrupted && snap != nil {
		return asking(values, state.Questions(snap))
	}
	return values, nil
}

// asking is the values with the questions that are open beside them.
func asking(values json.RawMessage, questions jsonvalue.List) ([]byte, error) {
	asked, err := json.Marshal(questions)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(bytes.TrimSpace(values), []byte("}"))
	if len(body) == 0 || body[0] != '{' {
		body = []byte("{")
	}
	body = slices.Clip(body) // the values are not ours to write into
	if len(body) > 1 {
		body = append(body, ',')
	}
	return append(append(append(body, `"__interrupt__":`...), asked...), '}'), nil
}
