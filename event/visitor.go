package event

import "github.com/tributary-ai/tributary/item"

// Visitor has one method for each kind of event. It is the one wide interface of the program, on purpose:
// it is the list of facts that a reader of the journal must have an opinion on.
type Visitor interface {
	RunQueued(RunQueued) error
	RunStarted(RunStarted) error
	AttemptStarted(AttemptStarted) error
	RunEnded(RunEnded) error
	NodeStarted(NodeStarted) error
	NodeEnded(NodeEnded) error
	CheckpointSaved(CheckpointSaved) error
	InterruptRaised(InterruptRaised) error
	Custom(Custom) error
	Warned(Warned) error
	TaskStarted(TaskStarted) error
	TaskEnded(TaskEnded) error
	TurnStarted(TurnStarted) error
	ContextPrepared(ContextPrepared) error
	TurnEnded(TurnEnded) error
	TurnVoided(TurnVoided) error
	ItemStarted(ItemStarted) error
	ItemEnded(ItemEnded) error
	BlockStarted(BlockStarted) error
	TextDelta(TextDelta) error
	ImageDelta(ImageDelta) error
	AnnotationAdded(AnnotationAdded) error
	BlockEnded(BlockEnded) error
	ArgumentsDelta(ArgumentsDelta) error
	ToolProgressed(ToolProgressed) error
	TeamFormed(TeamFormed) error
	PlanUpdated(PlanUpdated) error
	Spoken(Spoken) error
	TeamDissolved(TeamDissolved) error
	Unknown(Unknown) error
}

func (RunQueued) Kind() string       { return "run_queued" }
func (RunStarted) Kind() string      { return "run_started" }
func (AttemptStarted) Kind() string  { return "attempt_started" }
func (RunEnded) Kind() string        { return "run_ended" }
func (NodeStarted) Kind() string     { return "node_started" }
func (NodeEnded) Kind() string       { return "node_ended" }
func (CheckpointSaved) Kind() string { return "checkpoint_saved" }
func (InterruptRaised) Kind() string { return "interrupt_raised" }
func (Custom) Kind() string          { return "custom" }
func (Warned) Kind() string          { return "warned" }
func (TaskStarted) Kind() string     { return "task_started" }
func (TaskEnded) Kind() string       { return "task_ended" }
func (TurnStarted) Kind() string     { return "turn_started" }
func (ContextPrepared) Kind() string { return "context_prepared" }
func (TurnEnded) Kind() string       { return "turn_ended" }
func (TurnVoided) Kind() string      { return "turn_voided" }
func (ItemStarted) Kind() string     { return "item_started" }
func (ItemEnded) Kind() string       { return "item_ended" }
func (BlockStarted) Kind() string    { return "block_started" }
func (TextDelta) Kind() string       { return "text_delta" }
func (ImageDelta) Kind() string      { return "image_delta" }
func (AnnotationAdded) Kind() string { return "annotation_added" }
func (BlockEnded) Kind() string      { return "block_ended" }
func (ArgumentsDelta) Kind() string  { return "arguments_delta" }
func (ToolProgressed) Kind() string  { return "tool_progressed" }
func (TeamFormed) Kind() string      { return "team_formed" }
func (PlanUpdated) Kind() string     { return "plan_updated" }
func (Spoken) Kind() string          { return "spoken" }
func (TeamDissolved) Kind() string   { return "team_dissolved" }
func (e Unknown) Kind() string       { return e.Name }

func (e RunQueued) visit(v Visitor) error       { return v.RunQueued(e) }
func (e RunStarted) visit(v Visitor) error      { return v.RunStarted(e) }
func (e AttemptStarted) visit(v Visitor) error  { return v.AttemptStarted(e) }
func (e RunEnded) visit(v Visitor) error        { return v.RunEnded(e) }
func (e NodeStarted) visit(v Visitor) error     { return v.NodeStarted(e) }
func (e NodeEnded) visit(v Visitor) error       { return v.NodeEnded(e) }
func (e CheckpointSaved) visit(v Visitor) error { return v.CheckpointSaved(e) }
func (e InterruptRaised) visit(v Visitor) error { return v.InterruptRaised(e) }
func (e Custom) visit(v Visitor) error          { return v.Custom(e) }
func (e Warned) visit(v Visitor) error          { return v.Warned(e) }
func (e TaskStarted) visit(v Visitor) error     { return v.TaskStarted(e) }
func (e TaskEnded) visit(v Visitor) error       { return v.TaskEnded(e) }
func (e TurnStarted) visit(v Visitor) error     { return v.TurnStarted(e) }
func (e ContextPrepared) visit(v Visitor) error { return v.ContextPrepared(e) }
func (e TurnEnded) visit(v Visitor) error       { return v.TurnEnded(e) }
func (e TurnVoided) visit(v Visitor) error      { return v.TurnVoided(e) }
func (e ItemStarted) visit(v Visitor) error     { return v.ItemStarted(e) }
func (e ItemEnded) visit(v Visitor) error       { return v.ItemEnded(e) }
func (e BlockStarted) visit(v Visitor) error    { return v.BlockStarted(e) }
func (e TextDelta) visit(v Visitor) error       { return v.TextDelta(e) }
func (e ImageDelta) visit(v Visitor) error      { return v.ImageDelta(e) }
func (e AnnotationAdded) visit(v Visitor) error { return v.AnnotationAdded(e) }
func (e BlockEnded) visit(v Visitor) error      { return v.BlockEnded(e) }
func (e ArgumentsDelta) visit(v Visitor) error  { return v.ArgumentsDelta(e) }
func (e ToolProgressed) visit(v Visitor) error  { return v.ToolProgressed(e) }
func (e TeamFormed) visit(v Visitor) error      { return v.TeamFormed(e) }
func (e PlanUpdated) visit(v Visitor) error     { return v.PlanUpdated(e) }
func (e Spoken) visit(v Visitor) error          { return v.Spoken(e) }
func (e TeamDissolved) visit(v Visitor) error   { return v.TeamDissolved(e) }
func (e Unknown) visit(v Visitor) error         { return v.Unknown(e) }

