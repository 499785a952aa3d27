package eventtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Envelope draws an event of any kind with random surroundings.
func Envelope(t *rapid.T) event.Envelope {
	return event.Envelope{
		Seq:    rapid.Uint64().Draw(t, "seq"),
		Epoch:  rapid.IntRange(0, 3).Draw(t, "epoch"),
		Run:    id(t, "run"),
		Thread: id(t, "thread"),
		Task:   id(t, "task"),
		NS:     text(t, "ns"),
		Node:   text(t, "node"),
		Step:   rapid.IntRange(-1, 30).Draw(t, "step"),
		At:     time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at")).UTC(),
		Event:  Event(t),
	}
}

// Event draws an event of any kind, also of one that this version does not know.
func Event(t *rapid.T) event.Event {
	kinds := append(event.Kinds(), "unknown")
	return OfKind(t, rapid.SampledFrom(kinds).Draw(t, "kind"))
}

// OfKind draws an event of the named kind, and an Unknown for any other name.
func OfKind(t *rapid.T, kind string) event.Event {
	draw, ok := generators[kind]
	if !ok {
		return unknown(t)
	}
	return draw(t)
}

var generators = map[string]func(*rapid.T) event.Event{
	"run_started": func(t *rapid.T) event.Event {
		return event.RunStarted{Assistant: id(t, "assistant"), Graph: text(t, "graph"), Attempt: 1, Metadata: maybeObject(t, "metadata")}
	},
	"run_queued": func(*rapid.T) event.Event { return event.RunQueued{} },
	"attempt_started": func(t *rapid.T) event.Event {
		return event.AttemptStarted{Attempt: count(t, "attempt"), Cause: text(t, "cause")}
	},
	"run_ended": func(t *rapid.T) event.Event {
		return event.RunEnded{Status: status(t), Reason: text(t, "reason"), Error: maybeError(t), Usage: Usage(t)}
	},
	"node_started": func(t *rapid.T) event.Event {
		return event.NodeStarted{Execution: id(t, "execution"), Triggers: texts(t, "triggers"), Path: texts(t, "path"), Input: maybe(t, "input", JSON)}
	},
	"node_ended": func(t *rapid.T) event.Event {
		return event.NodeEnded{
			Execution: id(t, "execution"), Update: maybe(t, "update", JSON), Error: maybeError(t),
			Interrupts: texts(t, "interrupts"), Cached: rapid.Bool().Draw(t, "cached"),
		}
	},
	"checkpoint_saved": func(t *rapid.T) event.Event {
		return event.CheckpointSaved{
			ID: id(t, "id"), Parent: id(t, "parent"), Next: texts(t, "next"), Changed: texts(t, "changed"), Left: maybe(t, "left", JSON),
			Source: rapid.SampledFrom([]event.Source{event.FromInput, event.FromLoop, event.FromUpdate, event.FromFork}).Draw(t, "source"),
		}
	},
	"interrupt_raised": func(t *rapid.T) event.Event {
		asks := []event.Ask{"", event.AskOther, event.AskPlanReview, event.AskClarification, event.AskToolApproval}
		return event.InterruptRaised{
			ID: id(t, "id"), Execution: id(t, "execution"), Value: JSON(t, "value"),
			Ask: rapid.SampledFrom(asks).Draw(t, "ask"), Options: texts(t, "options"),
		}
	},
	"custom": func(t *rapid.T) event.Event { return event.Custom{Name: text(t, "name"), Data: JSON(t, "data")} },
	"warned": func(t *rapid.T) event.Event {
		return event.Warned{Code: text(t, "code"), Message: text(t, "message")}
	},
	"task_started": func(t *rapid.T) event.Event {
		return event.TaskStarted{
			Parent: id(t, "parent"), CallID: id(t, "call"), Agent: text(t, "agent"), Title: text(t, "title"), Attempt: count(t, "attempt"),
		}
	},
	"task_ended": func(t *rapid.T) event.Event {
		return event.TaskEnded{Status: status(t), Error: maybeError(t), Usage: Usage(t)}
	},
	"turn_started": func(t *rapid.T) event.Event {
		return event.TurnStarted{
			Turn: id(t, "turn"), Execution: id(t, "execution"), Agent: text(t, "agent"), Provider: text(t, "provider"),
			Model: text(t, "model"), Replaces: id(t, "replaces"), Attempt: count(t, "attempt"),
		}
	},
	"context_prepared": func(t *rapid.T) event.Event {
		span := func(t *rapid.T) event.Span { return event.Span{First: id(t, "first"), Count: count(t, "count")} }
		return event.ContextPrepared{
			Turn: id(t, "turn"), Request: id(t, "request"), Bytes: count(t, "bytes"), Messages: count(t, "messages"),
			Omitted: list(t, "omitted", span), Injected: list(t, "injected", span), Tools: list(t, "tools", func(t *rapid.T) string { return text(t, "tool") }),
		}
	},
	"turn_ended": func(t *rapid.T) event.Event {
		return event.TurnEnded{
			Turn: id(t, "turn"), Finish: finish(t), Usage: Usage(t), Model: text(t, "model"),
			FirstMicros: int64(count(t, "first")), TotalMicros: int64(count(t, "total")),
		}
	},
	"turn_voided": func(t *rapid.T) event.Event {
		return event.TurnVoided{
			Turn: id(t, "turn"), Cause: text(t, "cause"), Error: maybeError(t), WaitMicros: int64(count(t, "wait")), Usage: Usage(t),
		}
	},
	"item_started": func(t *rapid.T) event.Event {
		types := []item.Type{item.TypeReasoning, item.TypeMessage, item.TypeToolCall, item.TypeToolResult}
		return event.ItemStarted{
			Item: id(t, "item"), Turn: id(t, "turn"), Type: rapid.SampledFrom(types).Draw(t, "type"),
			CallID: id(t, "call"), Name: text(t, "name"), Index: count(t, "index"),
		}
	},
	"item_ended": func(t *rapid.T) event.Event {
		statuses := []item.Status{item.InProgress, item.Completed, item.Incomplete}
		e := event.ItemEnded{Item: Item(t), Status: rapid.SampledFrom(statuses).Draw(t, "status")}
		if rapid.Bool().Draw(t, "writes") {
			e.Update = json.RawMessage(`{"field":[1,"two"]}`)
		}
		return e
	},
	"block_started": func(t *rapid.T) event.Event {
		types := []item.BlockType{item.TextBlock, item.ImageBlock, item.FileBlock, item.ForeignBlock}
		return event.BlockStarted{
			Item: id(t, "item"), Block: count(t, "block"), Type: rapid.SampledFrom(types).Draw(t, "type"), Ref: count(t, "ref"),
		}
	},
	"text_delta": func(t *rapid.T) event.Event {
		return event.TextDelta{Item: id(t, "item"), Block: count(t, "block"), Text: text(t, "text")}
	},
	"image_delta": func(t *rapid.T) event.Event {
		return event.ImageDelta{Item: id(t, "item"), Block: count(t, "block"), Partial: count(t, "partial"), URL: text(t, "url")}
	},
	"annotation_added": func(t *rapid.T) event.Event {
		return event.AnnotationAdded{Item: id(t, "item"), Block: count(t, "block"), Annotation: annotation(t)}
	},
	"block_ended": func(t *rapid.T) event.Event {
		return event.BlockEnded{Item: id(t, "item"), Block: count(t, "block"), Value: Block(t)}
	},
	"arguments_delta": func(t *rapid.T) event.Event {
		return event.ArgumentsDelta{Item: id(t, "item"), Text: text(t, "text")}
	},
	"tool_progressed": func(t *rapid.T) event.Event {
		return event.ToolProgressed{
			Item: id(t, "item"), CallID: id(t, "call"), Name: text(t, "name"), Message: text(t, "message"),
			Done: float64(count(t, "done")), Total: float64(count(t, "total")),
		}
	},
	"team_formed": func(t *rapid.T) event.Event {
		return event.TeamFormed{Team: id(t, "team"), Title: text(t, "title"), Lead: text(t, "lead"), Members: list(t, "members", member)}
	},
	"plan_updated": func(t *rapid.T) event.Event {
		return event.PlanUpdated{Plan: id(t, "plan"), Team: id(t, "team"), Title: text(t, "title"), Steps: list(t, "steps", planStep)}
	},
	"spoken": func(t *rapid.T) event.Event {
		return event.Spoken{ID: id(t, "id"), To: id(t, "to"), Text: text(t, "text")}
	},
	"team_dissolved": func(t *rapid.T) event.Event {
		return event.TeamDissolved{Team: id(t, "team"), Outcome: status(t), Reason: text(t, "reason")}
	},
}

