package item_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/item"
)

// spelled is the order in which InOrder yields a message's parts, checked to be that of each list.
func spelled(t interface{ Errorf(string, ...any) }, m item.Message) string {
	var b strings.Builder
	var r, c, k int
	for p := range m.InOrder() {
		switch {
		case p.Reasoning != nil:
			if p.Reasoning != &m.Reasoning[r] {
				t.Errorf("reasoning %d is not in its place", r)
			}
			b.WriteString(item.OrderReasoning)
			r++
		case p.Block != nil:
			if p.Block != &m.Content[c] {
				t.Errorf("block %d is not in its place", c)
			}
			b.WriteString(item.OrderBlock)
			c++
		case p.Call != nil:
			if p.Call != &m.ToolCalls[k] {
				t.Errorf("call %d is not in its place", k)
			}
			b.WriteString(item.OrderCall)
			k++
		}
	}
	if r != len(m.Reasoning) || c != len(m.Content) || k != len(m.ToolCalls) {
		t.Errorf("of %d, %d, %d parts came %d, %d, %d", len(m.Reasoning), len(m.Content), len(m.ToolCalls), r, c, k)
	}
	return b.String()
}

func TestEveryPartComesOnceAndInTheOrderThatIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := eventtest.Message(t)
		got := spelled(t, m)
		if m.Order != "" && got != string(m.Order) {
			t.Errorf("in order %s, want %s", got, m.Order)
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var read item.Message
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		if again := spelled(t, read); again != got {
			t.Errorf("in order %s before it was stored, %s afterwards: %s", got, again, data)
		}
	})
}

func TestTheUsualOrderIsNotWritten(t *testing.T) {
	for order, want := range map[item.Order]bool{"": false, "rbc": false, "rrbbcc": false, "bc": false, "c": false, "br": true, "rcr": true, "cb": true, "rbrbrc": true} {
		m := item.Message{Role: item.Assistant, Order: order}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(data), `"order"`); got != want {
			t.Errorf("order %q is written: %v, want %v", order, got, want)
		}
	}
}

// Clients may have a member of that name, and programs change lists without thinking of the order.
func TestAnOrderThatDoesNotFitIsIgnored(t *testing.T) {
	for _, order := range []string{`7`, `{"a":1}`, `null`, `"br"`, `"bxc"`, `"cbbb"`, `"crb"`, `[]`} {
		var m item.Message
		text := fmt.Sprintf(`{"type":"ai","content":"hello","order":%s,"tool_calls":[{"name":"f","args":{},"id":"1"}]}`, order)
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Errorf("order %s: %v", order, err)
		}
		if got := spelled(t, m); got != "bc" || m.Interleaved() {
			t.Errorf("order %s: parts come as %s, want bc", order, got)
		}
	}
	m := item.Message{Role: item.User}
	if err := json.Unmarshal([]byte(`{"type":"human","content":"hi","order":"br"}`), &m); err != nil || m.Order != "" {
		t.Errorf("a person's message has the order %q (%v)", m.Order, err)
	}
}
