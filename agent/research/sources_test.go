package research_test

import (
	"testing"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/item"
)

// A step that searches twice may be brought the same passage twice. It is kept once; a passage of several blocks is kept whole.
func TestAPassageThatTwoSearchesBringIsReadOnce(t *testing.T) {
	result := func(texts ...string) item.Message {
		m := item.Message{Role: item.Tool}
		for _, text := range texts {
			b := item.Block{Type: item.TextBlock, Ref: 7, Text: text}
			m.Blocks, m.Content = append(m.Blocks, b), append(m.Content, b)
		}
		return m
	}
	src := research.SourcesOf([]item.Message{result("The Nile is long. ", "It ends in the sea."), result("The Nile is long. ", "It ends in the sea.")})[7]
	if want := "The Nile is long. It ends in the sea."; src.Passage() != want || len(src.Content) != 2 {
		t.Errorf("got %q in %d blocks, want %q in 2", src.Passage(), len(src.Content), want)
	}
}
