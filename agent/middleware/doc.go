// Package middleware has what stands around a capable agent's model and tools, each as one [agent.Middleware] that knows
// nothing of the others: views of a long conversation, budgets, guards, and tools that come with a view.
//
// # Laws
//
//   - The thread is never rewritten. What a model is shown is a view of it; what a view needs to know is a field of the state,
//     so that another process shows the same.
//   - A prompt can be cached. The view of a longer conversation begins with the bytes of the view of the shorter one, unless a new
//     summary was made between them. What changes from call to call (a warning, a list of todos) stands behind everything else.
//   - Each message is looked at once in a run. What a model call costs depends on what is new, and not on how long the thread is.
//   - Text of people, files and pages does not speak for the program: see [Sanitise]. What the program says is between
//     <system-reminder> and </system-reminder>; tell models so with [ReminderRule].
//   - Nothing that is too much ends a run. A conversation that is too long, a result that is too large, a budget that is used up and a
//     model that turns in circles lead to less being shown, or to a last answer without tools; people are warned.
//   - A tool call that is not made is refused with words that the model can act on.
//
// # Order
//
// The first of a list is the outermost. These stand in the order that works, with those that others may stand between:
//
//	Sanitise, Outputs, SkillTools, ToolErrors, Authorise, AuditShell, Summarise, Skills, Uploads, Remind, ViewImages, Durable,
//	Pursue, Defer, LimitSubs, StopLoops, Budget, Usage, RetryEmpty, ExplainStops
//
// Sanitise sees the thread before anything of the program is in it. Summarise comes before what is attached to messages, so that
// what it leaves out is not worked on. Outputs is around everything that makes a result; Authorise is around whatever has an
// effect.
//
// A file must be read before it is overwritten; that is a law of package files itself and needs no middleware.
package middleware
