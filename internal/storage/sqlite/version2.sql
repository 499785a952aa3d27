-- From version 1 to version 2. What is made IF NOT EXISTS was in later forms of version 1 already.

CREATE INDEX IF NOT EXISTS threads_by_update ON threads (owner, updated);
CREATE INDEX IF NOT EXISTS runs_by_owner ON runs (owner, created);
CREATE INDEX IF NOT EXISTS runs_in_flight ON runs (thread, no) WHERE status IN ('running', 'pending');

CREATE TABLE IF NOT EXISTS crons (
  id        TEXT PRIMARY KEY,
  owner     TEXT NOT NULL,
  thread    TEXT NOT NULL,
  assistant TEXT NOT NULL,
  schedule  TEXT NOT NULL,
  timezone  TEXT NOT NULL,
  end_time  INTEGER NOT NULL,
  next      INTEGER NOT NULL,
  enabled   INTEGER NOT NULL,
  request   TEXT NOT NULL,
  payload   TEXT NOT NULL,
  metadata  TEXT NOT NULL,
  keep      INTEGER NOT NULL,
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX crons_by_owner ON crons (owner, created);
CREATE INDEX IF NOT EXISTS crons_due ON crons (next) WHERE enabled AND next > 0;

ALTER TABLE threads ADD COLUMN head BLOB;
ALTER TABLE threads ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blobs ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE kept ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assistants ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assistant_versions ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE crons ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;

UPDATE threads SET head = (SELECT max(id) FROM checkpoints WHERE thread = threads.no AND ns = ''),
  runs = (SELECT count(*) FROM runs WHERE thread = threads.no);
UPDATE checkpoints SET cut = 1 WHERE parent IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM checkpoints p WHERE p.thread = checkpoints.thread AND p.ns = checkpoints.ns AND p.id = checkpoints.parent);

UPDATE threads SET sum = row_sum(id, owner, status, metadata, config, error, created, updated, state_at, head, runs, expires);
UPDATE runs SET sum = row_sum(id, thread, thread_id, owner, assistant, status, request, created, updated, started, ended, not_before, attempt, error, usage);
UPDATE checkpoints SET sum = row_sum(thread, ns, id, parent, cut, run, step, source, at, versions, next, joins, metadata, done);
UPDATE blobs SET sum = row_sum(thread, ns, field, version, base, run, data);
UPDATE kept SET sum = row_sum(thread, ns, checkpoint, task, run, outcome);
UPDATE assistants SET sum = row_sum(id, owner, current, created);
UPDATE assistant_versions SET sum = row_sum(id, version, graph, name, description, config, context, metadata, created);
UPDATE items SET sum = row_sum(owner, ns, key, value, created, updated, expires, ttl);
UPDATE crons SET sum = row_sum(id, owner, thread, assistant, schedule, timezone, end_time, next, enabled, request, payload, metadata, keep, created, updated);
