// Package providertest holds a provider's package to what all of them promise, against servers on this machine. Tests
// of providers use it; programs do not.
//
// A [Subject] says how the provider is reached and what the first piece of its answers looks like. [Subject.Faults] is the
// matrix of connections that fail, [Collect] folds an answer and holds it to the laws of package model, [Cuts] are the
// ways in which a recording is cut on its way, and [Replay] serves it, in this process or, for measurements, in
// another one.
package providertest
