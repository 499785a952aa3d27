package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// collection is a database with one of everything, and two checkpoints.
type collection struct {
	*DB
	who           run.Identity
	thread, run   string
	first, latest string // checkpoints
}

func newCollection(t *testing.T) *collection {
	t.Helper()
	c := &collection{DB: openPlain(t), who: run.Identity{Owner: "x"}, thread: "thread-1", run: "run-1"}
	ctx := t.Context()
	at := now()
	_, err := c.CreateRun(ctx, c.who, run.NewRun{
		ID: c.run, Thread: c.thread, Request: run.Request{Assistant: "a", Graph: "g", Input: json.RawMessage(`{"words":"of a user"}`), CreateThread: true},
		At: at, Worker: "w", Lease: time.Hour,
	})
	c.ok(t, err)
	c.first, c.latest = uuid.Must(uuid.NewV7()).String(), uuid.Must(uuid.NewV7()).String()
	commit := func(id, parent string, version, base int64, data string) graph.Commit {
		return graph.Commit{
			Checkpoint: graph.Checkpoint{ID: id, Parent: parent, Thread: c.thread, Source: event.FromLoop, At: at,
				Versions: map[string]int64{"messages": version}, Next: []graph.Task{{ID: "task", Node: "n"}}, Joins: map[string][]string{"n": {"m"}},
				Metadata: json.RawMessage(`{"m":1}`)},
			Done:  []graph.Outcome{{Task: "task", Node: "n", Finished: true}},
			Blobs: []graph.Blob{{Field: "messages", Version: version, Base: base, Data: json.RawMessage(data)}},
		}
	}
	kept := graph.Kept{Checkpoint: c.latest, Outcome: graph.Outcome{Task: "task", Node: "n", Finished: true}}
	failed := &event.Error{Code: "bad", Message: "went wrong"}
	end := run.End{Run: c.run, Thread: c.thread, Status: run.Failed, Error: failed, At: at, Attempt: 1}
	end.Usage.InputTokens = 7
	end.FollowUps = []run.FollowUp{{Key: "key", Kind: "kind", Lane: "lane", Payload: json.RawMessage(`{"a":"words"}`), Run: c.run, Thread: c.thread,
		Owner: c.who.Owner, CreatedAt: at, NextAt: at}}
	opening, _, err := journal.Opening(c.run, c.thread, event.Envelope{Event: event.RunQueued{}}) // epoch 1, as the run's
	c.ok(t, err)
	refused, err := c.Append(ctx, []journal.Group{{
		Owner: "w", Chunk: opening,
		Saves: []journal.Save{run.Begin{Run: c.run, At: at, Attempt: 1}, commit(c.first, "", 1, 0, `["the first words"]`), commit(c.latest, c.first, 2, 1, `["more words"]`), kept, end},
	}}, true)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	c.ok(t, c.PutItem(ctx, c.who, run.Item{Namespace: []string{"n"}, Key: "k", Value: json.RawMessage(`{"v":"words"}`), ExpiresAt: at.Add(time.Hour), TTL: time.Hour}))
	_, err = c.CreateAssistant(ctx, c.who, run.Assistant{ID: "assistant-1", Graph: "g", Name: "name", CreatedAt: at})
	c.ok(t, err)
	about := "what it is for"
	_, err = c.PatchAssistant(ctx, c.who, "assistant-1", run.AssistantPatch{Description: &about})
	c.ok(t, err)
	_, err = c.CreateCron(ctx, c.who, run.Cron{ID: "cron-1", Thread: c.thread, Request: run.Request{Assistant: "a"}, Schedule: "* * * * *", Timezone: "UTC", Next: at.Add(time.Minute), Enabled: true, EndTime: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at})
	c.ok(t, err)
	_, err = c.PatchThread(ctx, c.who, c.thread, json.RawMessage(`{"k":"words"}`), &at)
	c.ok(t, err)
	return c
}

func (c *collection) ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exec changes the file behind the store's back.
func (c *collection) exec(t *testing.T, text string, args ...any) {
	t.Helper()
	err := c.write(t.Context(), false, func(ctx context.Context, tx *tx) error { return tx.exec(ctx, text, args...) })
	c.ok(t, err)
}

