package event_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/item"
)

var visitorType = reflect.TypeFor[event.Visitor]()

// kindOf is the JSON name of a Visitor method: RunStarted is run_started.
func kindOf(method string) string {
	var b strings.Builder
	for i, r := range method {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestVisitorAndKindsNameTheSameEvents(t *testing.T) {
	want := []string{"unknown"}
	for i := range visitorType.NumMethod() {
		if name := visitorType.Method(i).Name; name != "Unknown" {
			want = append(want, kindOf(name))
		}
	}
	got := append(event.Kinds(), "unknown")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Kinds and Unknown:\n %v\nmethods of Visitor:\n %v", got, want)
	}
}

func TestEveryKindDecodesToTheTypeThatItsVisitorMethodTakes(t *testing.T) {
	for i := range visitorType.NumMethod() {
		method := visitorType.Method(i)
		if method.Type.NumIn() != 1 || method.Type.In(0).Name() != method.Name {
			t.Errorf("Visitor.%s takes %v, want the one event of its name", method.Name, method.Type)
		}
	}
	for _, sample := range eventtest.Samples() {
		kind := sample.Event.Kind()
		var got event.Envelope
		if err := got.UnmarshalJSON(encode(t, sample)); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if name := reflect.TypeOf(got.Event).Name(); kindOf(name) != kind {
			t.Errorf("%s decodes to %s", kind, name)
		}
	}
}

func TestVisitCallsTheMethodOfTheEventsOwnKind(t *testing.T) {
	events := []event.Event{event.Unknown{Name: "later", Data: []byte(`{}`)}}
	for _, s := range eventtest.Samples() {
		events = append(events, s.Event)
	}
	for _, e := range events {
		var r recorder
		if err := event.Visit(e, &r); err != nil {
			t.Errorf("visit %s: %v", e.Kind(), err)
		}
		if len(r.seen) != 1 || !reflect.DeepEqual(r.seen[0], visit{reflect.TypeOf(e).Name(), e}) {
			t.Errorf("visit %s called %v", e.Kind(), r.seen)
		}
	}
}

type visit struct {
	method string
	event  event.Event
}

// recorder notes which method was called. It is written out, as every Visitor is.
type recorder struct{ seen []visit }

func (r *recorder) note(method string, e event.Event) error {
	r.seen = append(r.seen, visit{method, e})
	return nil
}

func (r *recorder) RunQueued(e event.RunQueued) error           { return r.note("RunQueued", e) }
func (r *recorder) RunStarted(e event.RunStarted) error         { return r.note("RunStarted", e) }
func (r *recorder) AttemptStarted(e event.AttemptStarted) error { return r.note("AttemptStarted", e) }
func (r *recorder) RunEnded(e event.RunEnded) error             { return r.note("RunEnded", e) }
func (r *recorder) NodeStarted(e event.NodeStarted) error       { return r.note("NodeStarted", e) }
func (r *recorder) NodeEnded(e event.NodeEnded) error           { return r.note("NodeEnded", e) }
func (r *recorder) CheckpointSaved(e event.CheckpointSaved) error {
	return r.note("CheckpointSaved", e)
}
func (r *recorder) InterruptRaised(e event.InterruptRaised) error {
	return r.note("InterruptRaised", e)
}
func (r *recorder) Custom(e event.Custom) error           { return r.note("Custom", e) }
func (r *recorder) Warned(e event.Warned) error           { return r.note("Warned", e) }
func (r *recorder) TaskStarted(e event.TaskStarted) error { return r.note("TaskStarted", e) }
func (r *recorder) TaskEnded(e event.TaskEnded) error     { return r.note("TaskEnded", e) }
func (r *recorder) TurnStarted(e event.TurnStarted) error { return r.note("TurnStarted", e) }
func (r *recorder) ContextPrepared(e event.ContextPrepared) error {
	return r.note("ContextPrepared", e)
}
func (r *recorder) TurnEnded(e event.TurnEnded) error       { return r.note("TurnEnded", e) }
func (r *recorder) TurnVoided(e event.TurnVoided) error     { return r.note("TurnVoided", e) }
func (r *recorder) ItemStarted(e event.ItemStarted) error   { return r.note("ItemStarted", e) }
func (r *recorder) ItemEnded(e event.ItemEnded) error       { return r.note("ItemEnded", e) }
func (r *recorder) BlockStarted(e event.BlockStarted) error { return r.note("BlockStarted", e) }
func (r *recorder) TextDelta(e event.TextDelta) error       { return r.note("TextDelta", e) }
func (r *recorder) ImageDelta(e event.ImageDelta) error     { return r.note("ImageDelta", e) }
func (r *recorder) AnnotationAdded(e event.AnnotationAdded) error {
	return r.note("AnnotationAdded", e)
}
func (r *recorder) BlockEnded(e event.BlockEnded) error         { return r.note("BlockEnded", e) }
func (r *recorder) ArgumentsDelta(e event.ArgumentsDelta) error { return r.note("ArgumentsDelta", e) }
func (r *recorder) ToolProgressed(e event.ToolProgressed) error { return r.note("ToolProgressed", e) }
func (r *recorder) TeamFormed(e event.TeamFormed) error         { return r.note("TeamFormed", e) }
func (r *recorder) PlanUpdated(e event.PlanUpdated) error       { return r.note("PlanUpdated", e) }
func (r *recorder) Spoken(e event.Spoken) error                 { return r.note("Spoken", e) }
func (r *recorder) TeamDissolved(e event.TeamDissolved) error   { return r.note("TeamDissolved", e) }
func (r *recorder) Unknown(e event.Unknown) error               { return r.note("Unknown", e) }

func TestWhatSomebodyActsOnIsPromised(t *testing.T) {
	var got []string
	for _, env := range eventtest.Samples() {
		if env.Event.Promised() && !slices.Contains(got, env.Event.Kind()) {
			got = append(got, env.Event.Kind())
		}
	}
	slices.Sort(got)
	want := []string{"attempt_started", "checkpoint_saved", "interrupt_raised", "run_ended", "run_queued", "run_started", "spoken"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	call, result := event.ItemStarted{Type: item.TypeToolCall}, event.ItemStarted{Type: item.TypeToolResult}
	if call.Promised() || !result.Promised() {
		t.Errorf("a call is promised: %t, a tool that begins: %t; want false and true", call.Promised(), result.Promised())
	}
}
