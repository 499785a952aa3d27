// Package chat is the wire of DeerFlow 1: the stream of POST /api/chat/stream.
//
// # The stream
//
//   - A frame has a name, one line of JSON, and an id, which DeerFlow's have not: the run's id, a colon and a number that
//     counts 0, 1, 2 …, with one gap after the loss of power (see [wire.BeyondLoss]).
//   - All frames of a message have its id, which is the turn's. A frame with a finish_reason is its last, but for one: a
//     finish_reason "void" says that another message takes its place, and readers who can should drop it.
//   - content that is empty is left out.
//   - The calls of a message are told one after the other, also where a model writes them at once: DeerFlow's page puts a piece of
//     arguments without an id to the call that was told last. Each frame tool_calls lists all calls so far, because the page
//     forgets those that it does not list; tool_call_chunks is always a list.
//   - What the chunks of a call come to is JSON, or the page would stop. A chunk with an id begins the call's arguments anew.
//   - A clarification is told as the message that it is: the next message of the thread is its answer.
//   - citations come once, after a run that succeeded, if its report cites something.
//   - The last frame is end, with the run's status. Its id is the one of the last message, so that DeerFlow's page, which
//     does not know the frame, sees nothing new in it.
//
// What people see of a tool's result is its content; that of web_search is the list of pages that DeerFlow's page draws.
//
// # The frames
//
//	message_chunk  tool_calls  tool_call_chunks  tool_call_result  interrupt  citations  error  end
package chat
