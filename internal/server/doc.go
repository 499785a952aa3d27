// Package server is the HTTP face: it decodes requests, knows who asks, calls the engine, and lets readers follow
// journals through the dialects. It decides nothing about runs and knows nothing of databases, models or
// agents.
//
// # Laws
//
//   - Every mistake of a client is answered with a 4xx and a JSON error that names the field, and changes
//     nothing. Only what is our fault is a 5xx, since clients retry those. There is one table from errors
//     to statuses, in [statusOf].
//   - Every call has an identity. What belongs to somebody else is answered like what does not exist.
//   - A stream is journal → projection → bytes. Readers of the same run in the same dialect share one
//     projection (see [feed]); each writes what is there, once, and flushes once per wake-up. A reader that
//     does not read holds nothing but its socket, and is dropped after a while.
//   - Closing a connection stops its own reading and nothing else, unless the run's creator asked for that.
//
// Each dialect has its routes in files of its own, which own its strings.
package server
