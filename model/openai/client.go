package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/endpoint"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/request"
	"github.com/tributary-ai/tributary/model/openai/internal/answer"
)

// The paths of the two wires.
const (
	chatPath      = "chat/completions"
	responsesPath = "responses"
)

// caller is what both wires share: making one call and reading its answer.
type caller struct {
	info        model.Info
	at          endpoint.Endpoint
	fault       eventstream.Fault
	first, idle time.Duration
	textOnly    bool
	maxEvent    int
	opts        Options
}

func newCaller(o Options, path string) caller {
	c := caller{info: o.info(), at: o.endpoint(path), textOnly: o.TextOnly, maxEvent: o.Limits.WithDefaults().EventBytes, opts: o.withoutSecrets()}
	c.fault = c.at.Fault
	c.first, c.idle = o.timeouts()
	return c
}

// Describe says which model this is.
func (c caller) Describe() model.Info { return c.info }

// errStopped says that the reader of the parts has had enough.
var errStopped = errors.New("stopped")

// stream sends a request and yields what the decoder makes of the answer.
func (c caller) stream(ctx context.Context, body any, req model.Request, dec answer.Decoder, yield func(model.Part, error) bool) {
	emit := func(p model.Part) bool { return yield(p, nil) }
	ctx, watch := eventstream.NewWatch(ctx, c.first, c.idle)
	defer watch.Stop()

	raw, err := c.write(body, req)
	if err != nil {
		yield(nil, err)
		return
	}
	resp, fault, err := c.at.Post(ctx, raw, req.Sent)
	if err != nil {
		yield(nil, err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	c.fault = fault
	if err := c.read(ctx, resp, watch, dec, emit); err != nil && err != errStopped {
		yield(nil, err)
	}
}

// write is the request object as it goes out, with what the options and the request want added.
func (c caller) write(body any, req model.Request) ([]byte, error) {
	if c.opts.AzureVersion != "" && !endpoint.Private(c.at.URL) {
		return nil, c.fault.BadRequest("Azure is not asked over http, where anybody on the way could read the key; make the base URL https")
	}
	extra := c.opts.extra(req)
	if _, said := extra["stream"]; said { // answers are read as streams
		extra = maps.Clone(extra)
		delete(extra, "stream")
	}
	raw, err := request.JSON(body)
	if err == nil {
		raw, err = request.Patch(raw, extra)
	}
	if err != nil {
		return nil, c.fault.BadRequest(err.Error())
	}
	return raw, nil
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
