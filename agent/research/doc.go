// Package research makes a graph that goes from a question to a report whose citations can be checked, with a person in
// the loop.
//
//	start → coordinator → background_investigator → planner → human_feedback → research_team → researcher ┐
//	            ⇅                                    ↑   │          │   ↑           ↑  │  ↳→ analyst      │
//	          clarify                                │   └→ reporter┘   └ planner   │  └─↳→ coder         │
//	                                                 └─────────────────────────────┘ ←────────────────────┘
//
// The coordinator answers by itself, asks what is meant, or hands over. The background investigator searches once, so that
// the plan is made by somebody who has seen what there is. The planner writes a plan; a person accepts it, says what to
// change, or changes it. The team works through it, step by step or several at once. When all steps are done the planner
// looks at what is still not known, and plans another round or lets the reporter write.
//
// # Laws
//
//   - Limits are kept by the program and not asked of the model: steps of a round, rounds, results of a search, questions
//     to the person, tokens and time of the steps. A round that found nothing new is the last one.
//   - Every step ends, once. One that fails, is cancelled alone or says nothing counts as done, with its error; the plan
//     goes on without it. After a crash a step that had ended is not done again.
//   - A step is a child task with the id "step-<step>": it can be watched and cancelled by itself. The plan with all
//     its steps is told whole, as [event.PlanUpdated], whenever something of it changes.
//   - A plan that a person is asked about is carried out as the person left it. An answer to a question that is no
//     longer asked is refused before it reaches the graph.
//   - The numbers [^n] of a report are those of passages that were read in this thread, and the state keeps those passages
//     ([Source]). The list of references is made from them; what a model writes in its place is dropped.
//   - A citation is held against its passage while the report streams ([Check]). One that the passage does not bear out is
//     marked where it stands, and the reason is told at the end.
//   - Where a model is configured for it, it is asked about the citations that words alone cannot decide, after the report was
//     written. What it does not confirm is told in a section that it adds; nothing of the report is changed or left out.
//   - A report grows in a file of the thread's outputs while it is written: what somebody was shown of it is in the file,
//     however the run ends. The file, and the pictures that the coder left there, are the artifacts of the state. The report
//     shows every picture.
//   - What is known on one side of a contradiction and denied on the other is shown to the reporter as a conflict. What no
//     source says is reported as not found.
package research
