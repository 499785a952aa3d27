package storagetest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// noise is a text without repetitions, as a JSON string.
func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('a' + r.IntN(26))
	}
	return `"` + string(out) + `"`
}

// longTexts: however a backend keeps what is long and comes several times, all of it is given back to the byte, from every place,
// also from a copy of the thread and when others that had the same text are gone.
func longTexts(t *testing.T, b Backend, write func(*testing.T, Backend, ...journal.Group)) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	first := startRun(t, b, th.ID)
	long, other := noise(1, 120_000), noise(2, 40_000)
	data := `{"short":1}` + "\n" + `{"result":` + long + `}` + "\n" + `{"short":2}` + "\n" + `{"update":[` + long + `]}` + "\n"
	c1 := commit(th.ID, "", 0, set("list", 1, `[`+long+`]`))
	c2 := commit(th.ID, c1.Checkpoint.ID, 1, appended("list", 2, 1, `[`+other+`]`))
	c2.Done = []graph.Outcome{{Task: "t", Node: "n", Finished: true,
		Writes: []graph.FieldWrite{{Field: "x", Value: json.RawMessage(long)}}, Stored: map[string]int64{"list": 2}}}
	kept := graph.Kept{Thread: th.ID, Checkpoint: c2.Checkpoint.ID, Outcome: graph.Outcome{Task: "a", Finished: true,
		Writes: []graph.FieldWrite{{Field: "x", Value: json.RawMessage(long)}}}}
	write(t, b, group(first, 1, 4, data, c1, c2, kept))
	write(t, b, group(first, 5, 5, `{"whole":`+other+`}`+"\n"), group(startRun(t, b, newThread(t, b, alice, `{}`).ID), 1, 1, "{}\n"))
	endRun(t, b, first)

	journalIs := func(r run.Run, want ...string) {
		t.Helper()
		var got []journal.Chunk
		for after := uint64(0); ; {
			chunks, err := b.Read(ctx, r.ID, after, 1) // one at a time
			must(t, err)
			if len(chunks) == 0 {
				break
			}
			if len(chunks) != 1 {
				t.Fatalf("%d chunks were read at once, of which each is more than was asked for", len(chunks))
			}
			got, after = append(got, chunks...), chunks[0].Last
		}
		if len(got) != len(want) {
			t.Fatalf("there are %d chunks, want %d", len(got), len(want))
		}
		for i := range got {
			if string(got[i].Data) != want[i] {
				t.Errorf("chunk %d has %d bytes that are not the %d that were written", i, len(got[i].Data), len(want[i]))
			}
		}
	}
	stateIs := func(thread, want string) *graph.Snapshot {
		t.Helper()
		got, err := b.Load(ctx, thread, "", "")
		must(t, err)
		if string(got.Values["list"]) != want {
			t.Errorf("the list has %d bytes that are not the %d that were written", len(got.Values["list"]), len(want))
		}
		return got
	}
	journalIs(first, data, `{"whole":`+other+`}`+"\n")
	huge := `{"a":1}` + "\n" + `{"huge":` + noise(3, 2<<20) + `}` + "\n"
	last := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	write(t, b, group(last, 1, 2, huge, commit(last.Thread, "", 0, set("list", 1, `[`+noise(3, 2<<20)+`]`))))
	journalIs(last, huge)
	stateIs(last.Thread, `[`+noise(3, 2<<20)+`]`)
	check := func(thread string) {
		t.Helper()
		got := stateIs(thread, `[`+long+`,`+other+`]`)
		if len(got.Kept) != 1 || string(got.Kept[0].Writes[0].Value) != long {
			t.Error("what a finished task wrote is not what was kept")
		}
		if len(got.Done) != 1 || len(got.Done[0].Writes) != 2 || string(got.Done[0].Writes[0].Value) != long || string(got.Done[0].Writes[1].Value) != `[`+other+`]` {
			t.Error("what led to the checkpoint is not what was stored")
		}
		o, ok := b.(interface {
			Outcomes(ctx context.Context, thread, ns, id string) ([]graph.Outcome, error)
		})
		if !ok {
			return
		}
		done, err := o.Outcomes(ctx, thread, "", c1.Checkpoint.ID)
		must(t, err)
		if len(done) != 1 || len(done[0].Writes) != 2 || string(done[0].Writes[0].Value) != long {
			t.Error("the outcome is not what was stored")
		}
	}
	check(th.ID)
	// The text is in the thread already when a later run has it too, and stays when the first run goes.
	second := startRun(t, b, th.ID)
	write(t, b, group(second, 1, 4, data, commit(th.ID, c2.Checkpoint.ID, 2, set("list", 3, `[`+long+`,`+other+`]`))))
	endRun(t, b, second)
	copied := id()
	_, err := b.CopyThread(ctx, alice, th.ID, copied)
	must(t, err)
	must(t, b.DeleteRun(ctx, alice, first.ID))
	journalIs(second, data)
	stateIs(th.ID, `[`+long+`,`+other+`]`)
	if _, err := b.DeleteThread(ctx, alice, th.ID); err != nil {
		t.Fatal(err)
	}
	stateIs(copied, `[`+long+`,`+other+`]`)
	if got, err := b.Load(ctx, copied, "", c2.Checkpoint.ID); err != nil || len(got.Kept) != 1 || string(got.Kept[0].Writes[0].Value) != long || string(got.Done[0].Writes[0].Value) != long {
		t.Errorf("the copy has lost what tasks did: %v", err)
	}
	_, err = b.Read(ctx, second.ID, 0, 1000)
	wantErr(t, "the journal of a deleted thread", err, journal.ErrGone)
}

// aheadOfALostLease: what is prepared by a worker that has lost its run is refused, and leaves nothing that anybody can read; what is
// prepared and never written keeps nobody from writing it later.
func aheadOfALostLease(t *testing.T, b Backend) {
	p, ok := b.(journal.Preparer)
	if !ok {
		t.Skip("this store prepares nothing")
	}
	ctx := t.Context()
	r := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	data := `{"long":` + noise(1, 300_000) + `}` + "\n"
	p.Prepare(ctx, group(r, 1, 1, data)) // by a process that dies now
	if chunks, err := b.Read(ctx, r.ID, 0, 1000); err != nil || len(chunks) > 0 {
		t.Errorf("%d chunks can be read before they were written, %v", len(chunks), err)
	}
	mine := p.Prepare(ctx, group(r, 1, 1, data, commit(r.Thread, "", 0, set("list", 1, `[`+noise(1, 300_000)+`]`))))
	must(t, b.Abandon(ctx, "node"))
	taken, err := b.Claim(ctx, "node/2", time.Minute, 10, run.Between{Most: 100})
	must(t, err)
	if len(taken) != 1 || taken[0].ID != r.ID {
		t.Fatalf("%d runs are claimed, want the one", len(taken))
	}
	for what, g := range map[string]journal.Group{"before": mine, "after": p.Prepare(ctx, group(r, 1, 1, data))} {
		refused, err := b.Append(ctx, []journal.Group{g}, true)
		must(t, err)
		wantErr(t, "prepared "+what+" the lease was lost", refused[r.ID], journal.ErrFenced)
	}
	_, err = b.Load(ctx, r.Thread, "", "")
	wantErr(t, "the state of a group that was refused", err, graph.ErrNoCheckpoint)
	writeAhead(t, b, group(taken[0], 1, 1, data))
	if chunks, err := b.Read(ctx, r.ID, 0, 1000); err != nil || len(chunks) != 1 || string(chunks[0].Data) != data {
		t.Errorf("%d chunks are read of what the next worker wrote, %v", len(chunks), err)
	}
}
