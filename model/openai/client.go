package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/request"
	"github.com/tributary-ai/tributary/model/openai/internal/answer"
)

// caller is what both wires share: making one call and reading its answer.
type caller struct {
	info        model.Info
	fault       eventstream.Fault
	first, idle time.Duration
	textOnly    bool
	maxEvent    int
}

func newCaller(o Options) caller {
	c := caller{info: o.info(), textOnly: o.TextOnly, maxEvent: o.Limits.WithDefaults().EventBytes}
	c.fault = eventstream.Fault{Provider: c.info.Provider, Secrets: o.secrets()}
	c.first, c.idle = o.timeouts()
	return c
}

// Describe says which model this is.
func (c caller) Describe() model.Info { return c.info }

// errStopped says that the reader of the parts has had enough.
var errStopped = errors.New("stopped")

// stream makes the call with post and yields what the decoder makes of the answer.
func (c caller) stream(ctx context.Context, post func(context.Context, ...option.RequestOption) error, dec answer.Decoder, yield func(model.Part, error) bool) {
	emit := func(p model.Part) bool { return yield(p, nil) }
	ctx, watch := eventstream.NewWatch(ctx, c.first, c.idle)
	defer watch.Stop()

	resp, err := c.open(ctx, post)
	if err != nil {
		yield(nil, err)
		return
	}
	defer resp.Body.Close()
	if err := c.read(ctx, resp, watch, dec, emit); err != nil && err != errStopped {
		yield(nil, err)
	}
}

// open makes the call and returns its answer if that is one.
func (c caller) open(ctx context.Context, post func(context.Context, ...option.RequestOption) error) (*http.Response, error) {
	var resp *http.Response
	err := post(ctx, option.WithResponseBodyInto(&resp))
	// The SDK says less about a status than the answer does, and nothing if its body is not JSON.
	if elsewhere := new(eventstream.RedirectError); resp != nil && resp.StatusCode >= http.StatusMultipleChoices && !errors.As(err, &elsewhere) {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		_ = resp.Body.Close()
		fault := c.fault.Status(resp.StatusCode, resp.Header, body)
		fault.Err = err
		return nil, fault
	}
	if err != nil {
		return nil, c.fault.Err(ctx, err)
	}
	if resp == nil || resp.Body == nil {
		return nil, c.fault.Broken("no answer came", nil)
	}
	return resp, nil
}

// maxErrorBody is as much of an error's body as is read.
const maxErrorBody = 1 << 20

// tell is the last thing that happens to a request before it goes out.
func tell(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	request.Tell(req)
	return next(req)
}

// read finds out how the answer is framed and reads it to its end.
func (c caller) read(ctx context.Context, resp *http.Response, watch *eventstream.Watch, dec answer.Decoder, emit func(model.Part) bool) error {
	body := bufio.NewReaderSize(watch.Body(resp.Body), 16<<10)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var next func() (string, []byte, error)
	switch {
	case kind == "application/x-ndjson":
		lines := eventstream.NewLines(body).Limit(c.maxEvent)
		next = func() (string, []byte, error) { data, err := lines.Next(); return "", data, err }
	case startsWithObject(body):
		return c.readWhole(ctx, body, dec, emit)
	default:
		events := eventstream.NewReader(body).Limit(c.maxEvent)
		next = func() (string, []byte, error) { e, err := events.Next(); return e.Name, e.Data, err }
	}
	stopped := false
	emitOrStop := func(p model.Part) bool {
		if !stopped && !emit(p) {
			stopped = true
		}
		return !stopped
	}
	for {
		name, data, err := next()
		if err != nil {
			cause := err
			if err == io.EOF {
				cause = nil
			} else if cause = c.fault.Err(ctx, err); ctxOver(cause) {
				return cause
			}
			if err := dec.End(cause, emitOrStop); err != nil {
				return err
			}
			return nil
		}
		watch.Event()
		done, err := dec.Event(name, data, emitOrStop)
		if stopped {
			return errStopped
		}
		if err != nil || done {
			return err
		}
	}
}

// ctxOver reports that the caller cancelled: then there is no answer, complete or not.
func ctxOver(err error) bool {
	var fault *model.Error
	return !errors.As(err, &fault)
}

// startsWithObject reports that the body is one JSON object, as it is where a server does not stream, or
// reports an error with a status of 200.
func startsWithObject(body *bufio.Reader) bool {
	for {
		b, err := body.ReadByte()
		if err != nil {
			return false // whoever reads on gets the same error
		}
		switch b {
		case '\n', '\r', ' ', '\t', 0xEF, 0xBB, 0xBF: // the last three are a byte-order mark
			continue
		}
		_ = body.UnreadByte()
		return b == '{'
	}
}

func (c caller) readWhole(ctx context.Context, body io.Reader, dec answer.Decoder, emit func(model.Part) bool) error {
	if c.maxEvent >= 0 {
		body = io.LimitReader(body, int64(c.maxEvent)+1)
	}
	data, err := io.ReadAll(body)
	if err == nil && c.maxEvent >= 0 && len(data) > c.maxEvent {
		err = &model.LimitError{Setting: "event_bytes", Limit: c.maxEvent}
	}
	if err != nil {
		return c.fault.Err(ctx, err)
	}
	if lines := objects(data); len(lines) > 1 { // as lines, whatever the header says
		for _, line := range lines {
			if done, err := dec.Event("", line, emit); done || err != nil {
				return err
			}
		}
		return dec.End(nil, emit)
	}
	return dec.Whole(data, emit)
}

// objects returns the lines of a body, if each is a JSON object.
func objects(data []byte) [][]byte {
	var lines [][]byte
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' || !json.Valid(line) {
			return nil
		}
		lines = append(lines, line)
	}
	return lines
}

// extraFields are the fields of an Extra as the SDK merges them: null leaves a field out.
func extraFields(extra map[string]json.RawMessage) map[string]any {
	fields := make(map[string]any, len(extra)+1)
	for k, v := range extra {
		if v = bytes.TrimSpace(v); len(v) == 0 || string(v) == "null" {
			fields[k] = param.Omit
		} else {
			fields[k] = v
		}
	}
	fields["stream"] = true
	return fields
}
