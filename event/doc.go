// Package event is the closed set of facts that a run writes into its journal.
//
// # Laws
//
//   - The seq of a run's events is 1, 2, 3 … without holes.
//   - The first event is RunStarted, or RunQueued and then RunStarted; the last, and only the last, is RunEnded.
//   - For every text block, the TextDelta texts joined equal the text in BlockEnded, and the ArgumentsDelta
//     texts of a tool call joined equal the arguments in its ItemEnded, unless the turn was voided.
//   - Usage is said in TurnEnded (and in TurnVoided, for what a broken call had cost by then) and nowhere
//     else; RunEnded and TaskEnded repeat the sum.
//   - What was shown stays: text of a turn that was not voided is in the thread's messages when the run has ended, however it
//     ended. A turn is voided only when another takes its place.
//   - A kind keeps its meaning for ever. A new meaning is a new kind.
//
// An event is a plain value: it can be encoded, kept, read by a later version of the program, compared.
// Facts that every event shares are in its [Envelope].
//
// # Reading
//
// [Event] is sealed and is taken apart by a [Visitor], which has one method for each kind. There is no
// do-nothing Visitor to embed and there will not be one: a reader that has not decided what to do with a
// kind must not compile. Kinds that a newer version wrote decode to [Unknown] and are kept as they are.
//
// # Order within a turn
//
// TurnStarted, then items one inside the other's end or not, as the model interleaves them: ItemStarted,
// BlockStarted, TextDelta…, BlockEnded, ItemEnded; then TurnEnded. A turn that breaks and is tried again gets
// TurnVoided in place of TurnEnded, and every item, block and delta of it is void: its items get no ItemEnded. The next
// try is a new turn, with a new id, that names the one it Replaces. A turn that breaks and is not tried again ends like
// any other, but its items end incomplete, with what they have, and so does the turn. A tool's result is an
// item outside any turn (its Turn is empty).
package event
