// Package transcript folds the events of a run into what a person sees of it: tasks, their output items, the
// blocks inside, what was asked, planned and spent. It is the one place where this is done; the library, the
// server, sub-agents, crash recovery and tests all read from here.
//
// # Laws of the fold
//
//   - The picture is valid after every event, and a [Fold.Task] taken then never changes.
//   - Folding is linear in the events. A delta costs its own length; "ended" values replace what was joined
//     and are never added to it.
//   - Items stand in the order in which they started. What a voided turn produced is gone from the picture, ended
//     or not. An item that starts again (after a crash), and a second result for a call that has none yet, stand
//     at the place of the new start, and the first try is gone.
//   - Usage is the sum over turns, voided ones too, and counts for the task and all tasks above it. What TaskEnded
//     and RunEnded say about usage is checked and not used.
//   - A child task's items are what its caller's tool_result shows; blocks of that result itself are not shown. A
//     child without such a result (an expert of a team) is listed in its parent's Tasks.
//   - When a task ends, everything below it that is still open ends with it, deepest first: tasks with the same status,
//     items as incomplete with what they have.
//   - A task that starts again with a higher attempt begins empty; its children of earlier attempts are gone. With the
//     same attempt, as after a crash, it goes on with what it has.
//
// # Showing a run while it grows
//
// Whoever prints a run as it goes, as the task wire does, need not fold it a second time: an [Outline] is the same fold without the
// texts, and reports what changed. Of most events the reader knows that from the event, and the outline says what it speaks of:
//
//	Task, Item, Block   what the event began, changed or ended; nil where it fits nothing
//	Whole               the item that it ended, as people see it
//
// What an event brings about beside, the outline tells a [Watcher] while it takes the event in:
//
//	TaskBegan, TaskEnded   also those that nobody announced, and those that end with the task above them
//	ItemVoided, ItemCut    items that a later try takes the place of; those that were open when their task ended
//	BlockClosed            blocks that were open when their item ended
//
// So a printer has no maps of its own and sums nothing up.
//
// # Broken laws
//
// [Fold.Apply] never refuses an event that it can make sense of: a page half right is better than none. It does
// the most sensible thing and returns a [*LawError] that says which law of package event was broken. A server
// logs it and goes on; a test fails. So there is no strict mode: being strict is to look at the error. [Check]
// does that for a whole journal.
package transcript
