// Package turn writes the events of one model call so that they keep the laws of package event.
//
// A [Writer] is fed the pieces of an answer as they arrive, in whatever order the model interleaves them, and
// opens and closes items and blocks around them. It ends in one of three ways:
//
//   - [Writer.End] closes everything and returns the message that the thread keeps.
//   - [Writer.Again] starts the next try. As soon as that has something to show, nothing that was streamed
//     of this one counts any more: people see it until something takes its place.
//   - [Writer.Cut] ends the last try, which came to no end of its own: everything that was streamed stays, marked
//     incomplete, and its message is kept too.
//
// [Writer.Void] takes back what was streamed although nothing takes its place yet; it is for turns that showed nothing,
// and for those whose caller is sure to make another. Nothing of a turn is lost and nothing is said twice: the sum of the
// deltas is the text of the message.
//
// A Writer belongs to one goroutine.
package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Emitter takes events in order. A graph's scope is one.
type Emitter interface {
	Emit(ctx context.Context, events ...event.Event) error
}

// Writer writes one turn.
type Writer struct {
	out     Emitter
	id      string
	started time.Time
	first   time.Duration
	now     func() time.Time
	held    []event.Event // told with the first item: that the turn is void whose place this one takes

	open    []*openItem // in the order in which they were opened
	byKey   map[key]*openItem
	last    *openItem // the one that the piece before went to: nearly always the right one
	calls   int
	order   []byte // of the message's parts, as item.Order spells it
	usage   item.Usage
	message item.Message
}

type key struct {
	typ   item.Type
	index int
}

type openItem struct {
	key    key
	id     string
	blocks []*openBlock
	args   strings.Builder
	call   item.ToolCall
	reason item.Reasoning
}

type openBlock struct {
	number int // the model's
	text   strings.Builder
	value  item.Block
}

// Start begins a turn. info.Turn must be set: it becomes the id of the message.
func Start(ctx context.Context, out Emitter, info event.TurnStarted) (*Writer, error) {
	w := &Writer{out: out, id: info.Turn, byKey: map[key]*openItem{}, now: time.Now}
	w.started = w.now()
	w.message = item.Message{ID: info.Turn, Role: item.Assistant, Model: info.Model}
	if info.Attempt == 0 {
		info.Attempt = 1
	}
	return w, out.Emit(ctx, info)
}

// Again starts the next try, which takes this one's place as soon as it has something to show; its info.Turn must be another.
// wait is how long was waited in between.
func (w *Writer) Again(ctx context.Context, info event.TurnStarted, cause string, err *event.Error, wait time.Duration) (*Writer, error) {
	info.Replaces = w.id
	next, unwritten := Start(ctx, w.out, info)
	next.held = []event.Event{w.voided(cause, err, wait)}
	return next, unwritten
}

// emit tells events after what was held back.
func (w *Writer) emit(ctx context.Context, events ...event.Event) error {
	if w.held != nil {
		events = append(w.held, events...)
		w.held = nil
	}
	return w.out.Emit(ctx, events...)
}

// ID is the turn's, and so the message's.
func (w *Writer) ID() string { return w.id }

// Text appends to a text block of the answer. Blocks are told apart by the number that the model gives them.
func (w *Writer) Text(ctx context.Context, block int, text string) error {
	if text == "" {
		return nil
	}
	return w.text(ctx, key{item.TypeMessage, 0}, block, text)
}

// Reasoning appends to a summary of a reasoning item.
func (w *Writer) Reasoning(ctx context.Context, index, block int, text string) error {
	if text == "" {
		return nil
	}
	return w.text(ctx, key{item.TypeReasoning, index}, block, text)
}

// Sign attaches what the provider wants back with a reasoning item, opening the item if it had no text.
func (w *Writer) Sign(ctx context.Context, index int, r item.Reasoning) error {
	it, err := w.item(ctx, key{item.TypeReasoning, index}, event.ItemStarted{})
	if err != nil {
		return err
	}
	if r.Signature != "" {
		it.reason.Signature = r.Signature
	}
	if r.Encrypted != "" {
		it.reason.Encrypted = r.Encrypted
	}
	if r.Provider != "" {
		it.reason.Provider = r.Provider
	}
	if r.ID != "" {
		it.reason.ID = r.ID
	}
	return nil
}

