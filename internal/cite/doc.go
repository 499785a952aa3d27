// Package cite keeps the references of a run: what can be cited, under which number, and where an answer
// cites it.
//
// # The pool
//
// One [Pool] serves a whole run tree; a sub-agent draws from the pool of its parent, so a number means the
// same thing in every message of the run and nothing that was streamed must be rewritten later.
//
//   - A tool pairs its two views by a local number: blocks of Content and of Blocks with the same Ref are one
//     referencable thing, seen by the model and by people. A thing that only one of them sees has no number.
//   - [Pool.Add] replaces local numbers by those of the pool, in the order of the calls, and wraps each group
//     of Content in two text blocks that tell the model its number. Adding a result twice changes nothing; of
//     equal groups in one result, the first has the number.
//   - Text that spells such a mark is escaped for the model, and shown to people as it is: no tool, page or sub-agent can
//     forge a passage or its number.
//   - Identity is the SHA-256 of the blocks that people see, without Ref and annotations, keys sorted. The
//     same blocks keep their number, whichever tool gives them and under whichever local number.
//   - Numbers are facts of the journal: [Pool.Restore] takes a recorded result's numbers as they are. A
//     pool restored from any prefix of the journal goes on counting where the first one would have.
//
// # Markers
//
// A model cites with [^n]. The marker stays in the text; a [Parser] finds it in the stream, however the
// stream is cut, and gives an annotation for it if the number is in the pool at that moment. Any other
// marker is plain text and remains so, even if the pool reaches its number later. Indices are half-open and
// count Unicode code points of the one text block that the Parser was fed.
//
// An agent outside of the run, with a pool of its own, hands over a finished answer; [Pool.Adopt] renumbers it.
package cite
