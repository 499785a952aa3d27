// Package stream writes what readers follow to clients, as server-sent events.
//
// # Laws
//
//   - A reader writes what is there, once, and flushes once per wake-up. A silent stream shows that it lives.
//   - A reader that does not read is dropped after a while, and so is one that may no longer read.
//   - Nothing is written before the first bytes are known: until then a mistake can be answered with a status.
//   - A stream ends well only where there is nothing more to say. One that cannot be continued breaks, so that its reader
//     notices and comes back.
//   - Closing a connection stops its own reading and nothing else; what else should stop is for those to say who learn
//     the [Ending].
package stream
