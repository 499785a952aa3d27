package graph_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// wire/langgraph/branching: what useStream does to regenerate an answer and to edit a question.
func TestRunsFromOlderCheckpointsMakeBranches(t *testing.T) {
	s := begin(t, chatGraph())
	s.input(`{"messages":[{"type":"human","content":"hello","id":"human-1"}]}`)
	first := s.snapshots("")

	s.run(graph.Execution{From: first[1].ID})
	all := s.snapshots("")
	equal(t, "regenerated", s.history("")[3:], []string{"1 fork agent", "2 loop"})
	equal(t, "parent of the fork", all[3].Parent, first[1].ID)

	r := s.run(graph.Execution{From: first[0].ID, Input: json.RawMessage(`{"messages":[{"type":"human","content":"another","id":"human-1b"}]}`)})
	all = s.snapshots("")
	equal(t, "edited", s.history("")[5:], []string{"0 input __start__", "1 loop agent", "2 loop"})
	equal(t, "parent of the edit", all[5].Parent, first[0].ID)
	equal(t, "result", r.Checkpoint, all[7].ID)
	var msgs []json.RawMessage
	if err := json.Unmarshal(r.Values["messages"], &msgs); err != nil || len(msgs) != 2 {
		t.Errorf("messages: %s", r.Values["messages"])
	}
}

func TestMissingCheckpoint(t *testing.T) {
	s := begin(t, chatGraph())
	s.input(`{"messages":"hello"}`)
	if _, err := s.try(graph.Execution{From: "671d93e8-58b4-4c28-9839-76737d9158aa"}); !errors.Is(err, graph.ErrNoCheckpoint) {
		t.Errorf("got %v", err)
	}
}

func (s *story) edit(from string, steps ...[]graph.NodeUpdate) string {
	s.t.Helper()
	id, err := s.g.UpdateState(s.t.Context(), graph.Edit{Thread: "thread", From: from, Steps: steps, Checkpoints: s.mem, Recorder: s.mem})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func human(id string) json.RawMessage {
	return json.RawMessage(`{"messages":[{"type":"human","content":"edited","id":"` + id + `"}]}`)
}

// wire/langgraph/thread-state, from the sixteenth step on.
func TestStateIsUpdatedAsANode(t *testing.T) {
	s := begin(t, chatGraph())
	s.input(`{"messages":"hello"}`)
	s.input(`{"messages":"again"}`)
	before := s.snapshots("")

	s.edit("", []graph.NodeUpdate{{Values: human("edit-1")}})
	s.edit("", []graph.NodeUpdate{{Values: human("edit-2"), As: "agent"}})
	equal(t, "history", s.history("")[6:], []string{"5 update", "6 update"})

	id := s.edit(before[3].ID, []graph.NodeUpdate{{Values: human("fork")}})
	fork := s.latest()
	equal(t, "fork", []any{fork.ID, fork.Parent, fork.Step, fork.Source, len(fork.Next)}, []any{id, before[3].ID, 3, event.FromUpdate, 0})
	var msgs []json.RawMessage
	if err := json.Unmarshal(fork.Values["messages"], &msgs); err != nil || len(msgs) != 3 {
		t.Errorf("messages of the fork: %s", fork.Values["messages"])
	}

	_, err := s.g.UpdateState(t.Context(), graph.Edit{Thread: "thread", Steps: [][]graph.NodeUpdate{{{As: "nowhere"}}}, Checkpoints: s.mem, Recorder: s.mem})
	if told := graph.ErrorOf(err); told == nil || told.Code != graph.CodeUnknownNode {
		t.Errorf("update as a missing node: %v", err)
	}
	if slices.ContainsFunc(s.mem.Events()[len(s.mem.Events())-1:], func(e event.Envelope) bool { return e.Step > 4 }) {
		t.Error("an update from outside has no run and must tell no events")
	}
}

func TestUpdateAsANodeMakesItsSuccessorsDue(t *testing.T) {
	s := begin(t, approvalGraph())
	s.input(`{"messages":"hello"}`)
	s.edit("", []graph.NodeUpdate{{Values: json.RawMessage(`{"decision":"by hand"}`), As: "approve"}})
	equal(t, "history", s.history("")[3:], []string{"2 update act"})
	r := s.run(graph.Execution{})
	equal(t, "decision", string(r.Values["decision"]), `"by hand"`)
	equal(t, "status", r.Status, event.Success)
}

func TestThreadIsSeededStepByStep(t *testing.T) {
	s := begin(t, chatGraph())
	s.edit("", []graph.NodeUpdate{{Values: human("seed-1"), As: graph.AsInput}},
		[]graph.NodeUpdate{{Values: json.RawMessage(`{"messages":[{"type":"ai","content":"seeded answer","id":"seed-2"}]}`), As: "agent"}})
	equal(t, "history", s.history(""), []string{"-1 input __start__", "0 update"})
	var msgs []json.RawMessage
	if err := json.Unmarshal(s.latest().Values["messages"], &msgs); err != nil || len(msgs) != 2 {
		t.Errorf("messages: %s", s.latest().Values["messages"])
	}
}

func TestInputThatWasLeftIsAppliedByTheNextRun(t *testing.T) {
	s := begin(t, chatGraph())
	s.edit("", []graph.NodeUpdate{{Values: human("seed-1"), As: graph.AsInput}})
	r := s.run(graph.Execution{})
	equal(t, "history", s.history(""), []string{"-1 input __start__", "0 loop agent", "1 loop"})
	equal(t, "status", r.Status, event.Success)
}

func TestCopyKeepsWhatIsDue(t *testing.T) {
	s := begin(t, approvalGraph())
	s.input(`{"messages":"hello"}`)
	s.edit("", []graph.NodeUpdate{{As: graph.AsCopy}})
	equal(t, "history", s.history("")[3:], []string{"2 fork approve"})
}

func TestAmbiguousUpdateIsRefused(t *testing.T) {
	g := graph.New("two", notes).Node("a", noting("a")).Node("b", noting("b")).Edge(graph.Start, "a").Edge(graph.Start, "b")
	s := begin(t, g)
	s.input(`{}`)
	_, err := g.UpdateState(t.Context(), graph.Edit{Thread: "thread", Steps: [][]graph.NodeUpdate{{{Values: json.RawMessage(`{"notes":["x"]}`)}}}, Checkpoints: s.mem, Recorder: s.mem})
	if told := graph.ErrorOf(err); told == nil || told.Code != graph.CodeInvalidUpdate {
		t.Errorf("got %v", err)
	}
}

func TestQuestionOfAnOlderCheckpointIsAnsweredOtherwise(t *testing.T) {
	s := begin(t, votesGraph(&counter{}))
	r := s.input(`{}`)
	asked, left := r.Checkpoint, r.Interrupts[0].ID
	s.resume(`"A"`)
	s.resume(`"B"`)

	r = s.run(graph.Execution{From: asked, Orders: &graph.Orders{Resume: json.RawMessage(`{"` + left + `":"C"}`)}})
	equal(t, "votes", strs(t, r.Values["votes"]), []string{"left:C", "right:B", "counted"})
	equal(t, "history", s.history("")[4:], []string{"1 fork left,right", "2 loop count", "3 loop"})
	r = s.run(graph.Execution{From: asked, Orders: &graph.Orders{Resume: json.RawMessage(`"D"`)}})
	equal(t, "votes", strs(t, r.Values["votes"]), []string{"left:D", "right:B", "counted"})
}
