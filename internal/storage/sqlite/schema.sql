-- Version 7: what a new file is made of. Files of older versions get here by the steps in schema.go.
-- Times are microseconds since 1970. "no" columns are small numbers that stand for long ids in the tables that have many
-- rows. "sum" columns are checksums of their rows; see seal.go. auto_vacuum must be set before the first table is made.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE threads (
  no       INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT NOT NULL UNIQUE,
  owner    TEXT NOT NULL,
  status   TEXT NOT NULL,
  metadata TEXT NOT NULL,
  config   TEXT NOT NULL,
  error    TEXT,
  created  INTEGER NOT NULL,
  updated  INTEGER NOT NULL,
  state_at INTEGER NOT NULL DEFAULT 0,
  expires  INTEGER NOT NULL DEFAULT 0,
  head     BLOB, -- the id of the latest checkpoint, by which its loss is found
  runs     INTEGER NOT NULL DEFAULT 0, -- how many there are, by which a loss is found
  sum      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX threads_by_owner ON threads (owner, created);
CREATE INDEX threads_by_update ON threads (owner, updated);
CREATE INDEX threads_by_expiry ON threads (expires) WHERE expires > 0;

CREATE TABLE runs (
  no          INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  thread      INTEGER NOT NULL REFERENCES threads (no),
  thread_id   TEXT NOT NULL,
  owner       TEXT NOT NULL,
  assistant   TEXT NOT NULL,
  status      TEXT NOT NULL,
  request     TEXT NOT NULL,
  created     INTEGER NOT NULL,
  updated     INTEGER NOT NULL,
  started     INTEGER NOT NULL DEFAULT 0,
  ended       INTEGER NOT NULL DEFAULT 0,
  not_before  INTEGER NOT NULL,
  attempt     INTEGER NOT NULL DEFAULT 0,
  error       TEXT,
  usage       TEXT,
  worker      TEXT NOT NULL DEFAULT '',
  epoch       INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  cancel      TEXT NOT NULL DEFAULT '',
  sum         INTEGER NOT NULL DEFAULT 0,
  crashes     INTEGER NOT NULL DEFAULT 0, -- of its workers since it last saved something
  crash_place TEXT NOT NULL DEFAULT '',    -- what it had saved then
  crash_of    TEXT NOT NULL DEFAULT '',   -- the worker that was counted last
  streak      INTEGER NOT NULL DEFAULT 0  -- how many crashes of any worker, one after the other, it was in
);
CREATE INDEX runs_by_thread ON runs (thread, no);
CREATE INDEX runs_by_owner ON runs (owner, created);
CREATE INDEX runs_pending ON runs (not_before, no) WHERE status = 'pending';
CREATE INDEX runs_leased ON runs (lease_until) WHERE worker <> '';
CREATE INDEX runs_in_flight ON runs (thread, no) WHERE status IN ('running', 'pending');
-- The law "at most one run of a thread executes at a time", held by the database itself.
CREATE UNIQUE INDEX runs_one_running ON runs (thread) WHERE status = 'running';

-- key = run's no << 32 | first seq: a run's chunks lie side by side, in order.
CREATE TABLE journal (
  key   INTEGER PRIMARY KEY,
  last  INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  sum   INTEGER NOT NULL,
  data  BLOB NOT NULL
);

-- The small chunks of all runs of a commit, in the order of the commits; see segments.go. They count where they lie beyond a run's
-- rows in journal, and become such rows soon.
CREATE TABLE segments (
  no   INTEGER PRIMARY KEY,
  data BLOB NOT NULL -- see segment.go
);

CREATE TABLE checkpoints (
  thread   INTEGER NOT NULL,
  ns       TEXT NOT NULL,
  id       BLOB NOT NULL, -- a UUID's 16 bytes
  parent   BLOB,
  run      INTEGER,
  step     INTEGER NOT NULL,
  source   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  versions TEXT NOT NULL,
  next     TEXT,
  joins    TEXT,
  metadata TEXT,
  done     TEXT,
  cut      INTEGER NOT NULL DEFAULT 0, -- the parent was deleted on purpose
  sum      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (thread, ns, id)
) WITHOUT ROWID;

CREATE TABLE blobs (
  thread  INTEGER NOT NULL,
  ns      TEXT NOT NULL,
  field   TEXT NOT NULL,
  version INTEGER NOT NULL,
  base    INTEGER NOT NULL, -- the version that data is appended to; 0 if data is the whole value
  run     INTEGER,
  data    BLOB NOT NULL,
  sum     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (thread, ns, field, version)
) WITHOUT ROWID;

CREATE TABLE kept (
  thread     INTEGER NOT NULL,
  ns         TEXT NOT NULL,
  checkpoint BLOB NOT NULL,
  task       TEXT NOT NULL,
  run        INTEGER,
  outcome    TEXT NOT NULL,
  sum        INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (thread, ns, checkpoint, task)
) WITHOUT ROWID;

CREATE TABLE assistants (
  id      TEXT PRIMARY KEY,
  owner   TEXT NOT NULL, -- '' for the system's
  current INTEGER NOT NULL,
  created INTEGER NOT NULL,
  sum     INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE assistant_versions (
  id          TEXT NOT NULL,
  version     INTEGER NOT NULL,
  graph       TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT,
  config      TEXT NOT NULL,
  context     TEXT NOT NULL,
  metadata    TEXT NOT NULL,
  created     INTEGER NOT NULL,
  sum         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id, version)
) WITHOUT ROWID;

CREATE TABLE items (
  owner   TEXT NOT NULL,
  ns      TEXT NOT NULL, -- labels, each followed by U+001F
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  expires INTEGER NOT NULL DEFAULT 0,
  ttl     INTEGER NOT NULL DEFAULT 0, -- microseconds that the item was given to live
  sum     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, ns, key)
) WITHOUT ROWID;
CREATE INDEX items_by_expiry ON items (expires) WHERE expires > 0;

