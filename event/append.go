package event

import (
	"bytes"
	"errors"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/item"
)

// appendData writes the event's own object. The kinds that every run has are written by hand: deltas because they are
// nine tenths of every journal, and those that repeat a whole text because reflection reads it several times over. A
// test holds each form to the tags of its type. What is rare goes through encoding/json.
func appendData(dst []byte, e Event) ([]byte, error) {
	switch e := e.(type) {
	case TextDelta:
		o := jsonline.Begin(dst)
		o.String("item", e.Item)
		o.OptInt("block", int64(e.Block))
		o.String("text", e.Text)
		return o.End()
	case ArgumentsDelta:
		o := jsonline.Begin(dst)
		o.String("item", e.Item)
		o.String("text", e.Text)
		return o.End()
	case ItemStarted:
		return e.append(dst)
	case BlockStarted:
		return e.append(dst)
	case BlockEnded:
		return e.append(dst)
	case ItemEnded:
		return e.append(dst)
	case TurnStarted:
		return e.append(dst)
	case TurnEnded:
		return e.append(dst)
	case NodeStarted:
		return e.append(dst)
	case NodeEnded:
		return e.append(dst)
	case CheckpointSaved:
		return e.append(dst)
	case RunStarted:
		return e.append(dst)
	case RunEnded:
		return e.append(dst)
	case Custom:
		o := jsonline.Begin(dst)
		o.OptString("name", e.Name)
		o.Raw("data", e.Data)
		return o.End()
	case Unknown:
		if !bytes.HasPrefix(e.Data, []byte("{")) { // it could not be read back
			return dst, errors.New("data must be an object")
		}
		return jsonline.AppendRaw(dst, e.Data)
	}
	return appendPlain(dst, e)
}

func (e RunStarted) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.OptString("assistant", e.Assistant)
	o.String("graph", e.Graph)
	o.Int("attempt", int64(e.Attempt))
	o.OptRaw("metadata", e.Metadata)
	return o.End()
}

func (e RunEnded) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("status", string(e.Status))
	o.OptString("reason", e.Reason)
	if e.Error != nil {
		o.Member("error", e.Error.append)
	}
	o.Member("usage", e.Usage.AppendJSON)
	return o.End()
}

func (e *Error) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("code", e.Code)
	o.OptString("name", e.Name)
	o.String("message", e.Message)
	return o.End()
}

func (e NodeStarted) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("execution", e.Execution)
	o.OptStrings("triggers", e.Triggers)
	o.OptStrings("path", e.Path)
	o.OptRaw("input", e.Input)
	return o.End()
}

func (e NodeEnded) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("execution", e.Execution)
	o.OptRaw("update", e.Update)
	if e.Error != nil {
		o.Member("error", e.Error.append)
	}
	o.OptStrings("interrupts", e.Interrupts)
	o.OptTrue("cached", e.Cached)
	return o.End()
}

func (e CheckpointSaved) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("id", e.ID)
	o.OptString("parent", e.Parent)
	o.String("source", string(e.Source))
	o.OptStrings("next", e.Next)
	o.OptStrings("changed", e.Changed)
	o.OptRaw("left", e.Left)
	return o.End()
}

func (e TurnStarted) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("turn", e.Turn)
	o.OptString("execution", e.Execution)
	o.OptString("agent", e.Agent)
	o.OptString("provider", e.Provider)
	o.OptString("model", e.Model)
	o.OptString("replaces", e.Replaces)
	o.OptInt("attempt", int64(e.Attempt))
	return o.End()
}

func (e TurnEnded) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("turn", e.Turn)
	o.String("finish", string(e.Finish))
	o.Member("usage", e.Usage.AppendJSON)
	o.OptString("model", e.Model)
	o.OptInt("first_us", e.FirstMicros)
	o.OptInt("total_us", e.TotalMicros)
	return o.End()
}

func (e ItemStarted) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("item", e.Item)
	o.OptString("turn", e.Turn)
	o.String("type", string(e.Type))
	o.OptString("call_id", e.CallID)
	o.OptString("name", e.Name)
	o.OptInt("index", int64(e.Index))
	return o.End()
}

// append writes the one kind whose form tags cannot tell, because an item is one of several types.
func (e ItemEnded) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("status", string(e.Status))
	o.Member("item", func(dst []byte) ([]byte, error) { return item.Append(dst, e.Item) })
	if len(e.Update) > 0 {
		o.Member("update", func(dst []byte) ([]byte, error) { return append(dst, e.Update...), nil })
	}
	return o.End()
}

func (e BlockStarted) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("item", e.Item)
	o.Int("block", int64(e.Block))
	o.String("type", string(e.Type))
	o.OptInt("ref", int64(e.Ref))
	return o.End()
}

func (e BlockEnded) append(dst []byte) ([]byte, error) {
	o := jsonline.Begin(dst)
	o.String("item", e.Item)
	o.Int("block", int64(e.Block))
	o.Member("value", e.Value.AppendJSON)
	return o.End()
}
