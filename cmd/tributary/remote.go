package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// addressFile is where a server writes, in its data folder, at which URL it can be reached: whoever finds the folder taken
// can ask the one who has it.
const addressFile = "address"

// remote asks the server that has the data folder open, over the task protocol.
type remote struct {
	url string
	key string
}

// running finds the server of a data folder; ok is false if none has said where it is.
func running(dir string) (r remote, ok bool) {
	address, err := os.ReadFile(filepath.Join(dir, addressFile))
	return remote{strings.TrimSpace(string(address)), os.Getenv("TRIBUTARY_API_KEY")}, err == nil && len(address) > 0
}

func (r remote) find(ctx context.Context, thread string) error {
	res, err := r.do(ctx, "GET", "/threads/"+url.PathEscape(thread), nil)
	if errors.As(err, new(*refusal)) {
		return noThread(thread)
	}
	if err != nil {
		return fmt.Errorf("the server at %s: %w", r.url, err)
	}
	return res.Body.Close()
}

func (r remote) ask(ctx context.Context, p *printer, q question) error {
	body, err := json.Marshal(map[string]any{"input": q.text, "stream": true, "thread_id": q.thread, "configurable": q.configurable()})
	if err != nil {
		return err
	}
	s := &taskStream{p: p}
	res, err := r.do(ctx, "POST", "/tasks", body)
	for tries := 0; ; tries++ {
		if err == nil {
			tries = 0
			p.thread = res.Header.Get("X-Thread-Id")
			err = s.read(res.Body)
			_ = res.Body.Close()
		}
		var refused *refusal
		switch {
		case s.ended || errors.As(err, &refused):
			return s.end(err)
		case ctx.Err() != nil:
			r.cancel(ctx, s.task)
			return s.end(errStopped)
		case s.task == "" || tries == 20:
			return fmt.Errorf("the server at %s: %w", r.url, err)
		}
		// The stream broke; the task did not. It is read on from the last frame, when the server is back.
		select {
		case <-time.After(min(time.Duration(tries)*100*time.Millisecond, 2*time.Second)):
		case <-ctx.Done():
			continue
		}
		res, err = r.do(ctx, "GET", "/tasks/"+s.task+"/events?after="+strconv.FormatUint(s.last, 10), nil)
	}
}

// order has a team do something.
func (r remote) order(ctx context.Context, run string, command map[string]any) error {
	body, err := json.Marshal(command)
	if err != nil {
		return err
	}
	res, err := r.do(ctx, "POST", "/teams/"+run+"/commands", body)
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

// cancel stops a task whose asker leaves.
func (r remote) cancel(ctx context.Context, task string) {
	if task == "" {
		return
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer end()
	if res, err := r.do(ctx, "POST", "/tasks/"+task+"/cancel", nil); err == nil {
		_ = res.Body.Close()
	}
}

// refusal is an answer that will be the same next time.
type refusal struct{ detail string }

func (r *refusal) Error() string { return r.detail }

func (r remote) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		req.Header.Set("X-Api-Key", r.key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	defer res.Body.Close()
	var problem struct{ Detail string }
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		problem.Detail = res.Status
	}
	if res.StatusCode >= 500 {
		return nil, errors.New(problem.Detail)
	}
	return nil, &refusal{problem.Detail}
}

// taskStream shows the frames of a task.
type taskStream struct {
	p     *printer
	task  string
	last  uint64
	ended bool
	usage taskUsage
	err   error
}

type taskUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// taskFrame is what a person who waits for an answer wants of a frame.
type taskFrame struct {
	Type    string    `json:"type"`
	Task    string    `json:"task_id"`
	Number  uint64    `json:"sequence_number"`
	ItemID  string    `json:"item_id"`
	Delta   string    `json:"delta"`
	Cause   string    `json:"cause"`
	Message string    `json:"message"`
	Usage   taskUsage `json:"usage"`
	Error   *struct{ Message string }
	Item    struct {
		Type      string
		Name      string
		Arguments string
		BlockList []struct {
			ID   int
			Name string
		} `json:"block_list"`
		Annotations []struct {
			Reference int `json:"reference_id"`
			Title     string
			URL       string
		}
	}
}

// read shows frames until the stream ends. Frames are small: the largest repeats what one tool said.
func (s *taskStream) read(body io.Reader) error {
	in := bufio.NewReader(body)
	for !s.ended {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var f taskFrame
		if err := json.Unmarshal(data, &f); err != nil {
			return &refusal{"the server sent a frame that cannot be read: " + err.Error()}
		}
		s.show(&f)
	}
	return nil
}

func (s *taskStream) show(f *taskFrame) {
	s.last = f.Number
	if s.task == "" {
		s.task = f.Task
	}
	switch f.Type {
	case "task.text.delta", "task.reasoning_summary_text.delta":
		s.p.text(f.ItemID, f.Delta)
	case "task.text.done":
		for _, a := range f.Item.Annotations {
			s.p.cite(a.Reference, a.Title, a.URL)
		}
	case "task.output_item.done":
		if f.Item.Type == "tool_call" {
			s.p.call(f.Item.Name, f.Item.Arguments)
		}
		for _, b := range f.Item.BlockList {
			s.p.found(b.ID, b.Name)
		}
	case "task.output_item.reset":
		s.p.void(f.Cause)
	case "task.warning":
		s.p.warn(f.Message)
	case "task.completed", "task.failed", "task.canceled", "task.expired", "task.input_required":
		if f.Task != s.task {
			return
		}
		s.ended, s.usage = true, f.Usage
		switch {
		case f.Error != nil:
			s.err = errors.New(f.Error.Message)
		case f.Type == "task.canceled":
			s.err = errStopped
		}
	}
}

func (s *taskStream) end(err error) error {
	if err == nil {
		err = s.err
	}
	if err != nil {
		s.p.failed(err)
		return err
	}
	s.p.summary(s.usage.Input, s.usage.Output)
	return nil
}
