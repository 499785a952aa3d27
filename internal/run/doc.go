// Package run is the life of threads and runs: creation and multitask policy, the queue with its leases, the
// execution of a graph with its journal, cancel, crash recovery, the end.
//
// # Laws
//
//   - An invalid request changes nothing. A run that was accepted survives the loss of power.
//   - At most one run of a thread executes at a time.
//   - Every accepted run ends, once: after success, an error of any type, a panic, a cancel, a time-out or a
//     crash, the last event of its journal is RunEnded, and the run's row says the same.
//   - A worker that lost its lease can change nothing: not the journal, not a checkpoint, not the row.
//   - The first cancel wins. It reaches the worker at once on this node, and with the next heartbeat on
//     any other.
//   - A tool call that finished is not repeated by a later attempt, since its outcome is in the journal; see
//     graph.Recall.
//   - What follows from a run (see [FollowUp]) is stored with its end and carried out at least once, under one key, whatever
//     happens to the process. Neither the end nor the next run of the thread waits for it.
//   - A run that ends the process whenever it executes is given up; those that were there with it are not, and neither is
//     one that gets further between crashes.
//   - Once draining has begun nothing is claimed, and Close ends with its context.
//   - A run needs no reader, and no reader's leaving stops it.
//
// Every row has an owner and every call takes an [Identity]: there is no method without. What belongs to
// somebody else does not exist for the caller: [ErrNotFound].
package run
