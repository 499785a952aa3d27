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
//   - A source is closed when its stream is over, whoever writes it then.
//
// # Parking
//
// Most streams that are open at any time are silent, and net/http keeps 16 KiB for each beside ours: buffers, two goroutines, the
// request. A stream that has said nothing for a while is parked: its connection is taken over, the handler returns, and one
// goroutine with a small stack writes on. The client cannot tell: the bytes are the same chunks of the same answer, and after the
// last of them net/http gets the connection back for the next request.
//
//   - A parked stream keeps all laws above. That its client has left is noticed within feed.LookEvery, and not at once; so those are
//     not parked whose leaving means something ([Terms.Attend]).
//   - Its goroutine belongs to the [Terms]; [Terms.Close] cuts what it writes short, and waits for it.
package stream
