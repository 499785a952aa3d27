// Package gemini speaks to Google's Gemini models, through the Gemini API and through Vertex AI.
//
// It does without the official SDK: that hides the response from its callers, so that neither the stream can be
// read here nor Retry-After be seen, and brings gRPC, OpenCensus and 15 other modules along. Requests are
// plain JSON over net/http; the SDK judges in the tests whether an answer was understood.
//
// # What is promised beyond the laws of model.Model
//
//   - Every framing is read, whichever was asked for: server-sent events, one JSON array in pieces, and one object, as an answer that is
//     not streamed is.
//   - Thoughts are reasoning items. A thought signature is kept where it can be sent back: on the call that
//     it came with, otherwise on a reasoning item. On the next turn it is sent with the call, or in an empty
//     text; thoughts themselves are not sent.
//   - Arguments that arrive by JSON path are passed on as the JSON text that they grow into, so that the pieces
//     of a call, joined, are its arguments. Whole arguments are one piece. Calls without an id have none.
//   - Code that the provider ran, what came of it, and other parts that only it understands are kept, as [model.Opaque],
//     and sent back as they came; so is the signature of a picture, with the picture.
//   - Grounding and citations are told as URL citations of the text blocks, in code points, although the wire counts bytes. A
//     segment that cannot be found in the text is not told.
//   - Usage is what the provider said last; it says so with every chunk, and is passed on when it changes.
//   - The finish is told when the stream has ended, since grounding and usage may follow the finish reason.
//     A stream that ends without a finish reason is Broken; a prompt that was blocked is Refused; a call that the
//     model wrote wrongly is Broken too, as the API keeps it to itself and the model may do better next time.
//
// # What the API demands of a conversation
//
// The user begins, no turn is empty, and a turn with calls is followed by one with exactly their results.
// Conversations that began elsewhere, were trimmed or were cut off are made to fit: a call without a result is
// given one that says so, a result without a call becomes text. Newer models refuse calls without a thought
// signature; calls that another provider made carry the word with which the API lets them pass.
package gemini
