// Package payload reads the JSON payloads of an answer from left to right, and of each only what is asked for.
//
// A chunk of an answer is some hundred bytes of JSON of which a dozen are new. Package encoding/json reads all of it
// twice and makes values of most; here what nobody asks for is passed over by looking for its end.
//
// # Laws
//
//   - Where encoding/json reads a document, a [Reader] reads the same values from it. Names are told apart by case.
//   - A value of another kind than the one asked for reads as nothing, and is no error: it belongs to something newer
//     than we are, and what stands beside it is still read.
//   - What is no JSON is an error, found at the latest by [Reader.End]. Four things are let pass that the standard
//     forbids and servers send: control characters and unknown escapes in strings that nobody asked for, raw control
//     characters in others, and Python's NaN and Infinity in the place of numbers.
//   - Strings come out as valid UTF-8, whatever came in.
//   - What is returned as a string is a copy. Keys and what [Reader.Raw] and [Reader.Word] return belong to the payload
//     or to the Reader: the next call may overwrite them.
//
// After an error every call returns at once and without a value, so only [Reader.End] need be asked about it.
package payload
