package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/item"
)

var errInternal = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}

// call is the tool of an assistant.
func (l *listing) call(a run.Assistant) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		rn, err := l.start(ctx, a, req.Params.Arguments)
		if err != nil {
			return l.refusal(ctx, err)
		}
		f := &following{listing: l, run: rn, token: req.Params.GetProgressToken(), session: req.Session}
		return f.follow(ctx)
	}
}

// start starts the run that a call wants.
func (l *listing) start(ctx context.Context, a run.Assistant, args json.RawMessage) (run.Run, error) {
	var in input
	if err := json.Unmarshal(args, &in); err != nil {
		return run.Run{}, run.Invalidf("arguments", "%v", err)
	}
	given := 0
	for _, is := range []bool{in.Message != "", len(in.Answer) > 0, len(in.Input) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return run.Run{}, run.Invalidf("message", "give a message, or an answer or an input in its place")
	}
	if in.Thread != "" {
		var err error
		if in.Thread, err = edge.ParseThread("thread_id", in.Thread); err != nil {
			return run.Run{}, err
		}
	}
	o := run.Order{Thread: in.Thread, Request: run.Request{Assistant: a.ID, CreateThread: in.Thread == ""}}
	if len(in.Answer) > 0 {
		var err error
		if o, err = l.answer(ctx, in); err != nil {
			return run.Run{}, err
		}
	} else if in.Thread != "" {
		if _, err := l.opt.Store.Thread(ctx, l.who, in.Thread); err != nil {
			return run.Run{}, err
		}
	}
	d, err := l.opt.Engine.Prepare(ctx, l.who, o)
	if err != nil {
		return run.Run{}, err
	}
	keeps := false
	for _, f := range d.Graph.Fields() {
		keeps = keeps || f.Name == messagesField
	}
	switch {
	case in.Input != nil:
		d.Request.Input = in.Input
	case in.Message != "" && !keeps:
		return run.Run{}, run.Invalidf("message", "this assistant keeps no messages; give an input: an object of the fields of its graph")
	case in.Message != "":
		if d.Request.Input, err = json.Marshal(map[string][]item.Message{messagesField: {item.UserText("", in.Message)}}); err != nil {
			return run.Run{}, err
		}
	}
	return d.Start(ctx)
}

// messagesField is where a graph keeps its conversation.
const messagesField = "messages"

// answer is the order that answers the one question of a thread.
func (l *listing) answer(ctx context.Context, in input) (run.Order, error) {
	if in.Thread == "" {
		return run.Order{}, run.Invalidf("thread_id", "is required: an answer belongs to a conversation that asks")
	}
	open, err := l.opt.Engine.Asked(ctx, l.who, in.Thread)
	if err != nil {
		return run.Order{}, err
	}
	answers := map[string]json.RawMessage{}
	switch len(open) {
	case 0:
		return run.Order{}, run.Invalidf("answer", "the conversation asks nothing; give a message")
	case 1:
		answers[open[0].ID] = in.Answer
	default:
		ids := []string{}
		for _, q := range open {
			ids = append(ids, q.ID)
		}
		if json.Unmarshal(in.Answer, &answers) != nil || slices.ContainsFunc(ids, func(id string) bool { return answers[id] == nil }) {
			return run.Order{}, run.Invalidf("answer", "the conversation asks %d questions; give an object with an answer for each: %s", len(open), strings.Join(ids, ", "))
		}
	}
	latest, err := l.opt.Store.ThreadRuns(ctx, l.who, in.Thread, "", 1, 0)
	if err != nil {
		return run.Order{}, err
	}
	o := run.Order{Thread: in.Thread, Answers: answers}
	if len(latest) > 0 {
		o.From = &latest[0]
	}
	return o, nil
}

