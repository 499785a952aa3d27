-- What models were shown, in pieces that are named by their content; see package piece. A damaged one is found by its name.
CREATE TABLE pieces (
  thread INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, hash)
) WITHOUT ROWID;
