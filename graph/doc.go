// Package graph runs agents as graphs: nodes that read and write a shared state, step by step, with a checkpoint
// after every step. Its semantics are LangGraph's; its types are Go's.
//
// # Laws
//
//   - A step executes all nodes that are due at the same time and ends when the last one has. They read the state as it
//     was when the step began.
//   - What they wrote is applied in a fixed order (nodes by name, then sends in the order in which they were sent),
//     whatever finished first. Two writers of a [LastValue] field in one step are an error.
//   - A node's successors are those of its edges, of its branches, which see the node's own update, and of its command.
//   - Everything that a run has to say goes through one [Recorder], in batches. A checkpoint, the event that tells of it
//     and the events of the nodes that led to it are one batch: after a crash either all of it is there or none.
//   - A run that is begun again with Continue goes on from its last checkpoint. Nodes of a parallel step that
//     had finished are not run again; nodes that had not are, so what they do outside the graph they must
//     make repeatable, or ask [Scope.Recall] about.
//   - A node that fails, panics or times out fails the run and nothing else. Run returns only when every goroutine that it
//     started has ended.
//
// # Values
//
// Values of fields are shared between nodes, steps and checkpoints and must never be changed in place. A checkpoint
// stores the fields that changed; of a list that grew it stores the new elements.
//
// # Checkpoints
//
// A turn on a thread makes a checkpoint with the state before the input (source input, Start is due), one with the
// input applied (source loop), and one after each step. Steps count from -1 and go on from turn to turn. Running from
// an older checkpoint makes a branch; the tree is never rewritten.
package graph