// reads are the ways in which each table's rows reach somebody.
func (c *collection) readers() map[string]map[string]func(ctx context.Context) error {
	load := func(ctx context.Context) error { _, err := c.Load(ctx, c.thread, "", ""); return err }
	list := func(ctx context.Context) error { _, err := c.List(ctx, c.thread, "", "", 10); return err }
	type readers = map[string]func(ctx context.Context) error
	return map[string]readers{
		"threads": {
			"Thread": func(ctx context.Context) error { _, err := c.Thread(ctx, c.who, c.thread); return err },
			"SearchThreads": func(ctx context.Context) error {
				_, _, err := c.SearchThreads(ctx, c.who, run.ThreadQuery{Limit: 10})
				return err
			},
			"PatchThread": func(ctx context.Context) error { _, err := c.PatchThread(ctx, c.who, c.thread, nil, nil); return err },
			"CopyThread":  func(ctx context.Context) error { _, err := c.CopyThread(ctx, c.who, c.thread, "copy"); return err },
			"Load":        load, "List": list,
			"CreateRun": func(ctx context.Context) error {
				_, err := c.CreateRun(ctx, c.who, run.NewRun{ID: "run-2", Thread: c.thread, At: now()})
				return err
			},
		},
		"runs": {
			"Run":        func(ctx context.Context) error { _, err := c.Run(ctx, c.who, c.run); return err },
			"ThreadRuns": func(ctx context.Context) error { _, err := c.ThreadRuns(ctx, c.who, c.thread, "", 10, 0); return err },
			"SearchRuns": func(ctx context.Context) error {
				_, _, err := c.SearchRuns(ctx, c.who, run.RunQuery{Limit: 10})
				return err
			},
			"RequestCancel": func(ctx context.Context) error { _, err := c.RequestCancel(ctx, c.who, c.run, run.StopRun); return err },
			"Load":          load, "List": list,
			"Read to the end": func(ctx context.Context) error { _, err := c.Read(ctx, c.run, 1, 1<<20); return err },
		},
		"checkpoints": {
			"Load": load, "List": list,
			"Load by id":  func(ctx context.Context) error { _, err := c.Load(ctx, c.thread, "", c.latest); return err },
			"Head":        func(ctx context.Context) error { _, err := c.Head(ctx, c.thread, "", ""); return err },
			"Outcomes":    func(ctx context.Context) error { _, err := c.Outcomes(ctx, c.thread, "", c.first); return err },
			"CopyThread":  func(ctx context.Context) error { _, err := c.CopyThread(ctx, c.who, c.thread, "copy"); return err },
			"PruneThread": func(ctx context.Context) error { return c.PruneThread(ctx, c.who, c.thread) },
			"DeleteRun":   func(ctx context.Context) error { return c.DeleteRun(ctx, c.who, c.run) },
		},
		"blobs": {
			"Load": load, "List": list,
			"CopyThread": func(ctx context.Context) error { _, err := c.CopyThread(ctx, c.who, c.thread, "copy"); return err },
		},
		"kept": {
			"Load": load, "List": list,
			"Head": func(ctx context.Context) error { _, err := c.Head(ctx, c.thread, "", ""); return err },
		},
		"assistants":         {"Assistant": func(ctx context.Context) error { _, err := c.Assistant(ctx, c.who, "assistant-1"); return err }},
		"assistant_versions": {"Assistant": func(ctx context.Context) error { _, err := c.Assistant(ctx, c.who, "assistant-1"); return err }},
		"items": {
			"Item": func(ctx context.Context) error { _, err := c.Item(ctx, c.who, []string{"n"}, "k", 0); return err },
			"SearchItems": func(ctx context.Context) error {
				_, err := c.SearchItems(ctx, c.who, run.ItemQuery{Limit: 10})
				return err
			},
			"SearchItems by words": func(ctx context.Context) error {
				_, err := c.SearchItems(ctx, c.who, run.ItemQuery{Text: "words", Filter: json.RawMessage(`{"v":"words"}`), Limit: 10})
				return err
			},
		},
		"crons": {
			"Cron": func(ctx context.Context) error { _, err := c.Cron(ctx, c.who, "cron-1"); return err },
			"SearchCrons": func(ctx context.Context) error {
				_, _, err := c.SearchCrons(ctx, c.who, run.CronQuery{Limit: 10})
				return err
			},
			"ReplaceCron": func(ctx context.Context) error {
				_, err := c.ReplaceCron(ctx, c.who, run.Cron{ID: "cron-1"})
				return err
			},
		},
		"follow_ups": {
			"FollowUps": func(ctx context.Context) error {
				_, err := c.FollowUps(ctx, c.who, run.FollowUpQuery{Limit: 10})
				return err
			},
		},
	}
}

