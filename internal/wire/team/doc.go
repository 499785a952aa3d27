// Package team is the wire of expert teams: a run as a page sees it that shows a column for each expert and an answer below.
//
// # The frames
//
//	team_formed                   the experts: first of all
//	plan_update                   the whole plan, whenever it changes
//	expert_step                   what an expert does beside answering: it begins, thinks, calls a tool, gets a result
//	expert_result_chunk           a piece of an expert's answer
//	expert_result_chunk_reset     throw away every chunk of this expert and phase with a lower attempt
//	expert_result                 the end of an expert in a phase: status and the whole text
//	team_synthesis_chunk, team_synthesis_chunk_reset, team_synthesis
//	                              the same for the answer of the lead
//	team_review                   a question to a person; the answer starts another run
//	team_spoken                   what a person said to an expert, or to all, while they worked
//	team_warning, team_custom     what is told besides
//	team_dissolved                last of all: outcome, reason, usage
//
// Every frame has type, sequence (0, 1, 2 … without holes, but for one after the loss of power, see [wire.BeyondLoss]), which is also
// its id, and run. Those about an expert have expert, phase, task and attempt; those about the answer have attempt.
//
// # Laws
//
//   - team_formed is the first frame of every stream and team_dissolved its last, each once, however the run goes: a run that
//     failed before it had a team shows one without members.
//   - Every expert that begins has one expert_result in its phase, also when it fails, is cancelled, or the run ends.
//   - The chunks since the last reset, joined, are the content of the result, whatever its status is. A text is told once: the ends
//     of items and blocks repeat it, and give no chunk unless nothing of it came before.
//   - attempt counts the texts that an expert has begun in a phase. It grows with each reset and with nothing else; a text is void
//     because a later try takes its place (cause: the error's code), or because it was no answer but what the model said
//     before it called a tool (cause "step"), or before somebody spoke to it (cause "spoken"): then an expert_step has the text. A piece of a void turn that comes late is dropped.
//   - The set of types is closed: a frame is made with a constant of this package, and each kind of event has a method, which says
//     what becomes of it.
//   - A client that does not know a type ignores it.
package team
