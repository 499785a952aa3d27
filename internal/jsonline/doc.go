// Package jsonline writes JSON by hand, and looks into JSON without decoding it, where reflection would cost more than
// all the rest: on the way of a token, and of the events that repeat a whole text at its end.
//
// What holds:
//
//   - What the append functions write is, byte for byte, what encoding/json writes with its escapes for HTML turned off;
//     property tests and fuzzing hold them to it. So it does not matter which of the two wrote a line on disk.
//   - What is appended has no line ends, and is UTF-8.
//   - Looking never accepts what encoding/json would refuse. Keys are compared exactly, not by folding their case.
//
// It knows nothing of items and events, and decides nothing about their form.
package jsonline
