-- From version 4 to version 5.

ALTER TABLE pieces RENAME TO old_pieces;

-- Long texts, and what models were shown, in pieces that are named by their content; see package piece and long.go. A damaged one is
-- found by its name. In the order in which they came, so that they fill pages; by their names they would fill half of each.
CREATE TABLE pieces (
  no     INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  data   BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_name ON pieces (thread, hash);

INSERT INTO pieces (thread, hash, data) SELECT thread, hash, data FROM old_pieces;
DROP TABLE old_pieces;