// What is promised is what somebody will act on: that a run was accepted, where it stands, what it asks, what it was
// told, that a tool was begun and what it did. The rest can be made again after the loss of power, or missed.

func (RunQueued) Promised() bool       { return true }
func (RunStarted) Promised() bool      { return true }
func (AttemptStarted) Promised() bool  { return true }
func (RunEnded) Promised() bool        { return true }
func (NodeStarted) Promised() bool     { return false }
func (NodeEnded) Promised() bool       { return false }
func (CheckpointSaved) Promised() bool { return true }
func (InterruptRaised) Promised() bool { return true }
func (Custom) Promised() bool          { return false }
func (Warned) Promised() bool          { return false }
func (TaskStarted) Promised() bool     { return false }
func (TaskEnded) Promised() bool       { return false }
func (TurnStarted) Promised() bool     { return false }
func (ContextPrepared) Promised() bool { return false }
func (TurnEnded) Promised() bool       { return false }
func (TurnVoided) Promised() bool      { return false }
func (e ItemStarted) Promised() bool   { return e.Type == item.TypeToolResult }
func (e ItemEnded) Promised() bool     { return e.Item != nil && e.Item.ItemType() == item.TypeToolResult }
func (BlockStarted) Promised() bool    { return false }
func (TextDelta) Promised() bool       { return false }
func (ImageDelta) Promised() bool      { return false }
func (AnnotationAdded) Promised() bool { return false }
func (BlockEnded) Promised() bool      { return false }
func (ArgumentsDelta) Promised() bool  { return false }
func (ToolProgressed) Promised() bool  { return false }
func (TeamFormed) Promised() bool      { return false }
func (PlanUpdated) Promised() bool     { return false }
func (Spoken) Promised() bool          { return true }
func (TeamDissolved) Promised() bool   { return false }
func (Unknown) Promised() bool         { return false }

// decoders says how to read each kind's JSON object. A test checks that no kind of Visitor is missing.
var decoders = map[string]func([]byte) (Event, error){
	"run_queued":       decode[RunQueued],
	"run_started":      decode[RunStarted],
	"attempt_started":  decode[AttemptStarted],
	"run_ended":        decode[RunEnded],
	"node_started":     decode[NodeStarted],
	"node_ended":       decode[NodeEnded],
	"checkpoint_saved": decode[CheckpointSaved],
	"interrupt_raised": decode[InterruptRaised],
	"custom":           decode[Custom],
	"warned":           decode[Warned],
	"task_started":     decode[TaskStarted],
	"task_ended":       decode[TaskEnded],
	"turn_started":     decode[TurnStarted],
	"context_prepared": decode[ContextPrepared],
	"turn_ended":       decode[TurnEnded],
	"turn_voided":      decode[TurnVoided],
	"item_started":     decode[ItemStarted],
	"item_ended":       decode[ItemEnded],
	"block_started":    decode[BlockStarted],
	"text_delta":       decode[TextDelta],
	"image_delta":      decode[ImageDelta],
	"annotation_added": decode[AnnotationAdded],
	"block_ended":      decode[BlockEnded],
	"arguments_delta":  decode[ArgumentsDelta],
	"tool_progressed":  decode[ToolProgressed],
	"team_formed":      decode[TeamFormed],
	"plan_updated":     decode[PlanUpdated],
	"spoken":           decode[Spoken],
	"team_dissolved":   decode[TeamDissolved],
}

// Kinds lists the names of all kinds, in the order of the table in docs/events.md.
func Kinds() []string {
	return []string{
		RunQueued{}.Kind(),
		RunStarted{}.Kind(),
		AttemptStarted{}.Kind(),
		RunEnded{}.Kind(),
		NodeStarted{}.Kind(),
		NodeEnded{}.Kind(),
		CheckpointSaved{}.Kind(),
		InterruptRaised{}.Kind(),
		Custom{}.Kind(),
		Warned{}.Kind(),
		TaskStarted{}.Kind(),
		TaskEnded{}.Kind(),
		TurnStarted{}.Kind(),
		ContextPrepared{}.Kind(),
		TurnEnded{}.Kind(),
		TurnVoided{}.Kind(),
		ItemStarted{}.Kind(),
		ItemEnded{}.Kind(),
		BlockStarted{}.Kind(),
		TextDelta{}.Kind(),
		ImageDelta{}.Kind(),
		AnnotationAdded{}.Kind(),
		BlockEnded{}.Kind(),
		ArgumentsDelta{}.Kind(),
		ToolProgressed{}.Kind(),
		TeamFormed{}.Kind(),
		PlanUpdated{}.Kind(),
		Spoken{}.Kind(),
		TeamDissolved{}.Kind(),
	}
}
