// Package eventstream is what all providers share about the wire: reading the three framings in which
// answers are streamed, telling when a stream has gone silent, and naming what went wrong.
//
// # Reading
//
// [Reader] reads server-sent events, [Lines] newline-delimited JSON, [Array] one JSON array that arrives in
// pieces. All three keep these laws:
//
//   - What comes out does not depend on how the bytes were cut on their way: not in the middle of a line,
//     of a line end, or of a character.
//   - A piece is handed out as soon as its last byte is in, without waiting for the one after it.
//   - Bytes handed out are valid until the next call, and only then overwritten.
//   - [io.EOF] says that the source ended cleanly, which does not mean that the answer was complete: only
//     the provider's own finish says that. An error is repeated by every later call.
//   - No single piece may be larger than a limit, [MaxSize] where none was set; beyond that, a [*model.LimitError].
//
// # Failing
//
// [Fault] turns a status, an error object or an error of the network into a [model.Error]. Messages in it
// are scrubbed: they hold no key.
//
// # Calling
//
// [Client] keeps calls from being led elsewhere, and answers from growing without end. [Watch] ends a call that has gone
// silent, and reads one that never is at a pace.
package eventstream

// MaxSize bounds one event, line or array element. Images that a model made arrive as one event, and the
// largest of them are some megabytes of base64.
const MaxSize = 16 << 20
