package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// desk is where a research is done: in this process, or in the server that has the data folder open.
type desk interface {
	start(ctx context.Context, q inquiry) (run string, err error)
	// answer answers a question of a run, with a run that goes on.
	answer(ctx context.Context, run, interrupt string, value any) (next string, err error)
	follow(ctx context.Context, run string) iter.Seq2[event.Envelope, error]
	cancel(ctx context.Context, run string) error
	// file reads a file of a run's thread, by the name that models know.
	file(ctx context.Context, run, name string) ([]byte, error)
	// speak says something to the experts of a team, and dismiss stops one of them.
	speak(ctx context.Context, run string, w tributary.Words) error
	dismiss(ctx context.Context, run, phase, expert string) error
	// goesOn reports that runs are worked on when this process has ended.
	goesOn() bool
	// close hands over what still runs.
	close() error
}

// inquiry is what is to be done at a desk.
type inquiry struct {
	graph    string
	question string
	thread   string // empty: a new one
	settings map[string]any
	memo     errand
}

func openDesk(e *env, docs []string) (desk, error) {
	config := e.config
	if len(docs) > 0 {
		config.Docs = docs
	}
	rt, err := e.open(config, nil)
	r, ok := running(e.config.Data)
	switch {
	case err == nil:
		return &ownDesk{e, rt}, nil
	case !ok || !errors.Is(err, sqlite.ErrLocked):
		return nil, err
	case len(docs) > 0:
		return nil, fmt.Errorf("the server at %s has the data folder open and searches its own documents; stop it, or give another folder with --data", r.url)
	}
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return &serverDesk{r, db, journal.Open(db, journal.Options{Poll: 100 * time.Millisecond})}, nil
}

// ownDesk works in this process.
type ownDesk struct {
	env *env
	rt  *runtime
}

func (d *ownDesk) start(ctx context.Context, q inquiry) (string, error) {
	configurable, err := json.Marshal(q.settings)
	if err != nil {
		return "", err
	}
	metadata, err := json.Marshal(q.memo)
	if err != nil {
		return "", err
	}
	rn, err := d.rt.Start(ctx, tributary.Request{Assistant: q.graph, Thread: q.thread, Text: q.question, Configurable: configurable, Metadata: metadata})
	return rn.ID, err
}

func (d *ownDesk) speak(ctx context.Context, id string, w tributary.Words) error {
	return d.rt.Speak(ctx, "", id, w)
}

func (d *ownDesk) dismiss(ctx context.Context, id, phase, expert string) error {
	_, err := d.rt.CancelTask(ctx, "", id, phase+"."+expert)
	return err
}

func (d *ownDesk) answer(ctx context.Context, id, interrupt string, value any) (string, error) {
	asked, err := d.rt.Run(ctx, "", id)
	if err != nil {
		return "", err
	}
	next, err := d.rt.Start(ctx, tributary.Request{Thread: asked.Thread, Metadata: asked.Metadata, Answers: []tributary.Answer{{Interrupt: interrupt, Value: value}}})
	return next.ID, err
}

func (d *ownDesk) follow(ctx context.Context, id string) iter.Seq2[event.Envelope, error] {
	return d.rt.Follow(ctx, "", id, tributary.Position{})
}

func (d *ownDesk) cancel(ctx context.Context, id string) error {
	if _, err := d.rt.Cancel(ctx, "", id); err != nil {
		return err
	}
	_, err := d.rt.Wait(ctx, "", id)
	return err
}

func (d *ownDesk) goesOn() bool { return false }

// close does not wait for a run that was left: it goes on in the next process.
func (d *ownDesk) close() error {
	now, cancel := context.WithCancel(context.WithoutCancel(d.env.ctx))
	cancel()
	return d.rt.Close(now)
}

// serverDesk asks the server to work, and reads the journal in the folder that both see.
type serverDesk struct {
	remote
	db      *sqlite.DB
	journal *journal.Journal
}

func (d *serverDesk) start(ctx context.Context, q inquiry) (string, error) {
	body := map[string]any{"input": q.question, "assistant": q.graph, "configurable": q.settings, "metadata": q.memo, "stream": true}
	if q.thread != "" {
		body["thread_id"] = q.thread
	}
	return d.begin(ctx, "/tasks", body)
}

func (d *serverDesk) speak(ctx context.Context, id string, w tributary.Words) error {
	return d.order(ctx, id, map[string]any{"type": "speak", "expert": w.To, "text": w.Text, "message_id": w.ID})
}

func (d *serverDesk) dismiss(ctx context.Context, id, phase, expert string) error {
	return d.order(ctx, id, map[string]any{"type": "cancel_expert", "expert": expert, "phase": phase})
}

func (d *serverDesk) answer(ctx context.Context, id, interrupt string, value any) (string, error) {
	return d.begin(ctx, "/tasks/"+id+"/input", map[string]any{"interrupt_id": interrupt, "value": value, "stream": true})
}

// begin posts, and leaves when the first frame has told the task's id.
func (d *serverDesk) begin(ctx context.Context, path string, body any) (string, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := d.do(ctx, "POST", path, raw)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	for in := bufio.NewReader(res.Body); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("the server at %s: %w", d.url, err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var f taskFrame
		if err := json.Unmarshal(data, &f); err != nil {
			return "", fmt.Errorf("the server sent a frame that cannot be read: %w", err)
		}
		return f.Task, nil
	}
}

func (d *serverDesk) follow(ctx context.Context, id string) iter.Seq2[event.Envelope, error] {
	return d.journal.Follow(ctx, id, journal.Position{})
}

func (d *serverDesk) cancel(ctx context.Context, id string) error {
	res, err := d.do(ctx, "POST", "/tasks/"+id+"/cancel", nil)
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

func (d *serverDesk) goesOn() bool { return true }

func (d *serverDesk) close() error {
	d.journal.Close()
	return d.db.Close()
}

// findResearch finds a run, or the newest research, and the newest run of its thread, which is the one to come back to.
func findResearch(e *env, id string) (string, errand, error) {
	var memo errand
	db, err := sqlite.Open(e.ctx, e.config.Data, sqlite.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return "", memo, fmt.Errorf("%s: %w", e.config.Data, errNoRuns)
	}
	if err != nil {
		return "", memo, err
	}
	defer db.Close()
	who := run.Identity{Owner: tributary.DefaultOwner}
	if id == "" {
		runs, _, err := db.SearchRuns(e.ctx, who, run.RunQuery{Limit: 100})
		if err != nil {
			return "", memo, err
		}
		for _, r := range runs {
			if r.Request.Graph == tributary.ResearchGraph || r.Request.Graph == tributary.ResearchAlias {
				id = r.ID
				break
			}
		}
		if id == "" {
			return "", memo, fmt.Errorf("%s: there is no research yet; begin one with tributary research", e.config.Data)
		}
	}
	found, err := db.Run(e.ctx, who, id)
	if errors.Is(err, run.ErrNotFound) {
		return "", memo, fmt.Errorf("there is no run %q in %s", id, e.config.Data)
	}
	if err != nil {
		return "", memo, err
	}
	_ = json.Unmarshal(found.Request.Metadata, &memo) // somebody else's metadata says nothing to us
	newest, err := db.ThreadRuns(e.ctx, who, found.Thread, "", 1, 0)
	if err != nil {
		return "", memo, err
	}
	if len(newest) > 0 {
		id = newest[0].ID
	}
	return id, memo, nil
}
