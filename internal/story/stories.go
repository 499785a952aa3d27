package story

// All is every story there is, the simplest first.
var All = []Story{
	hello, conversation, toolCall, parallelTools, reasoning, images, webCitations,
	interruptAndResume, parallelInterrupts, breakpoint,
	errorMidStream, retryWithReset, warning, panicking, cancel, crash, crashInSubAgent,
	customEvents, subgraph, subAgentWithCitations, failingSubAgent, teamAndPlan, newerVersion,
}
