package agent

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// record puts on record what the model of a turn is shown: once, as soon as it is known, and before any of the answer.
type record struct {
	call *call
	turn string
	req  model.Request
	done bool
	err  error
}

// sent is told by models that send requests, before they do.
func (r *record) sent(ctx context.Context, body []byte) {
	if r.done {
		return // the same request once more
	}
	r.done = true
	e := event.ContextPrepared{Turn: r.turn, Messages: len(r.req.Messages), Bytes: len(body)}
	e.Omitted, e.Injected = compare(r.call.opts.Thread, r.req.Messages)
	for _, t := range r.req.Tools {
		e.Tools = append(e.Tools, t.Name)
	}
	// The context may be that of a call which was given up meanwhile; what it was shown is so all the same.
	r.err = r.call.scope.Show(context.WithoutCancel(ctx), e, body)
}

// answered is called when there is a first part, or when there will be none. A model that sends nothing anywhere was shown
// the request itself.
func (r *record) answered(ctx context.Context) error {
	if !r.done {
		body, err := json.Marshal(r.req)
		if err != nil {
			return err
		}
		r.sent(ctx, body)
	}
	return r.err
}

// compare says what of a thread is not shown, and what is shown that the thread does not have so. A nil thread is not
// compared. It costs what differs: most requests are the thread, with something before or behind it.
func compare(thread, shown []item.Message) (omitted, injected []event.Span) {
	if thread == nil || len(thread) == len(shown) && (len(thread) == 0 || &thread[0] == &shown[0]) {
		return nil, nil
	}
	for len(thread) > 0 && len(shown) > 0 && same(&thread[len(thread)-1], &shown[len(shown)-1]) {
		thread, shown = thread[:len(thread)-1], shown[:len(shown)-1]
	}
	for len(thread) > 0 && len(shown) > 0 && same(&thread[0], &shown[0]) {
		thread, shown = thread[1:], shown[1:]
	}
	if len(thread) == 0 || len(shown) == 0 {
		return spans(thread, nil), spans(shown, nil)
	}
	return spans(thread, shown), spans(shown, thread)
}

// spans are the stretches of list whose messages are not among others.
func spans(list, others []item.Message) []event.Span {
	byID := make(map[string]*item.Message, len(others))
	for i := range others {
		byID[others[i].ID] = &others[i]
	}
	var out []event.Span
	open := false
	for i := range list {
		if other := byID[list[i].ID]; other != nil && same(other, &list[i]) {
			open = false
			continue
		}
		if !open {
			out = append(out, event.Span{First: list[i].ID})
			open = true
		}
		out[len(out)-1].Count++
	}
	return out
}

// same reports that a message is shown as the thread has it. A view that leaves a message alone shares its parts.
func same(a, b *item.Message) bool {
	if a == b {
		return true
	}
	if a.ID != b.ID || a.Role != b.Role || len(a.Content) != len(b.Content) || len(a.ToolCalls) != len(b.ToolCalls) {
		return false
	}
	shared := (len(a.Content) == 0 || &a.Content[0] == &b.Content[0]) && (len(a.ToolCalls) == 0 || &a.ToolCalls[0] == &b.ToolCalls[0]) &&
		len(a.Reasoning) == len(b.Reasoning) && (len(a.Reasoning) == 0 || &a.Reasoning[0] == &b.Reasoning[0])
	return shared || reflect.DeepEqual(*a, *b)
}
