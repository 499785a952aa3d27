package item

import (
	"errors"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// The nouns are written by hand: an item is repeated whole at its end, and reflection over a long text that
// is JSON already costs more than all its tokens did. A test holds each form to the tags of its type.

// Append writes an item with its type to the end of dst, so that [Unmarshal] can tell the kinds apart. It fails only for
// nil, and for raw JSON that is none; then it returns dst as it was.
func Append(dst []byte, it Item) ([]byte, error) {
	if it == nil {
		return dst, errors.New("there is no item to encode")
	}
	o := jsonline.Begin(dst)
	o.String("type", string(it.ItemType()))
	switch it := it.(type) {
	case Reasoning:
		o.Member("value", it.append)
	case ToolCall:
		o.Member("value", it.append)
	case ToolResult:
		o.Member("value", it.append)
	case Message:
		o.Member("value", it.AppendJSON)
	}
	return o.End()
}

// Marshal is [Append] to nothing.
func Marshal(it Item) ([]byte, error) { return Append(nil, it) }

func (r Reasoning) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.OptString("id", r.ID)
	optList(&o, "summary", r.Summary, Block.AppendJSON)
	o.OptString("signature", r.Signature)
	o.OptString("encrypted", r.Encrypted)
	o.OptString("provider", r.Provider)
	return o.End()
}

func (c ToolCall) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.OptString("id", c.ID)
	o.String("call_id", c.CallID)
	o.String("name", c.Name)
	o.String("arguments", c.Arguments)
	o.OptString("signature", c.Signature)
	return o.End()
}

func (r ToolResult) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.OptString("id", r.ID)
	o.String("call_id", r.CallID)
	o.OptString("name", r.Name)
	o.OptTrue("error", r.Error)
	optList(&o, "content", r.Content, Block.AppendJSON)
	if r.Blocks != nil {
		jsonline.List(&o, "blocks", r.Blocks, Block.AppendJSON)
	}
	return o.End()
}

// AppendJSON writes the block to the end of dst; see [Append].
func (b Block) AppendJSON(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("type", string(b.Type))
	o.OptString("text", b.Text)
	o.OptString("url", b.URL)
	o.OptString("mime", b.MIME)
	o.OptString("name", b.Name)
	o.OptString("author", b.Author)
	o.OptString("date", b.Date)
	o.OptInt("ref", int64(b.Ref))
	optList(&o, "annotations", b.Annotations, Annotation.append)
	o.OptRaw("foreign", b.Foreign)
	return o.End()
}

func (a Annotation) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("type", string(a.Type))
	o.OptInt("ref", int64(a.Ref))
	o.Int("start", int64(a.Start))
	o.Int("end", int64(a.End))
	o.OptString("url", a.URL)
	o.OptString("title", a.Title)
	o.OptString("quote", a.Quote)
	return o.End()
}

// AppendJSON writes the usage to the end of dst.
func (u Usage) AppendJSON(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.Int("input_tokens", int64(u.InputTokens))
	o.Int("output_tokens", int64(u.OutputTokens))
	o.OptInt("cached_tokens", int64(u.CachedTokens))
	o.OptInt("cache_write_tokens", int64(u.CacheWriteTokens))
	o.OptInt("reasoning_tokens", int64(u.ReasoningTokens))
	o.OptInt("cost_micros", u.CostMicros)
	return o.End()
}

func optList[T any](o *jsonline.Object, name string, values []T, element func(T, []byte) ([]byte, error)) {
	if len(values) > 0 {
		jsonline.List(o, name, values, element)
	}
}
