-- From version 2 to version 3.

ALTER TABLE runs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN crash_place TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN crash_of TEXT NOT NULL DEFAULT '';

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
CREATE INDEX follow_ups_held ON follow_ups (worker) WHERE worker <> '';
CREATE INDEX follow_ups_by_owner ON follow_ups (owner, no);
CREATE INDEX follow_ups_by_thread ON follow_ups (thread, run);

-- What models were shown, in pieces that are named by their content; see package piece. A damaged one is found by its name.
CREATE TABLE pieces (
  thread INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, hash)
) WITHOUT ROWID;
