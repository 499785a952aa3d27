package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/server/langgraph/threads"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

// Body is a request for a run.
type Body struct {
	AssistantID       string          `json:"assistant_id" required:"true" doc:"an assistant's id, or a graph's name"`
	Input             json.RawMessage `json:"input" doc:"the graph's fields; null goes on where the thread stands"`
	Command           json.RawMessage `json:"command" type:"object" doc:"resume, update and goto"`
	Checkpoint        *state.Ref      `json:"checkpoint" doc:"where to start from"`
	CheckpointID      string          `json:"checkpoint_id" format:"uuid" doc:"short for checkpoint"`
	Config            json.RawMessage `json:"config" type:"object" doc:"configurable, tags and recursion_limit"`
	Context           json.RawMessage `json:"context" type:"object"`
	Metadata          json.RawMessage `json:"metadata" type:"object"`
	Webhook           string          `json:"webhook" format:"uri" doc:"told of the end of the run"`
	InterruptBefore   edge.Words      `json:"interrupt_before" doc:"nodes to stop before; * for all"`
	InterruptAfter    edge.Words      `json:"interrupt_after" doc:"nodes to stop after; * for all"`
	StreamMode        edge.Words      `json:"stream_mode" enum:"values,updates,messages-tuple,messages,custom,events,debug,tasks,checkpoints,tools"`
	StreamSubgraphs   bool            `json:"stream_subgraphs"`
	StreamResumable   bool            `json:"stream_resumable" doc:"every stream is"`
	OnDisconnect      string          `json:"on_disconnect" enum:"continue,cancel"`
	MultitaskStrategy string          `json:"multitask_strategy" enum:"enqueue,reject,interrupt,rollback" doc:"what to do while another run is on the thread"`
	IfNotExists       string          `json:"if_not_exists" enum:"reject,create" doc:"the thread"`
	OnCompletion      string          `json:"on_completion" enum:"delete,keep" doc:"what becomes of the thread of a run without one"`
	AfterSeconds      float64         `json:"after_seconds" doc:"when to begin"`
	FeedbackKeys      []string        `json:"feedback_keys"`
	CheckpointDuring  *bool           `json:"checkpoint_during" doc:"false is durability exit"`
	Durability        string          `json:"durability" enum:"async,sync,exit"`

	// Answers are to open questions, by their ids; other protocols than HTTP's give them.
	Answers map[string]json.RawMessage `json:"-"`
}

// SchemaName is what it is called in the description of the API.
func (Body) SchemaName() string { return "RunRequest" }

// wireWords is what LangGraph's API wants to find again of a request; see run.Request.Wire.
type wireWords struct {
	StreamMode      []string `json:"stream_mode,omitempty"`
	StreamSubgraphs bool     `json:"stream_subgraphs,omitempty"`
	StreamResumable bool     `json:"stream_resumable,omitempty"`
	OnDisconnect    string   `json:"on_disconnect,omitempty"`
	FeedbackKeys    []string `json:"feedback_keys,omitempty"`
	// Streamed says that the run was created with a reader. A join of one that was not wants to see it from
	// its beginning.
	Streamed bool `json:"streamed,omitempty"`
	// Stateless says that its thread is its own.
	Stateless bool `json:"stateless,omitempty"`
}

func wordsOf(r run.Run) wireWords {
	var w wireWords
	_ = json.Unmarshal(r.Request.Wire, &w) // a run of another dialect has none of these
	return w
}

const maxDelay = 366 * 24 * time.Hour

// draft checks a body whole and turns it into a run that can be started. Nothing is stored.
func (s *Service) draft(r *http.Request, who run.Identity, b *Body, thread string) (*run.Draft, wireWords, error) {
	req, words, err := s.request(b)
	if err != nil {
		return nil, words, err
	}
	if req.Config, err = withHeaders(req.Config, r.Header); err != nil {
		return nil, words, err
	}
	d, err := s.prepare(r, who, b, run.Order{Request: req, Thread: thread, Answers: b.Answers})
	return d, words, err
}

// prepare completes an order with its assistant's settings; what is missing is told in LangGraph's words.
func (s *Service) prepare(r *http.Request, who run.Identity, b *Body, o run.Order) (*run.Draft, error) {
	d, err := s.opt.Engine.Prepare(r.Context(), who, o)
	if err != nil {
		return nil, inOurWords(err)
	}
	if d.Request.Metadata, err = jsonvalue.Merge(d.Assistant.Metadata, b.Metadata); err != nil {
		return nil, err
	}
	if jsonvalue.IsNull(d.Request.Metadata) {
		d.Request.Metadata = nil
	}
	return d, nil
}

func inOurWords(err error) error {
	var gone *run.MissingError
	if !errors.As(err, &gone) {
		return err
	}
	switch gone.Field {
	case "assistant_id":
		return edge.NotFound(err, "No assistant found for %q. Make sure the assistant ID is for a valid assistant or a valid graph ID.", edge.Clip(gone.ID))
	case "graph":
		return edge.RefuseField(http.StatusNotFound, "assistant_id", fmt.Sprintf("assistant_id: its graph %q does not exist", edge.Clip(gone.ID)))
	case "checkpoint_id":
		return edge.RefuseField(http.StatusNotFound, "checkpoint_id", "Checkpoint "+gone.ID+" not found")
	}
	return threads.NotFound(err, gone.ID)
}