func unknown(t *rapid.T) event.Event {
	name := rapid.StringN(1, 12, -1).Filter(func(s string) bool { return !slices.Contains(event.Kinds(), s) }).Draw(t, "name")
	return event.Unknown{Name: name, Data: Object(t, "data")}
}

func status(t *rapid.T) event.Status {
	all := []event.Status{event.Success, event.Failed, event.Interrupted, event.Cancelled, event.TimedOut}
	return rapid.SampledFrom(all).Draw(t, "status")
}

func maybeError(t *rapid.T) *event.Error {
	if rapid.Bool().Draw(t, "has error") {
		return &event.Error{Code: text(t, "code"), Name: text(t, "name"), Message: text(t, "message")}
	}
	return nil
}

func member(t *rapid.T) event.Member {
	return event.Member{ID: id(t, "id"), Name: text(t, "name"), Role: text(t, "role")}
}

func planStep(t *rapid.T) event.PlanStep {
	return event.PlanStep{
		ID: id(t, "id"), Title: text(t, "title"), Detail: text(t, "detail"), Status: text(t, "status"), Kind: text(t, "kind"),
		DependsOn: texts(t, "depends on"), Member: id(t, "member"), Attempt: count(t, "attempt"), Result: text(t, "result"),
	}
}

// text draws a short text in which the awkward characters are common.
func text(t *rapid.T, label string) string {
	awkward := rapid.SampledFrom([]rune{'"', '\\', '\n', '\r', '\t', '\x00', '\x1f', '<', '&', '\u2028', '\u2029', '\ufffd', 'é', '中', '😀'})
	return rapid.StringOfN(rapid.OneOf(rapid.Rune(), awkward), 0, 12, -1).Draw(t, label)
}

