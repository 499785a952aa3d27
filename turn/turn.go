// Package turn writes the events of one model call so that they keep the laws of package event.
//
// A [Writer] is fed the pieces of an answer as they arrive, in whatever order the model interleaves them, and
// opens and closes items and blocks around them. It ends in one of two ways: [Writer.End], which closes
// everything and returns the message that the thread keeps, or [Writer.Void], after which nothing that was
// streamed counts. Between the two nothing of the turn is lost and nothing is said twice: the sum of the
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
	b.text.WriteString(text)
	return w.out.Emit(ctx, event.TextDelta{Item: it.id, Block: at, Text: text})
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
	it.args.WriteString(c.Arguments)
	return w.out.Emit(ctx, event.ArgumentsDelta{Item: it.id, Text: c.Arguments})
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
	return w.out.Emit(ctx, event.ImageDelta{Item: it.id, Block: at, Partial: partial - 1, URL: img.URL})
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
	b.value.Annotations = append(b.value.Annotations, a)
	return w.out.Emit(ctx, event.AnnotationAdded{Item: it.id, Block: at, Annotation: a})
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
	it := &openItem{key: k, id: w.itemID(k)}
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
	return it, w.out.Emit(ctx, start)
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
	b := &openBlock{number: number, value: item.Block{Type: typ}}
	it.blocks = append(it.blocks, b)
	at := len(it.blocks) - 1
	if it.key.typ == item.TypeMessage {
		w.order = append(w.order, item.OrderBlock...)
	}
	return b, at, w.out.Emit(ctx, event.BlockStarted{Item: it.id, Block: at, Type: typ})
}

// End closes the turn and returns its message.
func (w *Writer) End(ctx context.Context, finish item.Finish, model string) (item.Message, error) {
	var closing []event.Event
	w.message.Order = item.Order(w.order).Usual()
	for _, it := range w.open {
		closing = w.close(closing, it)
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
	return w.message, w.out.Emit(ctx, closing...)
}

func (w *Writer) close(out []event.Event, it *openItem) []event.Event {
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
	return append(out, event.ItemEnded{Item: whole, Status: item.Completed})
}

// Void ends the turn without a message: nothing that was streamed of it counts. wait is how long the
// caller will wait before it tries again.
func (w *Writer) Void(ctx context.Context, cause string, err *event.Error, wait time.Duration) error {
	return w.out.Emit(ctx, event.TurnVoided{
		Turn: w.id, Cause: cause, Error: err, WaitMicros: wait.Microseconds(), Usage: w.usage,
	})
}