// key are columns by which rows are looked up: what changes there is not found, or found to be missing.
var key = map[string]string{
	"threads": "id owner", "runs": "id owner thread thread_id", "checkpoints": "thread ns id", "blobs": "thread ns field version", "kept": "thread ns checkpoint",
	"assistants": "id owner current", "assistant_versions": "id version", "items": "owner ns key expires", "crons": "id owner", "follow_ups": "owner",
}

// Whatever changes in a row, everybody who would get something of it is told instead, and a change by the store itself does not
// make the damage look right.
func TestChangedColumnIsTold(t *testing.T) {
	// A digit, a letter or a type: each is what some flipped bit can do.
	changes := []string{
		"CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s + 1 WHEN 'null' THEN '{}' ELSE substr(%[1]s, 1, length(%[1]s) - 1) END",
		"CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s + 4294967296 WHEN 'text' THEN CAST(%[1]s AS BLOB) WHEN 'null' THEN 0 ELSE NULL END",
	}
	tried := 0
	for _, rows := range sealedTables {
		t.Run(rows.table, func(t *testing.T) {
			c := newCollection(t)
			c.exec(t, "CREATE TABLE saved AS SELECT * FROM "+rows.table)
			for _, column := range rows.columns {
				if slices.Contains(strings.Fields(key[rows.table]), column) {
					continue
				}
				for n, change := range changes {
					err := c.write(t.Context(), false, func(ctx context.Context, tx *tx) error {
						return tx.exec(ctx, "UPDATE "+rows.table+" SET "+column+" = "+fmt.Sprintf(change, column))
					})
					if err != nil && strings.Contains(err.Error(), "NOT NULL") {
						continue
					}
					c.ok(t, err)
					for name, read := range c.readers()[rows.table] {
						for range 2 {
							tried++
							if err := read(t.Context()); !isDamage(err) {
								t.Errorf("%s, change %d: %s says %v", column, n, name, err)
							}
						}
					}
					c.exec(t, "DELETE FROM "+rows.table)
					c.exec(t, "INSERT INTO "+rows.table+" SELECT * FROM saved")
				}
			}
		})
	}
	if tried < 500 {
		t.Errorf("only %d readings were tried", tried)
	}
	c := newCollection(t)
	for table, readers := range c.readers() {
		for name, read := range readers {
			if name == "PruneThread" || name == "DeleteRun" || name == "CreateRun" || name == "CopyThread" {
				continue // they change what others read
			}
			if err := read(t.Context()); err != nil {
				t.Errorf("%s: without damage %s says %v", table, name, err)
			}
		}
	}
}

func isDamage(err error) bool {
	var d *run.DamageError
	return errors.As(err, &d) && d.Lost != "" && d.Remedy != "" && errors.Is(err, run.ErrUnavailable)
}

