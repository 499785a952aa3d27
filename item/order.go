package item

import (
	"encoding/json"
	"iter"
	"strings"
)

// Order is the order in which a model made the parts of an answer, where it is not the usual one (all reasoning, then
// all content, then all calls). Each letter stands for the next element of one of a [Message]'s lists: r of Reasoning,
// b of Content, c of ToolCalls. "rbrc" is a thought, a block, another thought, and a call.
//
// Providers refuse thinking that comes back elsewhere than where it was thought. LangChain's form of a message has three
// lists and no order among them, and is kept as it is; what it cannot say is said beside it.
type Order string

// The letters of an [Order].
const (
	OrderReasoning = "r"
	OrderBlock     = "b"
	OrderCall      = "c"
)

// Usual returns the order, or nothing if it is the one that goes without saying.
func (o Order) Usual() Order {
	rest := strings.TrimLeft(string(o), OrderReasoning)
	rest = strings.TrimLeft(rest, OrderBlock)
	if strings.TrimLeft(rest, OrderCall) == "" {
		return ""
	}
	return o
}

// fits reports that the order names every part of the message once. One that was written for other lists, because
// somebody has changed them since, does not.
func (o Order) fits(m Message) bool {
	count := func(letter string) int { return strings.Count(string(o), letter) }
	r, b, c := count(OrderReasoning), count(OrderBlock), count(OrderCall)
	return r == len(m.Reasoning) && b == len(m.Content) && c == len(m.ToolCalls) && r+b+c == len(o)
}

// readOrder takes what is an order and nothing else: the name may be some client's own. Whether it fits is asked when it is
// used, since the message item of a log has the order of its whole turn and only the content of it.
func readOrder(raw json.RawMessage) Order {
	var o Order
	if len(raw) == 0 || json.Unmarshal(raw, &o) != nil || strings.Trim(string(o), "rbc") != "" {
		return ""
	}
	return o.Usual()
}

// Interleaved reports that the parts were made in another order than the usual one, and that it is known.
func (m Message) Interleaved() bool { return m.Order.Usual() != "" && m.Order.fits(m) }

// Part is one part of an answer: exactly one of the three is not nil. They point into the message.
type Part struct {
	Reasoning *Reasoning
	Block     *Block
	Call      *ToolCall
}

// InOrder yields the parts of the message in the order in which they were made: the usual one, unless Order says
// otherwise and fits.
func (m Message) InOrder() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		o := m.Order
		if !m.Interleaved() {
			o = Order(strings.Repeat(OrderReasoning, len(m.Reasoning)) + strings.Repeat(OrderBlock, len(m.Content)) + strings.Repeat(OrderCall, len(m.ToolCalls)))
		}
		var r, b, c int
		for i := range len(o) {
			var p Part
			switch string(o[i]) {
			case OrderReasoning:
				p.Reasoning = &m.Reasoning[r]
				r++
			case OrderBlock:
				p.Block = &m.Content[b]
				b++
			case OrderCall:
				p.Call = &m.ToolCalls[c]
				c++
			}
			if !yield(p) {
				return
			}
		}
	}
}
