// Package team answers a question with a team of experts: they work in phases, side by side, each as a sub-agent with tools of
// its own, and a lead makes one answer of what they found.
//
// A team is a graph, so that it is kept, crashes and goes on as any other:
//
//	form → review → work ⟲ → synthesis
//
// # Laws
//
//   - A team that was formed is dissolved: TeamFormed is told before anything of the team's work, and TeamDissolved after all of
//     it, also when the run fails, is cancelled or runs out of time. After a crash TeamFormed is told once more, with the same id
//     and the same members. A run that stops to ask a person, or is handed over, dissolves nothing: the team goes on.
//   - Every expert of a phase that begins is a child task, "<phase>.<expert>", with one end. An expert who fails, is cancelled
//     or takes too long does not fail the team: the lead is told who is missing and why, and says so.
//   - A phase begins when all that it depends on are done, and its experts are shown what those found. A phase that all of its
//     experts failed in has failed, and what depends on it is skipped.
//   - What may pass is tried again by [agent.Call]: the turn is void, and a new one takes its place. An empty answer may pass.
//     A model whose stream breaks before its first token, or that cannot stream, is asked once for the whole answer; one
//     that breaks later is asked anew, and never goes on where it was.
//   - If the lead cannot be had for the synthesis, the findings stand in its place, one after the other, marked as such.
//   - What a person says to an expert, or to all, is on disk before it is accepted, and is an event. It is part of the expert's
//     conversation before its next turn, once, also after a crash; one who has answered is asked once more. Experts of
//     later phases read it too, and so does the lead, who reads what was said to anybody. When the lead answers nobody listens any more, nor
//     while a plan waits to be accepted. Of what was said in a run that stops with an expert's question, the run that goes on knows
//     what its experts have heard.
//   - The plan is told whole whenever it changes.
package team
