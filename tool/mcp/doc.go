// Package mcp gives agents the tools of MCP servers: processes that the operator's configuration starts, and servers that
// are reached over HTTP. A [Hub] has the servers, keeps their sessions and makes tools of what they offer.
//
// # Laws
//
//   - A command is started only for a server that was given to [Open]. A server that comes with a request has an address, or
//     it is refused ([ErrCommand]) before anything is done.
//   - A server that is dead, slow or wrong costs one call, which fails with words that the model reads. The next call
//     makes a new session.
//   - What belongs to one thread is seen by no other: a session serves one thread, unless the server's settings say that
//     it is shared.
//   - Everything that a server says is somebody else's text. Names are brought into the form that every provider takes,
//     descriptions and schemas are bounded and freed of characters that nobody sees, a schema that cannot be checked
//     is not offered, and a result is cut where it is too long.
//   - A process gets an environment of its own: where programs and the home are, and what the settings name. Its children are
//     ended with it.
//   - What a server was told in confidence, in its headers or its address, is masked in everything that it says.
//   - Requests are made by the client that the Hub was given, and no other. Headers of the settings go to the server's own
//     host alone.
//   - A question of a server (elicitation) is a question to a person, by [tool.Scope].Ask. The call then ends, and is made again
//     from its beginning when the answer is there: so a server asks before it does anything.
//   - A Hub that is closed has ended its processes, connections and goroutines.
package mcp
