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
//     interrupted, which means that it waits for somebody; a cancelled run ends completed, one that timed out failed.
//   - Namespaces are those of graphs: the root's is empty, a subgraph's and a sub-agent's ends with the node and the execution
//     that it is. Whatever a node says, its messages and tool calls too, is told in the namespace of its graph. One below the
//     root is told started before the first frame in it and ended when its graph ends. What is open when the run ends is
//     ended first, the last begun before the others.
//   - A message is message-start, blocks, message-finish, all under one id, the turn's, and in one namespace. Blocks of a
//     message are numbered from 0 in the order in which they begin, whatever they are. Text pieces append; a tool call's
//     delta carries all its arguments so far. usage is told once, before the blocks are finished.
//   - Messages that are under way in a namespace at the same time differ in their ids, by which Python's clients put pieces
//     together, and in params.node, by which JavaScript's do: it is the node, and for the second of its executions
//     that speaks at once the node and the message's id.
//   - values are told with the checkpoint that holds them, checkpoints first.
//
// A voided turn has no word in this protocol: no message-finish comes, a custom event message_superseded tells of it, and the
// next values do not have it.
package protocol2
