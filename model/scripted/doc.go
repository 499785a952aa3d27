// Package scripted is a model for tests that says what it is told to say, in the way real providers say it.
//
// A [Script] is one answer, written as a chain:
//
//	scripted.Think("the user wants the weather").
//		Say("Let me look.").
//		Call("call_1", "weather", `{"city":"Paris"}`)
//
// A [Model] picks a script for each call: [New] by looking at the request, [Sequence] by counting calls.
//
// # Laws
//
//   - The same script yields the same parts, always. What a script says is the sum of its pieces, byte for
//     byte; [Script.Text] and [Script.Calls] tell in advance what that will be.
//   - It is no kinder than a provider: text is cut inside words, arguments inside JSON strings, the id and the
//     name of a call come with the first piece only, usage comes last. It is no worse either: runes stay
//     whole, and every law of package model holds unless the script breaks it on purpose.
//   - A script that does not say how it ends, ends well: one [model.Usage], then one [model.Finish]. After
//     [Script.Fail], [Script.Cut], [Script.Stall], [Script.Panic] or [Script.Finish] nothing more is said.
//   - Waiting is done with timers, channels and the context alone, so that testing/synctest can hurry it, and
//     cancelling the context ends any wait at once with the context's error.
//
// Scripts are values: every method returns a longer copy, and sharing a beginning between two scripts is fine.
package scripted
