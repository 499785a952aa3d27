// Package server is the HTTP face: it puts the dialects together behind one handler, lets in who may come in, and closes
// their streams when the process wants to end. It decides nothing about runs and knows nothing of databases, models or
// agents.
//
// The dialects are packages below, each with its routes and its strings: langgraph, tasks and mcp. They share
//
//	edge       the table of routes, who asks, what a request says, how a mistake is answered
//	jsonvalue  JSON with members in order
//	feed       readers of runs and threads, who share projections
//	stream     writing what is read to a client
//
// and know nothing of each other. openapi describes routes, and webhook tells others of the ends of runs.
//
// # Laws
//
//   - No page in a browser reaches the server by a name or from an origin that it was not told of.
//   - No owner has more at once than the limits say, and each change is written down if that is wanted (package guard).
//   - It says that it is ready only after a write that went to the disk, and says why where it is not.
//   - Every call has an identity. What belongs to somebody else is answered like what does not exist.
//   - A stream is journal → projection → bytes, and closing a connection stops its own reading and nothing else, unless
//     the run's creator asked for that.
package server