// refusal tells a model what was wrong with its call. What is our fault goes to the log.
func (l *listing) refusal(ctx context.Context, err error) (*sdk.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if status, _ := edge.StatusOf(err); status >= 500 {
		l.opt.Log.ErrorContext(ctx, "an MCP call failed", "err", err)
		return nil, errInternal
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
}

// following reads a run for the client that called it.
type following struct {
	*listing
	run     run.Run
	token   any // nil: the client wants no progress
	session *sdk.ServerSession

	fresh strings.Builder // text that was not told yet
	told  time.Time       // when some was
	count float64

	last  string          // the newest message
	text  strings.Builder // its text
	asked []question
	end   *event.RunEnded
}

func (f *following) follow(ctx context.Context) (*sdk.CallToolResult, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan struct{})
	defer close(over)
	go func() { // ends with this call
		select {
		case <-f.left:
		case <-f.opt.Closing:
		case <-over:
		}
		stop()
	}()
	for env, err := range f.opt.Journal.Follow(reading, f.run.ID, journal.Position{}) {
		if err != nil {
			return f.broken(ctx, err)
		}
		if env.Task == "" {
			f.take(ctx, env.Event)
		}
	}
	if f.end == nil {
		return f.broken(ctx, reading.Err())
	}
	f.flush(ctx)
	return f.result(), nil
}

// broken ends a call whose run could not be read to its end. The run is stopped if the client cancelled the call.
func (f *following) broken(ctx context.Context, err error) (*sdk.CallToolResult, error) {
	if ctx.Err() != nil {
		// The cancel must still arrive.
		_, stopped := f.opt.Engine.Cancel(context.WithoutCancel(ctx), f.who, f.run.ID, run.StopRun)
		if stopped != nil && !errors.Is(stopped, run.ErrNotFound) {
			f.opt.Log.ErrorContext(ctx, "cancel the run of an MCP call", "run", f.run.ID, "err", stopped)
		}
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		f.opt.Log.ErrorContext(ctx, "read the run of an MCP call", "run", f.run.ID, "err", err)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server can not follow the run any longer, which goes on; its thread_id is " + f.run.Thread}
}

// take notes what an event says of the root task.
func (f *following) take(ctx context.Context, e event.Event) {
	switch e := e.(type) {
	case event.ItemStarted:
		switch e.Type {
		case item.TypeMessage:
			f.last = e.Item
			f.text.Reset()
		case item.TypeToolCall:
			f.tell(ctx, "\n["+e.Name+"]\n")
		}
	case event.TextDelta:
		if e.Item == f.last {
			f.text.WriteString(e.Text)
			f.tell(ctx, e.Text)
		}
	case event.ItemEnded:
		if m, ok := e.Item.(item.Message); ok && m.ID == f.last {
			f.text.Reset()
			f.text.WriteString(m.Text())
		}
	case event.TurnVoided:
		if e.Turn == f.last {
			f.text.Reset()
		}
	case event.InterruptRaised:
		f.asked = append(f.asked, question{e.ID, e.Value, e.Options})
	case event.RunEnded:
		f.end = &e
	}
}

// pause lies between two notices of progress; what comes meanwhile is told together.
const pause = 40 * time.Millisecond

func (f *following) tell(ctx context.Context, text string) {
	f.fresh.WriteString(text)
	if time.Since(f.told) >= pause {
		f.flush(ctx)
	}
}

func (f *following) flush(ctx context.Context) {
	if f.token == nil || f.fresh.Len() == 0 {
		return
	}
	f.count++
	f.told = time.Now()
	text := f.fresh.String()
	f.fresh.Reset()
	// A client that has gone is noticed by the context, and misses nothing that the result does not say.
	_ = f.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: f.token, Progress: f.count, Message: text})
}

// result says how the run ended.
func (f *following) result() *sdk.CallToolResult {
	out := output{Thread: f.run.Thread, Run: f.run.ID, Status: string(f.end.Status), Text: f.text.String(), Question: f.asked}
	res := &sdk.CallToolResult{StructuredContent: out}
	say := func(format string, args ...any) {
		res.Content = append(res.Content, &sdk.TextContent{Text: fmt.Sprintf(format, args...)})
	}
	if out.Text != "" {
		say("%s", out.Text)
	}
	switch f.end.Status {
	case event.Success:
		say("(thread_id: %s)", out.Thread)
		return res
	case event.Interrupted:
		if len(f.asked) == 0 {
			say("The conversation stopped at a breakpoint. (thread_id: %s)", out.Thread)
			return res
		}
		for _, q := range f.asked {
			say("The assistant asks: %s", q.Value)
		}
		say("Call this tool again with the answer and thread_id: %s", out.Thread)
		return res
	case event.Failed, event.TimedOut:
		if f.end.Error != nil {
			say("The run failed: %s", f.end.Error.Message)
		}
	case event.Cancelled:
	}
	res.IsError = true
	say("The run was %s. (thread_id: %s)", f.end.Status, out.Thread)
	return res
}