// request checks what can be checked of a body by itself, and turns it into the engine's words.
func (s *Service) request(b *Body) (run.Request, wireWords, error) {
	req := run.Request{Assistant: b.AssistantID, Input: b.Input, Command: b.Command, Config: b.Config, Context: b.Context, Webhook: b.Webhook}
	words := wireWords{
		StreamMode: b.StreamMode, StreamSubgraphs: b.StreamSubgraphs, StreamResumable: b.StreamResumable, FeedbackKeys: b.FeedbackKeys,
	}
	if b.AssistantID == "" {
		return req, words, run.Invalidf("assistant_id", "is required")
	}
	if _, err := langgraph.ParseModes(b.StreamMode); err != nil {
		return req, words, run.Invalidf("stream_mode", "%s", strings.TrimPrefix(err.Error(), "stream_mode "))
	}
	if err := b.checkWords(&req, &words); err != nil {
		return req, words, err
	}
	for _, err := range []error{
		CheckConfig(b.Config), edge.WantObject("context", b.Context), edge.WantMetadata("metadata", b.Metadata), edge.WantObject("command", b.Command),
		s.checkWebhook(b.Webhook),
	} {
		if err != nil {
			return req, words, err
		}
	}
	if jsonvalue.IsNull(req.Input) {
		req.Input = nil
	}
	if jsonvalue.IsNull(req.Command) {
		req.Command = nil
	}
	if req.Input != nil && req.Command != nil {
		// Clients send an empty input beside a command; the command is what they mean.
		req.Input = nil
	}
	if b.AfterSeconds < 0 || b.AfterSeconds > maxDelay.Seconds() {
		return req, words, run.Invalidf("after_seconds", "must be between 0 and a year")
	}
	req.Delay = time.Duration(b.AfterSeconds * float64(time.Second))
	var err error
	if req.Checkpoint, err = b.startFrom(); err != nil {
		return req, words, err
	}
	req.Wire, err = json.Marshal(words)
	return req, words, err
}

// checkWords reads the members that are one of a few words.
func (b *Body) checkWords(req *run.Request, words *wireWords) (err error) {
	strategy, err := edge.OneOf("multitask_strategy", b.MultitaskStrategy, string(run.Enqueue), string(run.Reject), string(run.Interrupt), string(run.Rollback))
	if err != nil {
		return err
	}
	req.Multitask = run.Strategy(strategy)
	if words.OnDisconnect, err = edge.OneOf("on_disconnect", b.OnDisconnect, "continue", "cancel"); err != nil {
		return err
	}
	missing, err := edge.OneOf("if_not_exists", b.IfNotExists, "reject", "create")
	if err != nil {
		return err
	}
	req.CreateThread = missing == "create"
	if _, err = edge.OneOf("on_completion", b.OnCompletion, "delete", "keep"); err != nil {
		return err
	}
	if req.Durability, err = edge.OneOf("durability", b.Durability, string(graph.Async), string(graph.Sync), string(graph.Exit)); err != nil {
		return err
	}
	if b.Durability == "" && b.CheckpointDuring != nil && !*b.CheckpointDuring {
		req.Durability = string(graph.Exit)
	}
	req.InterruptBefore, req.InterruptAfter = b.InterruptBefore, b.InterruptAfter
	return nil
}

// Plan checks what a run is to do as if it started now, and returns it without its assistant's settings.
func (s *Service) Plan(r *http.Request, who run.Identity, b *Body, thread string) (run.Request, error) {
	req, _, err := s.request(b)
	if err != nil {
		return req, err
	}
	now, err := s.prepare(r, who, b, run.Order{Request: req, Thread: thread})
	if err != nil {
		return req, err
	}
	req.Assistant = now.Request.Assistant // its id, also where a graph was named
	return req, nil
}

// startFrom is the checkpoint that a run is to start from; empty for the latest.
func (b *Body) startFrom() (string, error) {
	ref := state.Ref{ID: b.CheckpointID}
	if b.Checkpoint != nil {
		ref = *b.Checkpoint
	}
	if ref.ID == "" {
		// New clients fork through the configuration.
		var c struct {
			Configurable struct {
				ID string `json:"checkpoint_id"`
				NS string `json:"checkpoint_ns"`
			} `json:"configurable"`
		}
		if json.Unmarshal(b.Config, &c) == nil {
			ref.ID, ref.NS = c.Configurable.ID, c.Configurable.NS
		}
	}
	if ref.NS != "" { // below a subgraph: the run starts at the root's checkpoint that it belongs to
		ref.ID, ref.NS = ref.Map[""], ""
	}
	return ref.ID, ref.Check("checkpoint")
}

// secretive are parts of header names that speak of credentials, which no run must see and no database keep.
var secretive = []string{"key", "token", "secret", "auth", "cookie", "password", "credential", "session", "signature", "x-tenant-id"}

// withHeaders puts the x- headers of a request under its configurable values, by lower-case name.
func withHeaders(config json.RawMessage, h http.Header) (json.RawMessage, error) {
	found := map[string]json.RawMessage{}
next:
	for name, values := range h {
		name = strings.ToLower(name)
		if !strings.HasPrefix(name, "x-") || len(values) == 0 || len(values[0]) > 1024 || len(found) >= 64 {
			continue
		}
		for _, part := range secretive {
			if strings.Contains(name, part) {
				continue next
			}
		}
		found[name], _ = json.Marshal(strings.ToValidUTF8(values[0], "\ufffd")) // a string always encodes
	}
	if len(found) == 0 {
		return config, nil
	}
	all := jsonvalue.Fields(config)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for name, v := range jsonvalue.Fields(all["configurable"]) { // what the body says counts
		found[name] = v
	}
	var err error
	if all["configurable"], err = json.Marshal(found); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// checkWebhook checks the address to which the end of a run is told. Whether it may be reached is decided when it
// is: names can change what they stand for in between.
func (s *Service) checkWebhook(text string) error {
	if text == "" {
		return nil
	}
	if !s.opt.Webhooks {
		return run.Invalidf("webhook", "this server sends none")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > 2048 {
		return run.Invalidf("webhook", "must be an http or https address without a password")
	}
	return nil
}
