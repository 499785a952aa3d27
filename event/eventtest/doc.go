// Package eventtest makes events for tests: [Samples], one readable envelope of every kind, and random ones for
// property tests ([Event], [Envelope], [Message], [Item]).
//
// Random values are in the form in which they come back from JSON: text is UTF-8, times are in whole microseconds,
// raw JSON is compact, empty lists are nil. So encoding and decoding one must give an equal value. They are
// random one by one and do not add up to a lawful run; for that, see the packages that write runs.
package eventtest
