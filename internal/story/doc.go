// Package story tells runs: each [Story] is a small program that has the real engine, on a real data folder, execute a
// few runs of one thread with scripted models and real tools. What comes out is kept in testdata/runs/<name>.txtar: the
// journal, the states that it speaks of, and what every dialect makes of it. Those files are the contract that readers
// of a run rely on, and the data on which other packages test their folds and projections ([Load], [Names]).
//
// # Laws
//
//   - A story told twice is the same story. What differs from one telling to the next, ids and clocks, is replaced
//     when it is recorded ([Tell]): ids by names in the order in which they appear, times by a clock that moves a
//     millisecond with each event. Nothing else is touched, and no event is moved.
//   - Whatever happens at the same time is put into order by the story itself, by gates that wait for the journal to
//     show something ([World.until]). The few races that no gate can reach, as of two tool calls that begin together, are
//     run again until they come out as told ([Story.Fair]).
//   - Everything below the states in a file is a function of what is above it.
//
// # The files
//
// A file begins with prose, what is told and which mistakes it pins, and goes on with sections, of which a line is one
// thing each:
//
//	events       an envelope of the journal, run after run
//	states       a checkpoint that the events speak of, with its values
//	bases        where a run stood in a namespace when it began there
//	task, …      a frame of that dialect: its id, its name if it has one, its data
//	task.final   the folded object
//
// The dialects' sections of a second and third run say which: "task run-2"; protocol2 tells of the whole thread. Frames
// of LangGraph's modes are those of a stream with subgraphs. To write the files anew, after a change that is meant:
//
//	go test ./internal/story -update
package story
