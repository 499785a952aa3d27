// Package agent makes agents of models and tools: graphs that call a model, run the tools that it asks for, show it
// what came of them, and go on until it asks for none.
//
// # Laws of a model call
//
//   - One try is one turn. The next try is a new turn with a new id that names the one it replaces, which is void from
//     then on. Text of two tries is never mixed.
//   - The last try is never void once it has shown something. Stopped or failed, it ends incomplete, with what it had, and is
//     counted; the thread keeps its message, and models are shown it with a note that it was cut off.
//   - Only failures that may pass are tried again, at most [Policy].Tries times on each model, after a wait that the
//     provider may lengthen. Then the next model is asked. What a provider's filter refused is not carried
//     to another provider.
//   - The error of a call is one sentence with the provider's reason, and its code is the class of the failure.
//
// # Laws of a tool call
//
//   - Every call gets exactly one result. Unknown tools, wrong arguments, errors and panics are results too: failed
//     ones, which the model reads.
//   - Before a tool runs, its intention is on disk; its outcome is on disk before anybody acts on it. After a crash, a
//     call that has an outcome keeps it. One that had begun is made again only if the tool is Repeatable;
//     otherwise the model is told that the outcome is unknown. One that still asks a person for leave asks again.
//   - Each call is a node execution of its own, so that an interrupt in one of them does not repeat the others, and
//     results stand in the order of the calls whatever finished first.
//   - Call ids are unique within the run. A sub-agent's calls never have the provider's ids, because two of them
//     running beside each other may be given the same.
//
// # Laws of middleware
//
//   - Its order is a list, and equal lists behave equally. What a list does is printed by [Order].
//   - A changed request is a view. It never touches the thread; state is written by hooks and by the outcomes of tools.
//   - A hook is a node: its update, question and crash are those of any node.
//   - Wraps of a tool call run after its intention is on record and before its outcome is, so nothing that they do defeats
//     the fence of a lost lease, runs a tool unrecorded, or runs it twice.
//   - What a tool writes into the state is recorded with its result, and applied with it after a crash.
//   - The answer that people were shown is the one that the thread keeps, whatever a wrap returns.
//
// # Laws of references
//
//   - All agents of a run draw from one pool (package cite). Results are numbered when they are recorded, and numbers
//     that are recorded never change: a pool is restored from the conversation and from what the journal
//     recalls before it gives out a new number.
//
// # Laws of sub-agents
//
//   - A sub-agent is a tool whose call contains a child task: task id = call id, the same journal, its own checkpoints.
//     The caller's model sees the final answer and, before it, the items that the answer cites. People see everything.
//   - A sub-agent that fails, says nothing or exceeds a limit is a failed result. It never outlives its caller.
package agent
