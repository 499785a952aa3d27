package story

// All is every story there is, the simplest first.
var All = []Story{
	hello, conversation, toolCall, parallelTools, reasoning, images, webCitations,
	interruptAndResume, parallelInterrupts, breakpoint,
	errorMidStream, retryWithReset, warning, panicking, failingTools, timeout,
	cancel, crash, crashInSubAgent, powerLoss, unknownOutcome, drain, queued,
	customEvents, whatTheModelSaw, subgraph, subAgentWithCitations, failingSubAgent, teamAndPlan, newerVersion,
}
