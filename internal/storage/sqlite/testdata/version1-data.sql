-- One of everything, as the first version wrote it.
INSERT INTO meta VALUES ('node', 'n');
INSERT INTO threads (no, id, owner, status, metadata, config, error, created, updated, state_at)
  VALUES (1, 'thread-1', 'alice', 'error', '{"graph_id":"g"}', '{}', '{"code":"bad","message":"went wrong"}', 1, 2, 3),
         (2, 'pruned', 'alice', 'idle', '{}', '{}', NULL, 1, 2, 3);
INSERT INTO runs (no, id, thread, thread_id, owner, assistant, status, request, created, updated, not_before, attempt, usage)
  VALUES (1, 'run-1', 1, 'thread-1', 'alice', 'a', 'error', '{"assistant":"a","input":{"words":"of a user"}}', 1, 2, 0, 1, '{"input_tokens":7}');
INSERT INTO journal VALUES ((1 << 32) | 1, 1, 1, 0, CAST(x'7b7d0a' AS BLOB));
INSERT INTO checkpoints (thread, ns, id, parent, run, step, source, at, versions, next, joins, metadata, done) VALUES
  (1, '', x'01a1dda8ca2c775aa9cdd28878d63ef0', NULL, 1, 0, 'loop', 1, '{"messages":1}', NULL, NULL, NULL, NULL),
  (1, '', x'01a1dda8ca2c775aa9cdd28878d63ef1', x'01a1dda8ca2c775aa9cdd28878d63ef0', 1, 1, 'loop', 2, '{"messages":2}', NULL, NULL, '{"m":1}', NULL),
  (2, '', x'01a1dda8ca2c775aa9cdd28878d63ef2', x'01a1dda8ca2c775aa9cdd28878d63ee0', NULL, 1, 'loop', 2, '{}', NULL, NULL, NULL, NULL);
INSERT INTO blobs (thread, ns, field, version, base, run, data) VALUES
  (1, '', 'messages', 1, 0, 1, CAST('["the first words"]' AS BLOB)),
  (1, '', 'messages', 2, 1, 1, CAST('["more words"]' AS BLOB));
INSERT INTO kept VALUES (1, '', x'01a1dda8ca2c775aa9cdd28878d63ef1', 'task', 1, '{"task":"task","node":"n"}');
INSERT INTO assistants VALUES ('assistant-1', 'alice', 2, 1);
INSERT INTO assistant_versions VALUES ('assistant-1', 1, 'g', 'name', NULL, '{}', '{}', '{}', 1), ('assistant-1', 2, 'g', 'second name', NULL, '{}', '{}', '{}', 2);
INSERT INTO items (owner, ns, key, value, created, updated) VALUES ('alice', 'a' || char(31) || 'b' || char(31), 'k', '{"v":"words"}', 1, 2);