func id(t *rapid.T, label string) string {
	return rapid.StringMatching(`([a-z]+_[0-9a-f]{4})?`).Draw(t, label)
}

func count(t *rapid.T, label string) int { return rapid.IntRange(0, 1000).Draw(t, label) }

func texts(t *rapid.T, label string) []string {
	return list(t, label, func(t *rapid.T) string { return text(t, label) })
}

// list draws up to three elements; none is nil.
func list[E any](t *rapid.T, label string, one func(*rapid.T) E) []E {
	var all []E
	for range rapid.IntRange(0, 3).Draw(t, label+" count") {
		all = append(all, one(t))
	}
	return all
}

// JSON draws a compact JSON value other than null.
func JSON(t *rapid.T, label string) json.RawMessage {
	switch rapid.SampledFrom([]string{"object", "list", "text", "number"}).Draw(t, label+" form") {
	case "object":
		return Object(t, label)
	case "list":
		return encode(texts(t, label), "[]")
	case "text":
		return encode(text(t, label), "")
	}
	return encode(rapid.Int().Draw(t, label), "")
}

// Object draws a compact JSON object, sometimes with another inside.
func Object(t *rapid.T, label string) json.RawMessage {
	fields := map[string]any{}
	for _, key := range texts(t, label+" keys") {
		fields["k"+key] = text(t, label)
	}
	if rapid.Bool().Draw(t, label+" nested") {
		fields["inside"] = map[string]any{"n": count(t, label), "none": nil}
	}
	return encode(fields, "{}")
}

func maybeObject(t *rapid.T, label string) json.RawMessage { return maybe(t, label, Object) }

func maybe(t *rapid.T, label string, draw func(*rapid.T, string) json.RawMessage) json.RawMessage {
	if rapid.Bool().Draw(t, "has "+label) {
		return draw(t, label)
	}
	return nil
}

// encode gives JSON without escapes for HTML; for a nil list, which would be null, it gives empty.
func encode(v any, empty string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // strings, numbers and maps of them always encode
	}
	data := bytes.TrimSpace(b.Bytes())
	if string(data) == "null" {
		return json.RawMessage(empty)
	}
	return data
}
