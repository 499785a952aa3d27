// Package feed lets readers follow runs: one run in one dialect ([Feeds]), or a thread from run to run ([Threads]).
//
// # Laws
//
//   - Readers of the same run in the same dialect share one projection: each event is projected and encoded once.
//   - Every reader sees every frame once and in order, from the place where it begins, whether that is kept in memory, was
//     let go, or is yet to come. A place that the run does not have is journal.ErrLost.
//   - Reading never waits. What is not there yet is answered with a bell, which is closed when it may be worth asking
//     again.
//   - No goroutine is started. A reader that does not read holds a position and nothing else.
//
// It knows bytes and bells, and nothing of HTTP: package stream writes what is read here to a client.
package feed
