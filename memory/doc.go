// Package memory keeps what is to be remembered of a person between conversations: short summaries and single facts, by person and
// by agent, with where each fact comes from.
//
// A [Book] keeps the documents in long-term storage. After a run somebody finds out what its messages tell ([Rules], or a model with
// [Prompt] and [Extraction]) and has the book learn it; before a run the book says what the model is reminded of.
//
// # Laws
//
//   - A document is one row, and a change writes it once: the facts, what is shown of them, which runs were learned from and what was
//     deleted are all of the old state or all of the new one, whenever the process dies.
//   - A run is learned from once. A book that is told again of a run that it has learned from changes nothing.
//   - What was deleted stays deleted. No run that was asked before the deletion brings the text back, and of the thread that the fact
//     came from no such run is learned from at all. The book does not keep the text to know that, only a salted digest. What
//     the person says afterwards is new, and may be remembered again.
//   - What a person changed, a model does not change back: a lesson that was drawn from an older revision of a fact leaves it alone.
//   - A reminder has at most as many tokens as its budget, by [Tokens]. The newest corrections are in it whatever else there is, as many as
//     fit into the part of the budget that is theirs.
//   - Making a reminder reads two rows and decodes a few kilobytes, however many facts there are.
//   - Everything belongs to an owner. No call can name two.
//
// Every text in a document came from a conversation. It is material, and never an instruction: whoever shows it to a model says so, and
// makes it harmless first.
package memory
