// Package storagetest is one suite for every backend: what the engine, the journal, the graph runtime and the
// server rely on, stated against the interfaces that they declare.
package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage"
)

// Backend is everything that a database does for us.
type Backend = storage.Backend

// Run runs the suite. open returns an empty backend that the suite need not close.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	for name, test := range map[string]func(*testing.T, Backend){
		"threads":                         threads,
		"threads belong to their owner":   threadOwners,
		"thread search":                   threadSearch,
		"hostile metadata filters":        hostileFilters,
		"copying a thread":                copyThread,
		"deleting and sweeping threads":   deleteThread,
		"pruning a thread":                pruneThread,
		"state from outside of runs":      saveState,
		"runs and their policy":           createRun,
		"claims":                          claims,
		"leases":                          leases,
		"journal":                         journalChunks,
		"journal is fenced":               fenced,
		"journal is fenced at once":       fencedAtOnce,
		"a group is written as a whole":   atomicGroups,
		"a group fails alone":             failingGroup,
		"checkpoints":                     checkpoints,
		"what models were shown":          pieces,
		"lists are stored by what is new": appendedLists,
		"maps are stored by what is new":  grownObjects,
		"kept outcomes":                   keptOutcomes,
		"long texts":                      func(t *testing.T, b Backend) { longTexts(t, b, write) },
		"long texts written ahead":        func(t *testing.T, b Backend) { longTexts(t, b, writeAhead) },
		"what is ahead of a lost lease":   aheadOfALostLease,
		"rollback":                        rollback,
		"deleting a run":                  deleteRun,
		"what was brought in confidence":  secrets,
		"assistants":                      assistants,
		"items":                           items,
		"item filters":                    itemFilters,
		"namespaces":                      namespaces,
		"crons":                           crons,
		"cron search":                     cronSearch,
		"firing of crons":                 cronFiring,
		"crashes":                         crashes,
		"follow-ups":                      followUps,
		"follow-ups in lanes":             followUpLanes,
		"follow-ups and what they follow": followUpLives,
		"numbers of runs that are gone":   gaps,
		"two processes: answers":          answersOfTwo,
		"two processes: in between":       answerInBetween,
		"two processes: keys":             keysOfTwo,
		"two processes: followers":        followersElsewhere,
		"two processes: cancelled tasks":  cancelledElsewhere,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

var (
	alice = run.Identity{Owner: "alice"}
	bob   = run.Identity{Owner: "bob"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func wantJSON(t *testing.T, what string, got json.RawMessage, want string) {
	t.Helper()
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%s is %s, want %s", what, got, want)
	}
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func id() string { return uuid.Must(uuid.NewV7()).String() }

func newThread(t *testing.T, b Backend, who run.Identity, metadata string) run.Thread {
	t.Helper()
	th, err := b.CreateThread(t.Context(), who, run.Thread{ID: id(), Metadata: json.RawMessage(metadata), CreatedAt: now()})
	must(t, err)
	return th
}

const worker = "node/1"

func newRun(thread string, change ...func(*run.NewRun)) run.NewRun {
	n := run.NewRun{ID: id(), Thread: thread, Request: run.Request{Assistant: "a", Graph: "g"}, At: now(), Worker: worker, Lease: time.Minute}
	for _, f := range change {
		f(&n)
	}
	return n
}

func startRun(t *testing.T, b Backend, thread string, change ...func(*run.NewRun)) run.Run {
	t.Helper()
	c, err := b.CreateRun(t.Context(), alice, newRun(thread, change...))
	must(t, err)
	return c.Run
}

// group is what the journal would write for a run.
func group(r run.Run, first, last uint64, data string, saves ...journal.Save) journal.Group {
	return journal.Group{
		Owner: r.Worker,
		Chunk: journal.Chunk{Run: r.ID, Thread: r.Thread, Epoch: r.Epoch, First: first, Last: last, Sum: 7, Data: []byte(data)},
		Saves: saves,
	}
}

func write(t *testing.T, b Backend, groups ...journal.Group) {
	t.Helper()
	refused, err := b.Append(t.Context(), groups, true)
	must(t, err)
	for r, err := range refused {
		t.Fatalf("run %s: %v", r, err)
	}
}

// writeAhead is write for those who have much to write, and let the store prepare it if it can.
func writeAhead(t *testing.T, b Backend, groups ...journal.Group) {
	t.Helper()
	if p, ok := b.(journal.Preparer); ok {
		for i := range groups {
			groups[i] = p.Prepare(t.Context(), groups[i])
		}
	}
	write(t, b, groups...)
}

func endRun(t *testing.T, b Backend, r run.Run, change ...func(*run.End)) {
	t.Helper()
	e := run.End{Run: r.ID, Thread: r.Thread, Status: run.Success, At: now(), Attempt: 1}
	for _, f := range change {
		f(&e)
	}
	write(t, b, group(r, 0, 0, "", e))
}

func getThread(t *testing.T, b Backend, id string) run.Thread {
	t.Helper()
	th, err := b.Thread(t.Context(), alice, id)
	must(t, err)
	return th
}
