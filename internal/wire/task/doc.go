// Package task is tributary's native wire: the task.* events, lossless for what a person sees of a run.
//
// A task is one growing JSON object, {task_id, status, output: [item, …], …}. The stream is the way in which it is
// assembled: a thing is added (an empty shell), grows by deltas, and is done (the whole value, once more). A reader
// that folds the stream has a valid picture after every frame; one that listens to done alone loses nothing.
//
// # The stream
//
//   - Every frame has type, task_id and sequence_number. One counter serves the whole run tree: 0, 1, 2 … without
//     holes, but for one: after the loss of power, which may take events that were seen, it goes on far beyond (see
//     [wire.BeyondLoss]), so that no number ever stands for two events. The frame's ID is the same number in decimal.
//     Frames have no SSE event name, so that a plain EventSource gets all of them in onmessage.
//   - The root task's id is the run's id; a sub-agent's is the id of the call that opened it. task.created of
//     a child says parent_task_id. A second task.created for the same id means that its work is tried again: its output
//     and its children are void.
//   - output_index counts the items that a task has begun since its task.created. An index is never used twice: an
//     item that is void (task.output_item.reset) leaves a hole, which the folded object closes. Items stand in the
//     order of their indices.
//   - status is on every item: in_progress when added, completed or incomplete when done. What is still open when its
//     task ends is done as incomplete; what it has grown by stays.
//   - done merges by field: what is absent keeps its value. The tool_result that contains a sub-agent is done
//     without block_list; its blocks are the child's output, and each of them says its task_id. Children that no
//     tool_result contains, as the experts of a team, are in the tasks list of their parent, or of its container.
//   - What was cut off and not tried again ends like everything else, but as incomplete, with all it had: the text that people
//     saw, a call with its id, name and arguments so far. task.output_item.reset is only for what a later try takes the place of.
//   - A container whose sub-agent failed, was canceled or expired says so in its member task: task_id, status, agent, title,
//     error, usage.
//   - Annotations appear on text.done and never before, because a marker may be cut by deltas.
//   - Terminal frames are task.completed, task.failed, task.canceled, task.expired and task.input_required; with them come
//     usage (the sum over all turns of the task and its children), error and reason. The root's is the last frame.
//
// # The frames
//
//	task.created  task.queued  task.working  task.completed  task.failed  task.canceled  task.expired  task.input_required
//	task.interrupt                                    a question to a person; all pending ones wait when input_required comes
//	task.output_item.added|done|reset
//	task.reasoning_summary_item.added|done  task.reasoning_summary_text.delta
//	task.tool_call_arguments.delta|done
//	task.text.added|delta|done  task.image.added|delta|done  task.file.added|done  task.foreign.added|done
//	task.plan.updated  task.team.formed|dissolved  task.warning  task.custom
//
// # Both directions
//
// [Projector] writes the stream, [Object] the folded object from a [transcript.Task]. For every run, and after every event
// of it, what a reader of the frames has assembled (tasktest.Fold) and the object of the transcript are the same.
package task
