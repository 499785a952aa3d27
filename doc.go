// Package tributary runs agents as graphs and gives each run one ordered, durable, typed log of events, from which
// everything that a person or a program sees of the run is read: live, late, from any point, nothing
// lost and nothing doubled.
//
// It is a library first. [Open] starts the whole engine inside the process, on a folder of its own; package
// httpapi puts HTTP around it, and the server in cmd/tributary is a program that does so.
//
//	rt, err := tributary.Open(ctx, tributary.Options{})
//	if err != nil {
//		return err
//	}
//	defer rt.Close(ctx)
//	for env, err := range rt.Stream(ctx, tributary.Request{Text: "count to fifteen"}) {
//		if err != nil {
//			return err
//		}
//		if d, ok := env.Event.(event.TextDelta); ok {
//			fmt.Print(d.Text)
//		}
//	}
//
// [Runtime.Start] starts a run and returns at once; [Runtime.Follow] reads one from any position, [Runtime.Resume] answers
// what one asks. What belongs to whom is said in every call: an owner sees what is his, and the rest does not exist.
//
// Events are Go values (package event): there is no HTTP and no JSON between a run and its reader in the same
// process. Graphs of your own are made with package graph, models and tools with packages model and tool.
package tributary
