// Package model says what a language model is to tributary: something that, given a conversation, yields
// the parts of an answer as they arrive.
//
// # Laws of Stream
//
//   - Parts arrive in the order in which the provider sent them, as soon as it sent them.
//   - The text of a block is the concatenation of its [Text] parts; the arguments of a call that of its
//     [ToolCall] parts. Nothing is said twice: there is no part that repeats what was streamed.
//   - A complete answer ends with exactly one [Finish]; an iteration that ends without it, and without an
//     error, was cut off, and the caller must treat it as [Broken].
//   - [Usage] parts are cumulative: the last one counts. There may be none.
//   - An error is the last thing yielded, and is an [*Error] whenever the provider or the network is to
//     blame. Cancelling ctx ends the iteration promptly with the context's error.
//   - Breaking out of the loop releases the connection.
//
// A Model is safe for concurrent use and keeps nothing between calls. Retrying is the caller's business,
// since only the caller knows whether somebody has already read half of the answer.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/tributary-ai/tributary/item"
)

// Model is anything that answers a conversation.
type Model interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Part, error]
}

// Describer is implemented by models that can say who they are.
type Describer interface {
	Describe() Info
}

// Info describes a model for events, listings and cost.
type Info struct {
	Provider string // "openai", "anthropic", "gemini", "offline", …
	Model    string // the provider's name for it
	// ContextWindow is the number of tokens that fit; 0 if not known.
	ContextWindow int
	Thinking      bool // can be asked to think
	Vision        bool // takes images
}

// Request is what the model is asked.
type Request struct {
	System   string
	Messages []item.Message
	Tools    []Tool
	// Choice says whether a tool must be called: empty for "auto", "none", "required", or a tool's name.
	Choice string
	// Schema, where set, is the JSON schema that the answer's text must satisfy; SchemaName names it.
	Schema     json.RawMessage
	SchemaName string
	Thinking   Thinking
	MaxTokens  int      // 0: the provider's default
	Temp       *float64 // nil: the provider's default
	Stop       []string
	// User is an opaque id of the person that providers may be told, for their abuse checks.
	User string
	// Extra is merged into the provider's request object, for what this struct has no word for.
	Extra map[string]json.RawMessage
	// Whole asks for the answer all at once, by a call that does not stream, of providers that can. Others stream it.
	Whole bool `json:"-"`
	// Sent, where set, is called with the body of the request just before it goes to the provider, so that what a model was
	// shown can be kept to the byte. It has no secrets in it: keys travel in headers. A model that sends nothing
	// anywhere need not call it.
	Sent func(body []byte) `json:"-"`
}

// Thinking asks for reasoning before the answer.
type Thinking struct {
	On     bool
	Effort string // "low", "medium", "high"; empty: the provider's default
	Budget int    // tokens; 0: the provider's default
}

// Tool describes a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, an object
}

// Part is a piece of an answer: one of [Text], [Reasoning], [ToolCall], [Image], [Opaque], [Annotation], [Usage],
// [Finish].
type Part interface{ part() }

// Text is a piece of the answer's text. Pieces with the same Block make one text block; block numbers rise.
type Text struct {
	Block int
	Text  string
}

// Reasoning is a piece of what the model thought. Pieces with the same Item make one reasoning item, and in
// it those with the same Block make one summary. Signature and Encrypted, where set, are whole values.
type Reasoning struct {
	Item      int
	Block     int
	Text      string
	Signature string
	Encrypted string
	ID        string // the provider's id for the item, where it wants it back
}

// ToolCall is a piece of a call. Pieces with the same Index make one call. The first piece of a call carries
// Name, and ID unless the provider gives none; providers' habits of repeating or omitting them are
// evened out before the part is yielded.
type ToolCall struct {
	Index     int
	ID        string
	Name      string
	Arguments string
	Signature string
}

// Image is a picture that the model made; partial ones are replaced by the next with the same Block.
type Image struct {
	Block   int
	Partial bool
	URL     string
	MIME    string
}

// Opaque is a block that only the provider that made it can use: what its own tools asked and found, or content of a
// kind that we do not know. It is kept in the message as an [item.ForeignBlock], and goes back to that provider on
// the next turn, and to no other. Raw is a JSON object whose "type" tells whose it is.
// Its place among the other blocks is where it comes.
type Opaque struct {
	Raw json.RawMessage
}

// Annotation is a citation by the provider's own search, for a text block that has been streamed so far.
type Annotation struct {
	Block int
	item.Annotation
}

// Usage is what the call has cost so far.
type Usage struct{ item.Usage }

// Finish is the last part of a complete answer.
type Finish struct {
	Reason item.Finish
	Raw    string // the provider's own word
	Model  string // as the provider names the model that answered
	// Message is the provider's own sentence about why it stopped, where it gives one.
	Message string
}

func (Text) part()       {}
func (Reasoning) part()  {}
func (ToolCall) part()   {}
func (Image) part()      {}
func (Opaque) part()     {}
func (Annotation) part() {}
func (Usage) part()      {}
func (Finish) part()     {}
