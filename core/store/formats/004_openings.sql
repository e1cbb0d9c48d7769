CREATE TABLE openings (                     -- one row: how often the directory was opened for work, see store/witness.py
  one INTEGER PRIMARY KEY CHECK (one = 1),
  number INTEGER NOT NULL
) STRICT;
INSERT INTO openings (one, number) VALUES (1, 0);
