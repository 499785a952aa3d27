// Package outbound is the one HTTP client for requests that the server makes because somebody outside asked for them:
// webhooks, pages, search engines, images, tool servers. Whoever gives the address is not trusted with it.
//
// # Laws
//
//   - Only public addresses are reached. What counts is the address that the connection is made to, at the moment when
//     it is made, for each try and each redirect: what a name stood for earlier does not matter, nor how it is spelled.
//     Not public are this machine, its networks and neighbours, all that IANA keeps for special use, addresses that
//     stand for another one (v4 in v6, NAT64, 6to4, Teredo), and the machine's own public addresses.
//   - What is not public is reached only if the settings name it ([Allow]).
//   - Only http and https are spoken.
//   - An answer is bounded: its header, its time, its redirects, and its body after decompression. A body that is too large
//     ends in a [*TooLargeError], never in memory.
//   - Headers that the caller set for one host, keys among them, do not follow a redirect to another.
//   - The proxy of the environment is not used. One that is configured ([Options.Proxy]) resolves names itself, so it
//     must see to their addresses; addresses that are written out are still checked here.
//   - Errors about addresses say which setting lets the address be reached.
//
// Clients of a model's provider and of our own server are not made here: their addresses come from the operator.
package outbound
