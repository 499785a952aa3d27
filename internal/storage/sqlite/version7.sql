-- From version 6 to version 7.

-- The small chunks of all runs of a commit, in the order of the commits; see segments.go. They count where they lie beyond a run's
-- rows in journal, and become such rows soon.
CREATE TABLE segments (
  no   INTEGER PRIMARY KEY,
  data BLOB NOT NULL -- see segment.go
);
