package tasks

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

func talk(t *testing.T) *graph.Graph {
	t.Helper()
	return graph.New("talk", graph.Messages(messagesField))
}

// A long text goes into a message as it is spelled, and is the same message as a short one would be.
func TestALongTextIsTheMessageThatItWouldBe(t *testing.T) {
	g := talk(t)
	for _, text := range []string{"word ", `"q\" \u00e9 \n<b>`, "数", "a\u2028"} {
		long := strings.Repeat(text, 5000)
		raw, err := json.Marshal(long)
		if err != nil {
			t.Fatal(err)
		}
		got, err := inputOf(g, raw)
		if err != nil {
			t.Fatal(err)
		}
		var input map[string][]item.Message
		if err := json.Unmarshal(got, &input); err != nil {
			t.Fatal(err)
		}
		if want := []item.Message{item.UserText("", long)}; !reflect.DeepEqual(input[messagesField], want) {
			t.Errorf("%q: got %.200v", text, input)
		}
	}
	for _, empty := range []string{strings.Repeat(" ", 9000), strings.Repeat("\n", 9000)} {
		raw, _ := json.Marshal(empty)
		if _, err := inputOf(g, raw); err == nil || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("nothing but white space: %v", err)
		}
	}
}

func TestALongTextIsCopiedOnce(t *testing.T) {
	g := talk(t)
	raw, _ := json.Marshal(strings.Repeat("word and another ", 200_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := inputOf(g, raw)
	runtime.ReadMemStats(&after)
	if times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(raw)); err != nil || times > 1.1 {
		t.Errorf("memory for %.1f times the text was taken, want 1: %v", times, err)
	}
}
