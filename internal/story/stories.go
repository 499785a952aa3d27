package story

// All is every story there is, the simplest first.
var All = []Story{
	hello, conversation, toolCall, toolStreams, parallelTools, reasoning, images, webCitations,
	interruptAndResume, parallelInterrupts, breakpoint,
	errorMidStream, retryWithReset, warning, panicking, failingTools, timeout,
	cancel, crash, crashInSubAgent, drainInSubAgent, cancelAfterCrash, powerLoss, unknownOutcome, drain, queued,
	customEvents, whatTheModelSaw, stateFields, subgraph, subAgentWithCitations, failingSubAgent, teamAndPlan, spokenTo, newerVersion,
	planMode, toolApproval, clarificationAfterRestart, subAgentsOneCancelled, fileAsArtifact, bootstrap,
	citationsAcrossTasks, forgedTags, namedThread,
	longThread, loopIsStopped, pictureSeenOnce, emptyAnswer, budgetRunsOut, backgroundTask, goalPursued,
}
