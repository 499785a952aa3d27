package eventtest

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
)

// Item draws one of the four kinds of item.
func Item(t *rapid.T) item.Item {
	switch rapid.SampledFrom([]item.Type{item.TypeReasoning, item.TypeToolCall, item.TypeToolResult, item.TypeMessage}).Draw(t, "item type") {
	case item.TypeReasoning:
		return reasoning(t)
	case item.TypeToolCall:
		return item.ToolCall{ID: id(t, "id"), CallID: id(t, "call"), Name: text(t, "name"), Arguments: text(t, "arguments"), Signature: text(t, "signature")}
	case item.TypeToolResult:
		return item.ToolResult{
			ID: id(t, "id"), CallID: id(t, "call"), Name: text(t, "name"), Error: rapid.Bool().Draw(t, "failed"),
			Content: list(t, "content", Block), Blocks: list(t, "blocks", Block),
		}
	}
	return Message(t)
}

func reasoning(t *rapid.T) item.Reasoning {
	return item.Reasoning{
		ID: id(t, "id"), Summary: list(t, "summary", Block), Signature: text(t, "signature"),
		Encrypted: text(t, "encrypted"), Provider: text(t, "provider"),
	}
}

// Message draws a message of any role, with what that role can have.
func Message(t *rapid.T) item.Message {
	roles := []item.Role{item.System, item.User, item.Assistant, item.Tool, item.Remove}
	m := item.Message{
		ID: id(t, "id"), Role: rapid.SampledFrom(roles).Draw(t, "role"), Name: text(t, "name"),
		Kwargs: keys(t, "kwargs"), Metadata: keys(t, "metadata"), Parts: rapid.Bool().Draw(t, "parts"),
	}
	if m.Parts {
		m.Content = list(t, "content", part)
	} else {
		m.Content = item.Text(text(t, "content"))
	}
	if m.Role == item.Assistant {
		m.Reasoning = list(t, "reasoning", reasoning)
		m.ToolCalls = list(t, "calls", call)
		m.Order = order(t, m)
		m.Finish, m.Model = finish(t), text(t, "model")
		if rapid.Bool().Draw(t, "has usage") {
			u := Usage(t)
			m.Usage = &u
		}
	}
	if m.Role == item.Tool {
		m.CallID, m.Failed = id(t, "call"), rapid.Bool().Draw(t, "failed")
		m.Blocks, m.Artifact = list(t, "blocks", Block), maybe(t, "artifact", JSON)
	}
	return m
}

// order draws one of the orders that a message's parts may have.
func order(t *rapid.T, m item.Message) item.Order {
	letters := strings.Split(strings.Repeat(item.OrderReasoning, len(m.Reasoning))+strings.Repeat(item.OrderBlock, len(m.Content))+
		strings.Repeat(item.OrderCall, len(m.ToolCalls)), "")
	return item.Order(strings.Join(rapid.Permutation(letters).Draw(t, "order"), "")).Usual()
}

// keys draws an object that is not empty, or nothing.
func keys(t *rapid.T, label string) []byte {
	if obj := Object(t, label); string(obj) != "{}" {
		return obj
	}
	return nil
}

// call draws a call whose arguments are an object, or text that is none, as models write it now and then.
func call(t *rapid.T) item.ToolCall {
	arguments := string(Object(t, "arguments"))
	if rapid.Bool().Draw(t, "broken") {
		arguments = rapid.SampledFrom([]string{`{"q":`, `[1]`, `null`, `q=1`, `{"a":1}}`}).Draw(t, "arguments")
	}
	return item.ToolCall{ID: id(t, "id"), CallID: id(t, "call"), Name: text(t, "name"), Arguments: arguments, Signature: text(t, "signature")}
}

// part draws a block as it comes out of a message's content.
func part(t *rapid.T) item.Block {
	switch rapid.SampledFrom([]item.BlockType{item.TextBlock, item.ImageBlock, item.FileBlock, item.ForeignBlock}).Draw(t, "part type") {
	case item.TextBlock:
		return item.Block{Type: item.TextBlock, Text: text(t, "text"), Ref: count(t, "ref"), Annotations: list(t, "annotations", annotation)}
	case item.ImageBlock:
		return item.Block{Type: item.ImageBlock, URL: "https://images/" + text(t, "url"), MIME: text(t, "mime"), Ref: count(t, "ref")}
	case item.FileBlock:
		return item.Block{Type: item.FileBlock, URL: "https://files/" + text(t, "url"), MIME: text(t, "mime"), Name: text(t, "name"), Ref: count(t, "ref")}
	}
	return item.Block{Type: item.ForeignBlock, Foreign: Object(t, "foreign")}
}

// Block draws a block as it is inside items and events.
func Block(t *rapid.T) item.Block {
	types := []item.BlockType{item.TextBlock, item.ImageBlock, item.FileBlock, item.ForeignBlock}
	return item.Block{
		Type: rapid.SampledFrom(types).Draw(t, "block type"), Text: text(t, "text"), URL: text(t, "url"), MIME: text(t, "mime"),
		Name: text(t, "name"), Author: text(t, "author"), Date: text(t, "date"), Ref: count(t, "ref"), Annotations: list(t, "annotations", annotation),
		Foreign: maybeObject(t, "foreign"),
	}
}

func annotation(t *rapid.T) item.Annotation {
	return item.Annotation{
		Type: rapid.SampledFrom([]item.AnnotationType{item.ReferenceToBlock, item.URLCitation, item.FileCitation}).Draw(t, "annotation type"),
		Ref:  count(t, "ref"), Start: count(t, "start"), End: count(t, "end"),
		URL: text(t, "url"), Title: text(t, "title"), Quote: text(t, "quote"),
	}
}

// Usage draws what a call may have cost, which may be nothing.
func Usage(t *rapid.T) item.Usage {
	return item.Usage{
		InputTokens: count(t, "input"), OutputTokens: count(t, "output"), CachedTokens: count(t, "cached"),
		CacheWriteTokens: count(t, "cache write"), ReasoningTokens: count(t, "reasoning"), CostMicros: int64(count(t, "cost")),
	}
}

func finish(t *rapid.T) item.Finish {
	all := []item.Finish{
		"", item.FinishStop, item.FinishToolCalls, item.FinishLength, item.FinishFilter, item.FinishRefusal, item.FinishPause, item.FinishOther,
	}
	return rapid.SampledFrom(all).Draw(t, "finish")
}
