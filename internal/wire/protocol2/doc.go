// Package protocol2 writes the runs of a thread as the thread-centric protocol of LangGraph's newer clients
// (@langchain/react, client.threads.stream): one stream of events on channels, which stays open from run to run.
//
// # Laws
//
//   - The stream of a thread is that of its runs, one after the other in the order in which they started. One Projector is
//     fed all their events; or one that knows how many frames the earlier runs gave ([Options.Base]).
//   - seq counts the frames of a thread from 1, over all channels and before any filter, without holes but
//     those that the loss of power leaves (see [wire.BeyondLoss]). event_id is the same number as a string, and so is the SSE id. A filter drops frames and never renumbers them.
//   - What frames an event gives depends on the event and on states, which never change; not on what a reader asked for. A
//     frame that no reader asked for is counted without being written ([Options.Only]).
//   - The root's lifecycle begins each run with running and ends it, as its last frame, with completed, failed or
//     interrupted; a cancelled run ends interrupted, one that timed out failed.
//   - A node has a namespace of its own, told started before the first frame in it and ended when the node ends. A node that
//     has nothing to say there has none. What is open when the run ends is ended first, the last begun before the others.
//   - A message is message-start, blocks, message-finish, all under one id, the turn's, and in one namespace. Blocks of a
//     message are numbered from 0 in the order in which they begin, whatever they are. Text pieces append; a tool call's
//     delta carries all its arguments so far. usage is told once, before the blocks are finished.
//   - values are told with the checkpoint that holds them, checkpoints first.
//
// A voided turn has no word in this protocol: no message-finish comes, a custom event message_superseded tells of it, and the
// next values do not have it.
package protocol2
