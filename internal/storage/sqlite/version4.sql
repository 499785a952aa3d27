-- From version 3 to version 4.

-- What requests brought in confidence, sealed with a key that is not in here; see package secret. A row goes when its run has ended,
-- or, of one that asks a person something, when its thread goes on.
CREATE TABLE secrets (
  thread INTEGER NOT NULL,
  run    INTEGER NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, run)
) WITHOUT ROWID;

-- The lanes that have something due are found without walking what waits in them.
CREATE INDEX follow_ups_by_lane ON follow_ups (kind, lane, next) WHERE parked = 0;
