package jsonline_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// go test ./internal/jsonline -run '^$' -bench . -benchmem -count 6

var benchText = strings.Repeat("The quick brown fox says: it jumps.\n", 500)

func BenchmarkAppendString(b *testing.B) {
	var buf []byte
	b.SetBytes(int64(len(benchText)))
	b.ReportAllocs()
	for b.Loop() {
		buf = jsonline.AppendString(buf[:0], benchText)
	}
}

func BenchmarkAppendRaw(b *testing.B) {
	raw, err := json.Marshal(map[string]any{"messages": []any{map[string]string{"content": benchText, "id": "x"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("by=hand", func(b *testing.B) {
		var buf []byte
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if buf, err = jsonline.AppendRaw(buf[:0], raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by=json.Compact", func(b *testing.B) {
		var buf bytes.Buffer
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			buf.Reset()
			if err := json.Compact(&buf, raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
