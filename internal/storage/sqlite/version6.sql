-- From version 5 to version 6.

-- Sub-agents that were asked to stop; a row goes with the end of its run.
CREATE TABLE cancelled_tasks (
  run  INTEGER NOT NULL,
  task TEXT NOT NULL,
  PRIMARY KEY (run, task)
) WITHOUT ROWID;

-- How many of the numbers that a thread's events are sent with belonged to runs that are gone. Nothing else may get them.
CREATE TABLE gaps (
  thread INTEGER NOT NULL,
  at     INTEGER NOT NULL, -- when the run started
  count  INTEGER NOT NULL,
  sum    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (thread, at)
) WITHOUT ROWID;

-- A process is named by its settings and no longer by the file. Whoever had a lease under the old name is gone.
DELETE FROM meta WHERE key = 'node';
UPDATE runs SET lease_until = 1 WHERE worker <> '';
UPDATE follow_ups SET next = 1, worker = '' WHERE worker <> '';