func (w *Writer) text(ctx context.Context, k key, number int, text string) error {
	it, err := w.item(ctx, k, event.ItemStarted{})
	if err != nil {
		return err
	}
	b, at, err := w.block(ctx, it, number, item.TextBlock)
	if err != nil {
		return err
	}
	// What could not be told is not part of the answer: the end says just what the pieces said.
	if err := w.emit(ctx, event.TextDelta{Item: it.id, Block: at, Text: text}); err != nil {
		return err
	}
	b.text.WriteString(text)
	return nil
}

// Call appends to a tool call. The first piece must carry the name; an empty call id is given one.
func (w *Writer) Call(ctx context.Context, index int, c item.ToolCall) error {
	k := key{item.TypeToolCall, index}
	it := w.byKey[k]
	if it == nil {
		if c.CallID == "" {
			c.CallID = fmt.Sprintf("call_%s_%d", w.id, w.calls)
		}
		var err error
		it, err = w.item(ctx, k, event.ItemStarted{CallID: c.CallID, Name: c.Name, Index: w.calls})
		if err != nil {
			return err
		}
		w.calls++
		it.call = item.ToolCall{ID: it.id, CallID: c.CallID, Name: c.Name}
	}
	if c.Signature != "" {
		it.call.Signature = c.Signature
	}
	if c.Arguments == "" {
		return nil
	}
	if err := w.emit(ctx, event.ArgumentsDelta{Item: it.id, Text: c.Arguments}); err != nil {
		return err
	}
	it.args.WriteString(c.Arguments)
	return nil
}

// Image shows a picture, or a coarser version of one that is still being made.
func (w *Writer) Image(ctx context.Context, number int, img item.Block, partial int) error {
	it, err := w.item(ctx, key{item.TypeMessage, 0}, event.ItemStarted{})
	if err != nil {
		return err
	}
	b, at, err := w.block(ctx, it, number, item.ImageBlock)
	if err != nil {
		return err
	}
	img.Type = item.ImageBlock
	b.value = img
	if partial == 0 {
		return nil // told whole when the block ends
	}
	return w.emit(ctx, event.ImageDelta{Item: it.id, Block: at, Partial: partial - 1, URL: img.URL})
}

// Keep adds a block that only the provider can read, whole, where the answer has come to.
func (w *Writer) Keep(ctx context.Context, raw json.RawMessage) error {
	it, err := w.item(ctx, key{item.TypeMessage, 0}, event.ItemStarted{})
	if err != nil {
		return err
	}
	own := -1 - len(it.blocks) // models number their blocks from 0
	b, _, err := w.block(ctx, it, own, item.ForeignBlock)
	if err != nil {
		return err
	}
	b.value.Foreign = raw // told when the block ends
	return nil
}

// Annotate marks a stretch of a text block that has been written.
func (w *Writer) Annotate(ctx context.Context, number int, a item.Annotation) error {
	it, err := w.item(ctx, key{item.TypeMessage, 0}, event.ItemStarted{})
	if err != nil {
		return err
	}
	b, at, err := w.block(ctx, it, number, item.TextBlock)
	if err != nil {
		return err
	}
	if err := w.emit(ctx, event.AnnotationAdded{Item: it.id, Block: at, Annotation: a}); err != nil {
		return err
	}
	b.value.Annotations = append(b.value.Annotations, a)
	return nil
}

// Usage notes what the call has cost so far; the last word counts.
func (w *Writer) Usage(u item.Usage) { w.usage = u }

func (w *Writer) item(ctx context.Context, k key, start event.ItemStarted) (*openItem, error) {
	if w.last != nil && w.last.key == k {
		return w.last, nil
	}
	if it := w.byKey[k]; it != nil {
		w.last = it
		return it, nil
	}
	if len(w.open) == 0 {
		w.first = w.now().Sub(w.started)
	}
	it, order := &openItem{key: k, id: w.itemID(k)}, len(w.order)
	w.open = append(w.open, it)
	w.byKey[k] = it
	w.last = it
	switch k.typ {
	case item.TypeReasoning:
		w.order = append(w.order, item.OrderReasoning...)
	case item.TypeToolCall:
		w.order = append(w.order, item.OrderCall...)
	case item.TypeMessage, item.TypeToolResult: // each of its blocks has a place
	}
	start.Item, start.Turn, start.Type = it.id, w.id, k.typ
	if err := w.emit(ctx, start); err != nil { // nobody saw it, so there is nothing to end
		w.open, w.last, w.order = w.open[:len(w.open)-1], nil, w.order[:order]
		delete(w.byKey, k)
		return it, err
	}
	return it, nil
}

