// Package langgraph writes a run's events as the run-scoped SSE of LangGraph's server: what its Client and the legacy
// useStream read from /threads/{id}/runs/stream and from a join.
//
// # Laws
//
//   - metadata {run_id, attempt} is the first frame, and comes again when a new attempt begins. error {error, message} is
//     the last frame of a run that failed or timed out, and of no other; a cancelled run's stream just ends.
//   - A message is known by one id, the turn's, in its chunks, in values and in updates. A client that joins the contents
//     of the chunks has the text of the message; usage and finish reason come once, on a last chunk without content.
//   - Chunks of tool calls are numbered from 1, apart from the text, which counts as 0: clients merge chunks by index.
//   - A complete message that a node returned is shown once, as a whole, unless it was streamed or stood in the state.
//   - values is the whole state, after the input and after each step that wrote something; or {"__interrupt__": […]} and
//     nothing else, once, when the run ends interrupted. The list holds every question that is open; a breakpoint
//     leaves it empty.
//   - A voided turn is told in mode custom, as {"type":"message_superseded"}; its message never appears in values.
//   - Names: a mode's frames are named after it, messages-tuple's "messages". With Subgraphs the name goes on with the
//     namespace of the graph, "updates|research:1f2e…"; the tokens of a root node are plain "messages", as in LangGraph's
//     library (its JS server adds the node); frames of modes messages and events have plain names at every depth. Without
//     Subgraphs only the root graph is told of, but messages, tools and events of graphs below too.
//   - A frame's ID is "<epoch>-<seq>" of its event, with ".1", ".2" … after it for the event's second, third … frame, so
//     that a cut between two of them resumes exactly. It is the same for every combination of modes up to the place.
//
// # States
//
// Values are not in the journal. They are looked up by checkpoint id ([States]), spliced as they are, and only where a mode
// that was asked for shows them: with messages-tuple, updates, custom and tools alone no state is read, but for one case: a
// node returns a message that was not streamed and answers no call of this run. It may be new, or one that the state has had
// all along, which clients must not get twice.
//
// # What is not here
//
// The end event of older servers (the stream just closes), feedback, heartbeats (the server's), and in mode events what the
// journal does not know: the messages that a model was shown.
package langgraph