// A column that was forgotten would be served however it is changed.
func TestEveryColumnIsSealed(t *testing.T) {
	db := openPlain(t)
	// What is not sealed is nothing of a user's, and changes often. Chunks and segments have sums of
	// their own. Pieces are named by their content, and secrets cannot be opened if they are changed.
	open := map[string]string{"threads": "no", "runs": "no worker epoch lease_until cancel crashes crash_place crash_of streak",
		"follow_ups": "no next attempts worker error parked"}
	rows, err := db.read.QueryContext(t.Context(), `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT IN ('meta', 'journal', 'segments', 'pieces', 'secrets', 'cancelled_tasks')`)
	got, err := collect(rows, err, func(row scanner) (name string, err error) { return name, row.Scan(&name) })
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, rows := range sealedTables {
		for _, c := range append(append(slices.Clone(rows.columns), "sum"), strings.Fields(open[rows.table])...) {
			want = append(want, rows.table+"."+c)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the tables have\n%v\nand sealed is\n%v", got, want)
	}
}

func TestMissingRowIsTold(t *testing.T) {
	for _, c := range []struct{ name, delete, reader string }{
		{"the latest checkpoint", "DELETE FROM checkpoints WHERE id = (SELECT max(id) FROM checkpoints)", "Load"},
		{"the latest checkpoint", "DELETE FROM checkpoints WHERE id = (SELECT max(id) FROM checkpoints)", "List"},
		{"an earlier checkpoint", "DELETE FROM checkpoints WHERE id = (SELECT min(id) FROM checkpoints)", "List"},
		{"all checkpoints", "DELETE FROM checkpoints", "Load"},
		{"all checkpoints", "DELETE FROM checkpoints", "List"},
		{"the latest piece of a value", "DELETE FROM blobs WHERE version = 2", "Load"},
		{"an earlier piece of a value", "DELETE FROM blobs WHERE version = 1", "Load"},
		{"the run that made a checkpoint", "DELETE FROM runs", "Load"},
		{"the thread of a run", "DELETE FROM threads", "Run"},
		{"a run of a thread", "DELETE FROM runs", "ThreadRuns"},
	} {
		all := newCollection(t)
		all.exec(t, c.delete)
		readers := all.readers()
		maps.Copy(readers["checkpoints"], readers["runs"])
		if err := readers["checkpoints"][c.reader](t.Context()); !isDamage(err) {
			t.Errorf("%s is missing, and %s says %v", c.name, c.reader, err)
		}
	}
}

// What is deleted on purpose is not missing.
func TestDeletedIsNotMissing(t *testing.T) {
	for name, remove := range map[string]func(c *collection) error{
		"prune": func(c *collection) error { return c.PruneThread(t.Context(), c.who, c.thread) },
		"delete the first run": func(c *collection) error {
			c.exec(t, checkpointRows.update("id = ?1", "run", "NULL").sealed, must16(c.latest))
			return c.DeleteRun(t.Context(), c.who, c.run)
		},
		"delete the only run": func(c *collection) error { return c.DeleteRun(t.Context(), c.who, c.run) },
	} {
		c := newCollection(t)
		if err := remove(c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := c.List(t.Context(), c.thread, "", "", 10); err != nil {
			t.Errorf("%s: List says %v", name, err)
		}
		if _, err := c.Load(t.Context(), c.thread, "", ""); err != nil && !errors.Is(err, graph.ErrNoCheckpoint) {
			t.Errorf("%s: Load says %v", name, err)
		}
	}
}

func must16(id string) []byte {
	b, err := checkpointID(id)
	if err != nil {
		panic(err)
	}
	return b
}

// An index that leads to another row must not make one thread's words another's.
func TestWrongRowIsTold(t *testing.T) {
	dir := t.TempDir()
	who := run.Identity{Owner: "x"}
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"thread-1", "thread-2", "thread-3"} {
		if _, err := db.CreateThread(t.Context(), who, run.Thread{ID: id, CreatedAt: now()}); err != nil {
			t.Fatal(err)
		}
		save := graph.Commit{
			Checkpoint: graph.Checkpoint{ID: uuid.Must(uuid.NewV7()).String(), Thread: id, At: now(), Versions: map[string]int64{"f": 1}},
			Blobs:      []graph.Blob{{Field: "f", Version: 1, Data: json.RawMessage(`"` + id + `"`)}},
		}
		if err := db.SaveState(t.Context(), who, id, run.Idle, []graph.Save{save}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tributary.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entry := []byte("thread-2\x02") // in the index, the id with the number of its row
	if n := bytes.Count(data, entry); n != 1 {
		t.Fatalf("the index entry was found %d times", n)
	}
	if err := os.WriteFile(path, bytes.Replace(data, entry, []byte("thread-2\x03"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err = Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if snap, err := db.Load(t.Context(), "thread-2", "", ""); !isDamage(err) {
		t.Errorf("thread-2 has %v, %v", snap, err)
	}
	if th, err := db.Thread(t.Context(), who, "thread-2"); !isDamage(err) {
		t.Errorf("thread-2 is %v, %v", th.ID, err)
	}
	if snap, err := db.Load(t.Context(), "thread-1", "", ""); err != nil || string(snap.Values["f"]) != `"thread-1"` {
		t.Errorf("thread-1 has %v, %v", snap, err)
	}
}

// A run that is damaged is not taken up for ever: its thread is free, and whoever asks for it is told.
func TestDamagedRunDoesNotHoldUpTheQueue(t *testing.T) {
	c := newCollection(t)
	ctx := t.Context()
	for _, id := range []string{"run-2", "run-3"} {
		_, err := c.CreateRun(ctx, c.who, run.NewRun{ID: id, Thread: id + "-thread", Request: run.Request{CreateThread: true}, At: now(), Worker: "dead/1", Lease: time.Hour})
		c.ok(t, err)
	}
	c.exec(t, "UPDATE runs SET request = '{\"assistant\":\"other\"}' WHERE id = 'run-2'")
	c.ok(t, c.Abandon(ctx, "dead/"))
	claimed, err := c.Claim(ctx, "w", time.Hour, 10, run.Between{Most: 9})
	if err != nil || len(claimed) != 1 || claimed[0].ID != "run-3" {
		t.Errorf("claimed %v, %v", claimed, err)
	}
	if _, err := c.Run(ctx, c.who, "run-2"); !isDamage(err) {
		t.Errorf("the damaged run: %v", err)
	}
	th, err := c.Thread(ctx, c.who, "run-2-thread")
	if err != nil || th.Status != run.ThreadError || th.Error == nil || th.Error.Code != "run_damaged" {
		t.Errorf("its thread is %+v, %v", th, err)
	}
	for range 2 {
		if claimed, err := c.Claim(ctx, "w", time.Hour, 10, run.Between{Most: 9}); err != nil || len(claimed) != 0 {
			t.Errorf("claimed again: %v, %v", claimed, err)
		}
	}
	c.ok(t, c.DeleteRun(ctx, c.who, "run-2"))
}

// What a run writes goes on although its thread's row is damaged, and the damage stays found.
func TestRunEndsOnDamagedThread(t *testing.T) {
	c := newCollection(t)
	ctx := t.Context()
	created, err := c.CreateRun(ctx, c.who, run.NewRun{ID: "run-2", Thread: c.thread, At: now(), Worker: "w", Lease: time.Hour})
	c.ok(t, err)
	c.exec(t, "UPDATE threads SET metadata = '{}'")
	refused, err := c.Append(ctx, []journal.Group{{
		Owner: "w", Chunk: journal.Chunk{Run: "run-2", Thread: c.thread, Epoch: created.Run.Epoch},
		Saves: []journal.Save{run.Begin{At: now(), Attempt: 1}, run.End{Status: run.Success, At: now(), Attempt: 1}},
	}}, true)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if r, err := c.Run(ctx, c.who, "run-2"); err != nil || r.Status != run.Success {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
	if _, err := c.Thread(ctx, c.who, c.thread); !isDamage(err) {
		t.Errorf("the thread: %v", err)
	}
}

// Check finds what readers would, without being asked for it by name.
func TestCheckFindsWhatIsDamaged(t *testing.T) {
	c := newCollection(t)
	if found, err := c.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("of a file without damage it says %q, %v", found, err)
	}
	for _, d := range []struct{ damage, says string }{
		{"UPDATE threads SET metadata = '{}'", "threads: the row thread-1"},
		{"UPDATE runs SET request = '{}'", "runs: the row run-1"},
		{"UPDATE checkpoints SET step = step + 1", "of thread thread-1"},
		{"UPDATE blobs SET data = x'22'", "blobs: the row messages version 1 of thread thread-1"},
		{"UPDATE kept SET outcome = '{}'", "kept: the row task of thread thread-1"},
		{"UPDATE items SET value = '{}'", "items: the row n.k"},
		{"UPDATE assistants SET created = 0", "assistants: the row assistant-1"},
		{"UPDATE assistant_versions SET name = 'other'", "assistant_versions: the row assistant-1 version 1"},
		{"UPDATE crons SET request = '{}'", "crons: the row cron-1"},
		{"DELETE FROM checkpoints WHERE id = (SELECT max(id) FROM checkpoints)", "thread thread-1: its latest checkpoint is missing"},
		{"DELETE FROM checkpoints WHERE id = (SELECT min(id) FROM checkpoints)", "thread thread-1: a checkpoint is missing"},
		{"DELETE FROM blobs WHERE version = 1", "version 1 of field messages is missing"},
		{"DELETE FROM blobs WHERE version = 2", "version 2 of field messages is missing"},
		{"DELETE FROM threads", "run run-1: its thread is missing"},
		{"UPDATE journal SET data = x'22'", "run run-1: events 1 to "},
		{"UPDATE journal SET key = key + 1", "run run-1: events 1 to 1 are missing"},
		{"UPDATE journal SET key = (9 << 32) + 1", "journal: events of a run that is missing"},
	} {
		c := newCollection(t)
		c.exec(t, d.damage)
		found, err := c.Check(t.Context())
		if err != nil || !strings.Contains(strings.Join(found, "\n"), d.says) {
			t.Errorf("after %s it says %q, %v; want %s", d.damage, found, err, d.says)
		}
	}
}