CREATE TABLE crons (
  id        TEXT PRIMARY KEY,
  owner     TEXT NOT NULL,
  thread    TEXT NOT NULL, -- '' for a new one each time
  assistant TEXT NOT NULL,
  schedule  TEXT NOT NULL,
  timezone  TEXT NOT NULL,
  end_time  INTEGER NOT NULL,
  next      INTEGER NOT NULL, -- 0 for never
  enabled   INTEGER NOT NULL,
  request   TEXT NOT NULL,
  payload   TEXT NOT NULL,
  metadata  TEXT NOT NULL,
  keep      INTEGER NOT NULL,
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL,
  sum       INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX crons_by_owner ON crons (owner, created);
CREATE INDEX crons_due ON crons (next) WHERE enabled AND next > 0;

-- Long texts, and what models were shown, in pieces that are named by their content; see package piece and long.go. A damaged one is
-- found by its name. In the order in which they came, so that they fill pages; by their names they would fill half of each.
CREATE TABLE pieces (
  no     INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  data   BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_name ON pieces (thread, hash);

-- What is to be done because a run has ended; a row goes when it was done.
CREATE TABLE follow_ups (
  no       INTEGER PRIMARY KEY AUTOINCREMENT,
  key      TEXT NOT NULL UNIQUE,
  kind     TEXT NOT NULL,
  lane     TEXT NOT NULL,
  run      TEXT NOT NULL,
  thread   TEXT NOT NULL,
  owner    TEXT NOT NULL,
  payload  TEXT NOT NULL,
  created  INTEGER NOT NULL,
  next     INTEGER NOT NULL, -- when it is due; of one that a worker has, when its lease ends
  attempts INTEGER NOT NULL DEFAULT 0,
  worker   TEXT NOT NULL DEFAULT '',
  error    TEXT NOT NULL DEFAULT '',
  parked   INTEGER NOT NULL DEFAULT 0,
  sum      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX follow_ups_due ON follow_ups (kind, next) WHERE parked = 0;
CREATE INDEX follow_ups_by_lane ON follow_ups (kind, lane, next) WHERE parked = 0;
CREATE INDEX follow_ups_held ON follow_ups (worker) WHERE worker <> '';
CREATE INDEX follow_ups_by_owner ON follow_ups (owner, no);
CREATE INDEX follow_ups_by_thread ON follow_ups (thread, run);

-- What requests brought in confidence, sealed with a key that is not in here; see package secret. A row goes when its run has ended,
-- or, of one that asks a person something, when its thread goes on.
CREATE TABLE secrets (
  thread INTEGER NOT NULL,
  run    INTEGER NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, run)
) WITHOUT ROWID;

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