// itemID derives the ids of a turn's items from the turn's, so that they are unique within the run. The
// message item has the turn's own id: it is the message that clients know.
func (w *Writer) itemID(k key) string {
	switch k.typ {
	case item.TypeReasoning:
		return "rs_" + w.id + "_" + strconv.Itoa(k.index)
	case item.TypeToolCall:
		return "fc_" + w.id + "_" + strconv.Itoa(k.index)
	case item.TypeMessage, item.TypeToolResult:
	}
	return w.id
}

func (w *Writer) block(ctx context.Context, it *openItem, number int, typ item.BlockType) (*openBlock, int, error) {
	for i := len(it.blocks) - 1; i >= 0; i-- {
		if it.blocks[i].number == number {
			return it.blocks[i], i, nil
		}
	}
	b, at := &openBlock{number: number, value: item.Block{Type: typ}}, len(it.blocks)
	if err := w.emit(ctx, event.BlockStarted{Item: it.id, Block: at, Type: typ}); err != nil {
		return nil, 0, err
	}
	it.blocks = append(it.blocks, b)
	if it.key.typ == item.TypeMessage {
		w.order = append(w.order, item.OrderBlock...)
	}
	return b, at, nil
}

// Shown reports whether anything of the turn was streamed.
func (w *Writer) Shown() bool { return len(w.open) > 0 }

// Message is what End would return now, for those who want to look at an answer before it is one.
func (w *Writer) Message() item.Message {
	was := w.message
	defer func() { w.message = was }()
	for _, it := range w.open {
		w.close(nil, it, item.InProgress)
	}
	return w.message
}

// Cut closes a turn that was broken off for good and returns its message: what was streamed, and no more.
func (w *Writer) Cut(ctx context.Context) (item.Message, error) {
	return w.end(ctx, item.FinishIncomplete, "", item.Incomplete)
}

// End closes the turn and returns its message.
func (w *Writer) End(ctx context.Context, finish item.Finish, model string) (item.Message, error) {
	return w.end(ctx, finish, model, item.Completed)
}

func (w *Writer) end(ctx context.Context, finish item.Finish, model string, status item.Status) (item.Message, error) {
	var closing []event.Event
	w.message.Order = item.Order(w.order).Usual()
	for _, it := range w.open {
		closing = w.close(closing, it, status)
	}
	if model == "" {
		model = w.message.Model
	}
	w.message.Finish, w.message.Model = finish, model
	if !w.usage.IsZero() {
		u := w.usage
		w.message.Usage = &u
	}
	closing = append(closing, event.TurnEnded{
		Turn: w.id, Finish: finish, Usage: w.usage, Model: model,
		FirstMicros: w.first.Microseconds(), TotalMicros: w.now().Sub(w.started).Microseconds(),
	})
	return w.message, w.emit(ctx, closing...)
}

func (w *Writer) close(out []event.Event, it *openItem, status item.Status) []event.Event {
	var blocks []item.Block
	for at, b := range it.blocks {
		if b.value.Type == item.TextBlock {
			b.value.Text = b.text.String()
		}
		blocks = append(blocks, b.value)
		out = append(out, event.BlockEnded{Item: it.id, Block: at, Value: b.value})
	}
	var whole item.Item
	switch it.key.typ {
	case item.TypeReasoning:
		r := it.reason
		provider := r.ID // the provider's own id is kept in the message, the item's in the log
		r.ID, r.Summary = it.id, blocks
		whole = r
		if provider != "" {
			r.ID = provider
		}
		w.message.Reasoning = append(w.message.Reasoning, r)
	case item.TypeToolCall:
		it.call.Arguments = it.args.String()
		whole = it.call
		w.message.ToolCalls = append(w.message.ToolCalls, it.call)
	case item.TypeMessage, item.TypeToolResult:
		w.message.Content = blocks
		// The order is that of the whole turn: its other items have their own places in the log, its blocks have not.
		whole = item.Message{ID: it.id, Role: item.Assistant, Content: blocks, Order: w.message.Order}
	}
	return append(out, event.ItemEnded{Item: whole, Status: status})
}

// Void ends the turn without a message: nothing that was streamed of it counts. wait is how long the
// caller will wait before it tries again. If the turn was to take another's place and showed nothing, that one stays.
func (w *Writer) Void(ctx context.Context, cause string, err *event.Error, wait time.Duration) error {
	w.held = nil
	return w.emit(ctx, w.voided(cause, err, wait))
}

func (w *Writer) voided(cause string, err *event.Error, wait time.Duration) event.TurnVoided {
	return event.TurnVoided{Turn: w.id, Cause: cause, Error: err, WaitMicros: wait.Microseconds(), Usage: w.usage}
}
