// Package offline is the built-in model: a small program that answers without a network, so that a fresh
// installation has something to talk to and tests have something to run against.
//
// It is not a language model and never pretends to be one. It counts, calculates with two numbers, greets, and
// says what it is when asked. Offered a tool named "search", it looks a question up and answers with sentences
// that it quotes, word for word, from the passages that came back, each with its [^n] mark. In deep research (package
// agent/research) it plays every role in this manner: its plans are headings and its reports quotations. With "write_file" it writes
// a file that is asked for by name and content, and shows it with "present_files"; with "python" it has sums of more than two
// numbers computed. What it cannot do it says.
//
// # Laws
//
//   - The same request gives the same parts, always, on every machine.
//   - Every quotation is a stretch of the passage whose number follows it. Nothing is cited that was not in a
//     search result of this conversation, and nothing outside quotation marks claims a fact about the world.
//   - Text arrives in the tokens of a real vocabulary (the first quarter of o200k), and usage counts them. A token that ends inside a
//     rune is held back until the rune is whole, so that every piece is valid UTF-8.
//   - What it does with a text does not grow with the text: of a long one it reads the two ends (4 KiB each), unless it is
//     a task with parts, and counts the tokens of the first 64 KiB, by which it estimates the rest.
//   - It keeps nothing between calls: what it knows of earlier turns it reads from the request.
package offline
