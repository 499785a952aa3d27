// Package lead assembles the lead agent: for every run an agent of its own, out of what the run asks for, the custom
// agent that it names, and the defaults.
//
//	settings of the run ─┐
//	custom agent ────────┼─▶ Assemble ─▶ Assembled (plain data) ─▶ agent.Options ─▶ a graph like any other
//	models, tools, … ────┘
//
// # Laws
//
//   - [Assemble] is a pure function. Equal settings and parts give equal agents; nothing is kept between two runs, so two
//     that execute at the same time never see each other's settings.
//   - What the request says comes before what its custom agent says, and that before the defaults. A context's value comes
//     before a configurable one.
//   - What cannot be had is never a surprise: a model that does not exist, thinking that a model cannot do, a tool that is
//     off, a middleware that has nothing to do, each is in [Assembled] with its reason, and a warning is told to the run's readers
//     where something goes otherwise than asked.
//   - The order of the middleware is a list ([Order]), the same for all runs; settings only leave members out.
//   - A question to a person (a clarification, an approval) is an interrupt of the run: the answer, after days or restarts,
//     goes on at the same step, and what was done before the question is not done again. Where nobody is there to answer,
//     a policy answers.
//   - Work that outlives its run ([Background]) is begun once for each call, and the thread is told of its end once.
//   - Nothing here runs a tool that a rule wants approved before somebody approved it, nor twice.
//   - The fields of the state have the names and the merge rules that clients of DeerFlow know ([Fields]).
package lead
