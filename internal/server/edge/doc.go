// Package edge is what all dialects share where HTTP ends and the program begins: the table of routes, who asks, what a
// request says, and how it is answered when it cannot be obeyed.
//
// # Laws
//
//   - Every mistake of a client is answered with a 4xx and a JSON error that names the field, and changes
//     nothing. Only what is our fault is a 5xx, since clients retry those, and its cause is told to the log alone. There
//     is one table from errors to statuses, in [StatusOf].
//   - Every route that [Routes.Handle] adds has an identity.
//   - A body is read with bounds on its size, depth, keys and time, and is text that can be stored, before anything is
//     built from it.
//   - Large bodies are read when there is room for them (package admission); small ones are never held up.
//
// It has no words of any dialect's own: what a route is called and what its members are is the dialects' business.
package edge
