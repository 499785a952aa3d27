// Package anthropic speaks to Claude over Anthropic's Messages API, and to servers that offer the same wire.
//
// The official SDK builds the request, authenticates and sends it; the body of its raw response is read here,
// by a decoder that knows only the fields that become parts. That costs a fraction of the SDK's own
// decoder and does not refuse what it has not heard of.
//
// # What is promised beyond the laws of model.Model
//
//   - A thinking block is one reasoning item: its text as it arrives, its signature whole when the block ends.
//     Redacted thinking is an item with Encrypted only. Both are sent back on the next turn, if the
//     conversation says that this provider made them; reasoning of others is dropped.
//   - The input of a tool is passed on as the model wrote it. If it never closes, the arguments do not parse,
//     and it is the caller who says so. A call without any input has the arguments {}.
//   - The provider's citations have no position in the answer, they belong to a block. They are told when
//     the block has ended, and span all of it.
//   - What Anthropic's own tools (web search, code execution, MCP) asked and found is kept, as [model.Opaque], and sent
//     back on the next turn in its place; so are compactions and other blocks that are not known here, if they came
//     whole. A call of theirs without a result is sent back only if it is the last thing said. The container that
//     code ran in is asked for again while it lasts.
//   - A second message that begins in the middle of an answer, as a proxy that retries makes it, is Broken: two answers
//     are never one.
//   - A refusal's explanation is told with the finish.
//   - Usage is what the provider said last. Input tokens include those read from and written to its cache.
//   - An answer is complete when message_stop has come, and not before: without it, the class is Broken. One that is not streamed,
//     because it was asked for whole or because the server does not stream, gives the same parts, each block in one piece.
//
// # What the API demands of a conversation
//
// Turns alternate, every call is answered in the turn after it, and no text is blank. Conversations that
// began elsewhere, were trimmed or were cut off keep none of this, so the request is made to: neighbours of
// one role are joined, results stand first in their turn, a call without a result is given one that says so,
// a result without a call becomes text, blank text is left out, and call ids get the shape that the API accepts.
// System messages move to the system prompt wherever they stood.
//
// Vertex AI is reached with Project, Location and Token. Bedrock frames its streams in a binary form that is not read here.
package anthropic
