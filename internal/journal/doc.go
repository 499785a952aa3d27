// Package journal keeps the log of every run: append, read, follow.
//
// # What a reader may rely on
//
//   - A follower sees every event of a run exactly once, in order, starting after the position it names,
//     until RunEnded. History and live are one: there is no seam between them.
//   - An event is visible only after it is durable, so whatever anybody saw is a prefix of what is read
//     afterwards, also after kill -9.
//   - A slow follower delays nobody: followers are cursors that pull, and hold nothing but their position.
//   - A [Position] that the log cannot honour, because the events it speaks of were lost with the power, is
//     answered with [ErrLost], never with other events under the same numbers.
//
// # What a writer may rely on
//
//   - Events of one [Log] become durable and visible in the order of Append, each batch as a whole together
//     with what it saves.
//   - Append is fenced: once another worker holds the run's lease, nothing can be appended under the old
//     one, and every Append answers [ErrFenced].
//   - Append returns before the batch is durable, unless the batch is a promise. It blocks only while more
//     than a bounded amount is queued, and while a large batch is prepared; see [Preparer].
//
// # Durability
//
// A batch is written either so that it survives the death of the process, or so that it survives the loss of
// power. Promises (a run accepted, a checkpoint, a tool's intention and outcome, an interrupt, the end of a
// run) are always of the second kind; whether tokens are too is [Options.Disk].
//
// # How it works
//
// One goroutine writes. While a write is in flight, whatever is appended gathers; when it returns, everything
// gathered goes out as the next one. So a single token waits for nothing, and a thousand streams share a
// commit. Where write follows write all the time, the next one also gathers for a few milliseconds, unless somebody waits for
// it. Nobody's token waits long for what others have to write: a write holds a bounded amount of what is large, and a large batch is
// written ahead, in small parts, by whoever appends it, where the store can do that ([Preparer]). After the commit, a
// run's events are put into its tail in memory, and a bell without data wakes the cursors that wait for it. Older events are
// read from the store.
//
// Lock order: Journal.mu before tail.mu; Log.mu is never held together with either.
package journal
